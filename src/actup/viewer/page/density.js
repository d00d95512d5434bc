// Size and opacity of the points: so large that clusters look filled, so transparent that density stays visible.
"use strict";

const FILLED_SHARE = 0.75; // of the occupied area that all discs together would cover
const MIN_POINT_PIXELS = 1.5; // diameters, in CSS pixels
const MAX_POINT_PIXELS = 9;
const MAX_ZOOMED_PIXELS = 16;
const SIZE_PER_ZOOM = 0.38; // points grow with this power of the zoom, their distances with the first
const MAX_OPACITY = 0.85;
const MIN_OPACITY = 0.07;
const OPACITY_PER_OVERLAP = 0.62;
const MUTED_OPACITY = 0.45; // relative to that of points in colour

// area: occupied area in CSS pixels at zoom 1; count: number of points; visibleDensity: points per CSS pixel of
// the view, 0 if not known. Returns the diameter in CSS pixels, and the opacity.
function pointLook(area, count, zoom, visibleDensity) {
  const fitting = Math.sqrt((FILLED_SHARE * area * 4) / (Math.PI * count));
  const base = Math.min(Math.max(fitting, MIN_POINT_PIXELS), MAX_POINT_PIXELS);
  const size = Math.min(base * Math.max(zoom, 0.5) ** SIZE_PER_ZOOM, MAX_ZOOMED_PIXELS);
  const overlap = ((Math.PI * size * size) / 4) * Math.max(count / (area * zoom * zoom), visibleDensity);
  const opacity = MAX_OPACITY * Math.min(1, (overlap / FILLED_SHARE) ** -OPACITY_PER_OVERLAP);
  return { size, opacity: Math.max(opacity, MIN_OPACITY) };
}

// The look of a sample of the points that has about the same effect as all of them.
function sampleLook({ size, opacity }, share) {
  if (share >= 1) return { size, opacity };
  const grown = Math.min(share ** -0.25, 1.7);
  return { size: size * grown, opacity: Math.min(1 - (1 - opacity) ** (1 / (share * grown * grown)), 0.95) };
}

// The visible part of a map: center and zoom, conversions between map and screen, and animated moves.
"use strict";

const MAX_ZOOM = 2000;
const FIT_SHARE = 0.9; // of the view, which the frame of the map fills at zoom 1
const MIN_FREED_SHARE = 0.75; // of that size, to which it may shrink to keep the buttons' corner free

class Camera {
  // changed(): called after every move.
  constructor(changed) {
    this.changed = changed;
    this.center = [0, 0];
    this.zoom = 1;
    this.reach = 1; // largest coordinate of the map
    this.frame = [1, 1]; // half width and half height of what zoom 1 shows
    this.box = { left: 0, top: 0, width: 1, height: 1 }; // in CSS pixels of the stage
    this.covered = [0, 0]; // width and height of the lower right corner that buttons cover
    this.moveNumber = 0; // increases with every move, which ends an animated one
  }

  // Pixels per unit of the map at zoom 1, and now.
  get fit() {
    const halves = [this.box.width / 2, this.box.height / 2];
    const full = FIT_SHARE * Math.min(halves[0] / this.frame[0], halves[1] / this.frame[1]);
    const freeing = Math.max(...halves.map((half, axis) => (half - this.covered[axis]) / this.frame[axis]));
    return Math.max(Math.min(full, freeing), MIN_FREED_SHARE * full);
  }

  get scale() {
    return this.zoom * this.fit;
  }

  // Outliers may lie far outside the frame: this zoom shows them all.
  get smallestZoom() {
    return 0.6 / this.reach;
  }

  toScreen(x, y) {
    const { left, top, width, height } = this.box;
    return [left + width / 2 + (x - this.center[0]) * this.scale, top + height / 2 - (y - this.center[1]) * this.scale];
  }

  toMap(x, y) {
    const { left, top, width, height } = this.box;
    return [this.center[0] + (x - left - width / 2) / this.scale, this.center[1] - (y - top - height / 2) / this.scale];
  }

  // The visible part of the map: left, bottom, right, top.
  get bounds() {
    const { left, top, width, height } = this.box;
    return [...this.toMap(left, top + height), ...this.toMap(left + width, top)];
  }

  contains(x, y) {
    const { left, top, width, height } = this.box;
    return x >= left && y >= top && x < left + width && y < top + height;
  }

  pan(dx, dy) {
    this.moveNumber++;
    this.set([this.center[0] - dx / this.scale, this.center[1] + dy / this.scale], this.zoom);
  }

  // Zooms around the pixel (x, y): the part of the map under it does not move.
  zoomAt(x, y, factor) {
    this.moveNumber++;
    const fixed = this.toMap(x, y);
    this.zoom = this.limited(this.zoom * factor);
    const now = this.toMap(x, y);
    this.set([this.center[0] + fixed[0] - now[0], this.center[1] + fixed[1] - now[1]], this.zoom);
  }

  zoomAroundMiddle(factor) {
    const { left, top, width, height } = this.box;
    this.zoomAt(left + width / 2, top + height / 2, factor);
  }

  limited(zoom) {
    return Math.min(Math.max(zoom, Math.min(this.smallestZoom, 0.5)), MAX_ZOOM);
  }

  // Limits the center, so that some part of the map always stays visible.
  set(center, zoom) {
    const farthest = 1.2 * this.reach;
    this.center = center.map((value) => Math.min(Math.max(value, -farthest), farthest));
    this.zoom = this.limited(zoom);
    this.changed();
  }

  // Whether the view is the one that a map is first shown in.
  get atStart() {
    return Math.abs(this.zoom - 1) < 1e-3 && Math.hypot(...this.center) < 1e-3;
  }

  // Shows the bulk of the points; if it is shown already and there are outliers, shows them too.
  home() {
    this.flyTo([0, 0], this.atStart && this.reach > 1.01 ? this.smallestZoom * 1.5 : 1);
  }

  // Shows a box of the map: left, bottom, right, top.
  show([left, bottom, right, top], animated = true) {
    const { width, height } = this.box;
    const wanted = Math.min(width / Math.max(right - left, 1e-6), height / Math.max(top - bottom, 1e-6));
    this.goTo([(left + right) / 2, (bottom + top) / 2], this.limited((0.85 * wanted) / this.fit), animated);
  }

  goTo(center, zoom, animated) {
    if (animated) return this.flyTo(center, zoom);
    this.moveNumber++;
    return this.set(center, zoom);
  }

  flyTo(center, zoom) {
    const moveNumber = ++this.moveNumber;
    const from = [...this.center, Math.log(this.zoom)];
    const to = [...center, Math.log(zoom)];
    animate(350, (share) => {
      if (moveNumber !== this.moveNumber) return false; // a later move has taken over
      const [x, y, level] = from.map((value, k) => value + share * (to[k] - value));
      this.set([x, y], Math.exp(level));
      return true;
    });
  }
}

// Calls step(share) once per frame while share increases smoothly from 0 to 1; step returns false to stop.
function animate(milliseconds, step) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    step(1);
    return;
  }
  const start = performance.now();
  const frame = (now) => {
    const time = Math.min(Math.max((now - start) / milliseconds, 0), 1);
    const share = time < 0.5 ? 4 * time ** 3 : 1 - (2 - 2 * time) ** 3 / 2;
    if (step(share) && time < 1) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

// Which points lie inside a closed outline.
"use strict";

const OUTLINE_BINS = 256;

// Calls visit(slot) for each point inside a polygon ([[x, y], ...] in the units of the positions), by the rule
// of odd crossings. Edges are sorted into bins of height, so that a point is compared with few of them.
function visitInside(polygon, positions, visit) {
  const ys = polygon.map((corner) => corner[1]);
  const [bottom, top] = [Math.min(...ys), Math.max(...ys)];
  const xs = polygon.map((corner) => corner[0]);
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const binOf = (y) => Math.min(Math.max(Math.floor(((y - bottom) / (top - bottom || 1)) * OUTLINE_BINS), 0), OUTLINE_BINS - 1);
  const bins = Array.from({ length: OUTLINE_BINS }, () => []);
  polygon.forEach((from, k) => {
    const to = polygon[(k + 1) % polygon.length];
    const [low, high] = from[1] < to[1] ? [from, to] : [to, from];
    for (let bin = binOf(low[1]); bin <= binOf(high[1]); bin++) bins[bin].push([low[0], low[1], high[0], high[1]]);
  });
  for (let slot = 0; 2 * slot < positions.length; slot++) {
    const x = positions[2 * slot];
    const y = positions[2 * slot + 1];
    if (x < left || x > right || y < bottom || y > top) continue;
    let inside = false;
    for (const [lowX, lowY, highX, highY] of bins[binOf(y)]) {
      if (y >= lowY && y < highY && x < lowX + ((y - lowY) / (highY - lowY)) * (highX - lowX)) inside = !inside;
    }
    if (inside) visit(slot);
  }
}

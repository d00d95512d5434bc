// The visible part of a map: center and zoom, conversions between map and screen, and animated moves.
"use strict";

const MAX_ZOOM = 2000;
const FIT_SHARE = 0.9; // of the free part of the view, which the frame of the map fills at zoom 1
const MIN_ROOM_SHARE = 0.5; // of each side of the view, which is taken as free even if captions cover more

class Camera {
  // changed(): called after every move.
  constructor(changed) {
    this.changed = changed;
    this.center = [0, 0];
    this.zoom = 1;
    this.reach = 1; // largest coordinate of the map
    this.frame = [1, 1]; // half width and half height of what zoom 1 shows
    this.box = { left: 0, top: 0, width: 1, height: 1 }; // in CSS pixels of the stage
    this.lines = { top: 0, bottom: 0 }; // heights of the strips of the box that captions cover
    this.corner = [0, 0]; // width and height of the lower right corner of the box that buttons cover
    this.moveNumber = 0; // increases with every move, which ends an animated one
  }

  // The part of the box that no caption covers.
  get room() {
    const { left, top, width, height } = this.box;
    const share = Math.min(1, ((1 - MIN_ROOM_SHARE) * height) / Math.max(this.lines.top + this.lines.bottom, 1));
    const lines = { top: share * this.lines.top, bottom: share * this.lines.bottom };
    return { left, top: top + lines.top, width, height: height - lines.top - lines.bottom, bottom: lines.bottom };
  }

  // Where zoom 1 shows the frame: pixels per unit of the map, and the pixel of the view's center. The frame stands
  // in the middle of the room if it leaves the buttons' corner free there; else it shrinks, or moves aside.
  // Both change steadily with the frame, so that nothing jumps while one map turns into another.
  get placement() {
    const room = this.room;
    const halves = [room.width / 2, room.height / 2];
    const corner = [this.corner[0], Math.max(this.corner[1] - room.bottom, 0)].map((side, axis) => Math.min(side, (1 - MIN_ROOM_SHARE) * 2 * halves[axis]));
    const side = room.width >= room.height ? 0 : 1; // wide rooms have more to spare beside the buttons, high ones above
    const ratios = (freed) => halves.map((half, axis) => (FIT_SHARE * (half - freed[axis])) / this.frame[axis]);
    const full = Math.min(...ratios([0, 0]));
    const shrunk = Math.max(...ratios(corner)); // in the middle, along the axis on which it shrinks less
    const moved = Math.min(...ratios(side === 0 ? [corner[0] / 2, 0] : [0, corner[1] / 2]));
    const fit = corner[0] > 0 && corner[1] > 0 ? Math.max(Math.min(full, shrunk), moved) : full;
    const overlaps = corner.map((length, axis) => (length > 0 ? (fit * this.frame[axis]) / FIT_SHARE - halves[axis] + length : -1));
    const shift = Math.min(...overlaps) > 1e-6 ? overlaps[side] : 0;
    return { fit, x: room.left + halves[0] - (side === 0 ? shift : 0), y: room.top + halves[1] - (side === 1 ? shift : 0) };
  }

  // Pixels per unit of the map at zoom 1, and now.
  get fit() {
    return this.placement.fit;
  }

  get scale() {
    return this.zoom * this.fit;
  }

  // Outliers may lie far outside the frame: this zoom shows them all.
  get smallestZoom() {
    return 0.6 / this.reach;
  }

  toScreen(x, y) {
    const { fit, x: middleX, y: middleY } = this.placement;
    return [middleX + (x - this.center[0]) * fit * this.zoom, middleY - (y - this.center[1]) * fit * this.zoom];
  }

  toMap(x, y) {
    const { fit, x: middleX, y: middleY } = this.placement;
    return [this.center[0] + (x - middleX) / (fit * this.zoom), this.center[1] - (y - middleY) / (fit * this.zoom)];
  }

  // The visible part of the map: left, bottom, right, top.
  get bounds() {
    const { left, top, width, height } = this.box;
    return [...this.toMap(left, top + height), ...this.toMap(left + width, top)];
  }

  // The point of the map in the middle of the box.
  get boxMiddle() {
    const { left, top, width, height } = this.box;
    return this.toMap(left + width / 2, top + height / 2);
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
    const { x, y } = this.placement;
    this.zoomAt(x, y, factor);
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
    const { width, height } = this.room;
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

// The visible part of the map: pan, zoom and pinch with a pointer, and animated moves.
"use strict";

const MIN_ZOOM = 0.5;
const MAX_ZOOM = 400;
const DRAG_PIXELS = 3; // a pressed pointer that moved farther than this is dragging
const FIT_SHARE = 0.92; // of the smaller side of the stage, which the whole map fills at zoom 1

class Camera {
  // stage: the element that shows the map; changed(): called after every move.
  constructor(stage, changed) {
    this.stage = stage;
    this.changed = changed;
    this.center = [0, 0];
    this.zoom = 1;
    this.pointers = new Map();
    this.draggedPixels = 0;
    this.moveNumber = 0; // increases with every move, which ends an animated one
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    stage.addEventListener("pointerdown", (event) => this.down(event));
    stage.addEventListener("pointermove", (event) => this.move(event));
    for (const type of ["pointerup", "pointercancel"]) stage.addEventListener(type, (event) => this.up(event));
    stage.addEventListener("dblclick", (event) => event.target.closest("button") || this.flyTo([0, 0], 1));
  }

  // Pixels per unit of the map.
  get scale() {
    return (this.zoom * FIT_SHARE * Math.min(this.stage.clientWidth, this.stage.clientHeight)) / 2;
  }

  toScreen(x, y) {
    return [
      this.stage.clientWidth / 2 + (x - this.center[0]) * this.scale,
      this.stage.clientHeight / 2 - (y - this.center[1]) * this.scale,
    ];
  }

  toMap(x, y) {
    return [
      this.center[0] + (x - this.stage.clientWidth / 2) / this.scale,
      this.center[1] - (y - this.stage.clientHeight / 2) / this.scale,
    ];
  }

  // Position of an event in pixels, relative to the stage.
  positionOf(event) {
    const box = this.stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  get dragging() {
    return this.pointers.size > 0 && this.draggedPixels > DRAG_PIXELS;
  }

  pan(dx, dy) {
    this.moveNumber++;
    this.set([this.center[0] - dx / this.scale, this.center[1] + dy / this.scale], this.zoom);
  }

  // Zooms around the pixel (x, y): the part of the map under it does not move.
  zoomAt(x, y, factor) {
    this.moveNumber++;
    const fixed = this.toMap(x, y);
    this.zoom = Math.min(Math.max(this.zoom * factor, MIN_ZOOM), MAX_ZOOM);
    const now = this.toMap(x, y);
    this.set([this.center[0] + fixed[0] - now[0], this.center[1] + fixed[1] - now[1]], this.zoom);
  }

  // Limits the center, so that some part of the map always stays visible.
  set(center, zoom) {
    this.center = center.map((value) => Math.min(Math.max(value, -1.2), 1.2));
    this.zoom = zoom;
    this.changed();
  }

  flyTo(center, zoom) {
    const moveNumber = ++this.moveNumber;
    const from = [...this.center, Math.log(this.zoom)];
    const to = [...center, Math.log(zoom)];
    animate(300, (share) => {
      if (moveNumber !== this.moveNumber) return false; // a later move has taken over
      const [x, y, level] = from.map((value, k) => value + share * (to[k] - value));
      this.set([x, y], Math.exp(level));
      return true;
    });
  }

  wheel(event) {
    event.preventDefault();
    const step = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? 400 : 1;
    const delta = Math.min(Math.max(event.deltaY * step, -300), 300);
    this.zoomAt(...this.positionOf(event), Math.exp(-delta * (event.ctrlKey ? 0.01 : 0.002)));
  }

  down(event) {
    if (event.target.closest("button")) return;
    this.stage.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.positionOf(event));
    if (this.pointers.size === 1) this.draggedPixels = 0;
  }

  move(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last) return;
    const here = this.positionOf(event);
    this.draggedPixels += Math.hypot(here[0] - last[0], here[1] - last[1]);
    this.stage.classList.toggle("dragging", this.dragging);
    if (this.pointers.size === 1 && this.dragging) {
      this.pan(here[0] - last[0], here[1] - last[1]);
    } else if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const distance = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
      this.pan((here[0] - last[0]) / 2, (here[1] - last[1]) / 2);
      this.zoomAt((here[0] + other[0]) / 2, (here[1] + other[1]) / 2, distance(here) / distance(last));
    }
    this.pointers.set(event.pointerId, here);
  }

  up(event) {
    this.pointers.delete(event.pointerId);
    this.stage.classList.remove("dragging");
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

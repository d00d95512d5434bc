// What part of the map is seen: pan, zoom and pinch with a pointer, and the way there and back.
"use strict";

const CLOSEST = 400;
const MARGIN = 0.92;

class Camera {
  // stage: the element that shows the map; changed(): called after every move.
  constructor(stage, changed) {
    this.stage = stage;
    this.changed = changed;
    this.center = [0, 0];
    this.zoom = 1;
    this.pointers = new Map();
    this.moved = 0;
    this.flight = 0;
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    stage.addEventListener("pointerdown", (event) => this.down(event));
    stage.addEventListener("pointermove", (event) => this.move(event));
    for (const type of ["pointerup", "pointercancel"]) stage.addEventListener(type, (event) => this.up(event));
    stage.addEventListener("dblclick", (event) => event.target.closest("button") || this.flyTo([0, 0], 1));
  }

  // Pixels per unit of the map; the whole map fits at zoom 1.
  get scale() {
    return (this.zoom * MARGIN * Math.min(this.stage.clientWidth, this.stage.clientHeight)) / 2;
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

  place(event) {
    const box = this.stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  get dragging() {
    return this.pointers.size > 0 && this.moved > 3;
  }

  pan(dx, dy) {
    this.flight++;
    this.set([this.center[0] - dx / this.scale, this.center[1] + dy / this.scale], this.zoom);
  }

  // Zooms so that the place under (x, y) stays there.
  zoomAt(x, y, factor) {
    this.flight++;
    const fixed = this.toMap(x, y);
    this.zoom = Math.min(Math.max(this.zoom * factor, 0.5), CLOSEST);
    const now = this.toMap(x, y);
    this.set([this.center[0] + fixed[0] - now[0], this.center[1] + fixed[1] - now[1]], this.zoom);
  }

  // Some part of the map always stays in sight.
  set(center, zoom) {
    this.center = center.map((value) => Math.min(Math.max(value, -1.2), 1.2));
    this.zoom = zoom;
    this.changed();
  }

  flyTo(center, zoom) {
    const flight = ++this.flight;
    const from = [...this.center, Math.log(this.zoom)];
    const to = [...center, Math.log(zoom)];
    animate(300, (share) => {
      if (flight !== this.flight) return false; // another move has taken over
      const [x, y, level] = from.map((value, k) => value + share * (to[k] - value));
      this.set([x, y], Math.exp(level));
      return true;
    });
  }

  wheel(event) {
    event.preventDefault();
    const step = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? 400 : 1;
    const delta = Math.min(Math.max(event.deltaY * step, -300), 300);
    this.zoomAt(...this.place(event), Math.exp(-delta * (event.ctrlKey ? 0.01 : 0.002)));
  }

  down(event) {
    if (event.target.closest("button")) return;
    this.stage.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.place(event));
    if (this.pointers.size === 1) this.moved = 0;
  }

  move(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last) return;
    const here = this.place(event);
    this.moved += Math.hypot(here[0] - last[0], here[1] - last[1]);
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

// Calls step(share) once per frame while share goes from 0 to 1, smoothly; step returns false to stop.
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

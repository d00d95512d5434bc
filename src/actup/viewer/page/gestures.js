// Pointer, wheel and touch: pan, zoom and pinch, hovering, tapping, and the outline of a lasso or rectangle.
"use strict";

const DRAG_PIXELS = 4; // a pressed pointer that moved farther than this is dragging
const OUTLINE_STEP_PIXELS = 3; // distance of the corners of a lasso

class Gestures {
  // actions: cameraAt(x, y), hover(x, y, view), leave(), click(x, y), outline(corners or null), lasso(corners).
  constructor(stage, actions) {
    Object.assign(this, { stage, actions, pointers: new Map(), lassoMode: false, outline: null });
    stage.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    stage.addEventListener("pointerdown", (event) => this.down(event));
    stage.addEventListener("pointermove", (event) => this.move(event));
    stage.addEventListener("pointerup", (event) => this.up(event));
    stage.addEventListener("pointercancel", (event) => this.cancel(event));
    stage.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && actions.leave());
    stage.addEventListener("dblclick", (event) => this.onTool(event) || this.camera(event).home());
  }

  onTool(event) {
    return Boolean(event.target.closest("button, input, select, .floating, #tooltip"));
  }

  positionOf(event) {
    const box = this.stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  camera(event) {
    return this.actions.cameraAt(...this.positionOf(event));
  }

  wheel(event) {
    if (event.target.closest(".floating, #tooltip")) return;
    event.preventDefault();
    const step = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? 400 : 1;
    const delta = Math.min(Math.max(event.deltaY * step, -300), 300);
    this.camera(event).zoomAt(...this.positionOf(event), Math.exp(-delta * (event.ctrlKey ? 0.01 : 0.002)));
  }

  down(event) {
    if (this.onTool(event) || event.button > 0) return;
    this.stage.setPointerCapture(event.pointerId);
    const here = this.positionOf(event);
    this.pointers.set(event.pointerId, here);
    if (this.pointers.size === 1) {
      Object.assign(this, { start: here, dragged: false, dragCamera: this.actions.cameraAt(...here) });
      this.kind = event.shiftKey ? "rectangle" : this.lassoMode ? "lasso" : "pan";
    } else {
      this.kind = "pinch";
      this.setOutline(null);
    }
  }

  move(event) {
    const here = this.positionOf(event);
    const last = this.pointers.get(event.pointerId);
    if (!last) {
      if (event.pointerType === "mouse") this.actions.hover(...(this.onTool(event) ? [-1e6, -1e6] : here));
      return;
    }
    if (Math.hypot(here[0] - this.start[0], here[1] - this.start[1]) > DRAG_PIXELS) this.dragged = true;
    if (this.dragged || this.kind === "pinch") this.drag(event.pointerId, here, last);
    else return;
    this.pointers.set(event.pointerId, here);
    this.stage.classList.toggle("dragging", this.dragged && this.kind === "pan");
  }

  drag(id, here, last) {
    const [dx, dy] = [here[0] - last[0], here[1] - last[1]];
    if (this.kind === "pan") this.dragCamera.pan(dx, dy);
    else if (this.kind === "lasso") this.extendLasso(here);
    else if (this.kind === "rectangle") this.setOutline([this.start, [here[0], this.start[1]], here, [this.start[0], here[1]]]);
    else if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([key]) => key !== id)[1];
      const distance = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
      this.dragCamera.pan(dx / 2, dy / 2);
      this.dragCamera.zoomAt((here[0] + other[0]) / 2, (here[1] + other[1]) / 2, distance(here) / distance(last));
    }
  }

  extendLasso(here) {
    const corners = this.outline || [this.start];
    const last = corners[corners.length - 1];
    if (Math.hypot(here[0] - last[0], here[1] - last[1]) >= OUTLINE_STEP_PIXELS) corners.push(here);
    this.setOutline(corners);
  }

  setOutline(corners) {
    if (this.outline === corners && !corners) return;
    this.outline = corners;
    this.actions.outline(corners);
  }

  up(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    this.stage.classList.remove("dragging");
    if (this.pointers.size) return;
    const corners = this.outline;
    this.setOutline(null);
    if (corners && corners.length > 2) this.actions.lasso(corners, this.dragCamera);
    else if (!this.dragged && this.kind !== "pinch") this.actions.click(...this.positionOf(event), event.pointerType);
  }

  cancel(event) {
    this.pointers.delete(event.pointerId);
    this.setOutline(null);
  }
}

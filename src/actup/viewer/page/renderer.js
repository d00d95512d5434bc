// Decides what is drawn when: a sample of the points while the view moves, so that every frame is in time, and
// all of them, over several frames, as soon as it rests.
"use strict";

const FRAME_MILLISECONDS = 18; // wanted for the points of a frame: 30 frames per second leave 33 for all it takes
const REST_MILLISECONDS = 90; // without a move, after which all points are drawn
const MIN_SAMPLE = 20000;
const EMPHASIS_PER_RARITY = 0.18; // selected points are larger, the fewer they are: by this power of their share,
const MAX_EMPHASIS = 3; // up to this factor
const MAX_REFINING_FRAMES = 40; // in which all points are drawn, even if each takes longer than wanted

class Renderer {
  // stage: the element; painted(moving): called after points were drawn.
  constructor(stage, count, wanted, painted) {
    Object.assign(this, { stage, count, painted, views: [], colorsOf: () => null, narrowed: false, selectedCount: count });
    this.canvas = stage.querySelector("#points");
    this.waiting = false; // for the view to rest
    this.frames = { moving: 0, refined: 0 };
    this.milliseconds = []; // of the latest frames
    this.start(wanted);
  }

  start(wanted) {
    this.painter = makePainter(this.canvas, wanted);
    this.canvas = this.painter.canvas;
    this.budget = this.painter.startingBudget; // points per frame
    document.documentElement.dataset.renderer = this.painter.kind;
    this.canvas.addEventListener("webglcontextlost", () => {
      if (this.painter.kind !== "webgl") return;
      this.start("canvas");
      this.resize();
    });
  }

  get ratio() {
    if (this.forcedRatio) return this.forcedRatio;
    const wanted = window.devicePixelRatio || 1;
    return Math.min(wanted, this.painter.kind === "canvas" && this.count > 300000 ? 1 : 2);
  }

  resize() {
    this.canvas.width = Math.max(1, Math.round(this.stage.clientWidth * this.ratio));
    this.canvas.height = Math.max(1, Math.round(this.stage.clientHeight * this.ratio));
    this.redraw();
  }

  // Draws in the next frame; and all points, if that was a sample, when nothing has changed for a while.
  redraw() {
    this.lastChange = performance.now();
    clearTimeout(this.restTimer);
    this.refining = null;
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    this.pending = false;
    const begin = performance.now();
    const complete = this.drawMoving();
    this.adapt(now, performance.now() - begin);
    this.painted(true);
    this.waiting = !complete;
    if (!complete) this.waitForRest();
  }

  // Draws a sample of the points of every view; returns whether it was all of them.
  drawMoving() {
    this.painter.begin(false);
    let complete = true;
    for (const view of this.views) {
      const job = this.job(view, this.budget / this.views.length);
      complete = complete && job.sample === job.total;
      for (const pass of this.passes(job)) this.painter.draw({ ...pass, first: 0, count: job.sample });
    }
    this.painter.present(false);
    this.frames.moving++;
    return complete;
  }

  // Grey points are drawn first, then those in colour, which are larger if they are few.
  passes(job) {
    const pass = (mutedPass, { size, opacity }) => ({ ...job, mutedPass, size: size * this.ratio, opacity });
    if (!this.narrowed) return [pass(false, job.look)];
    return [pass(true, job.look), pass(false, this.selectedLook(job.ofView, job.look))];
  }

  selectedLook(view, look) {
    const count = Math.max(this.selectedCount, 1);
    const alone = view.look(count);
    const largest = look.size * Math.min((this.count / count) ** EMPHASIS_PER_RARITY, MAX_EMPHASIS);
    return { size: Math.min(Math.max(look.size, alone.size), largest), opacity: Math.max(look.opacity, alone.opacity) };
  }

  // What the painter needs to know of a view. If most points lie outside of it, only those inside are drawn.
  job(view, budget) {
    const { camera } = view;
    const ratio = this.ratio;
    const box = Object.fromEntries(Object.entries(camera.box).map(([side, value]) => [side, Math.round(value * ratio)]));
    const culled = this.painter.culls && view.share === 0 && !view.passing && camera.zoom > 1.5 && this.count > MIN_SAMPLE;
    const grid = culled ? view.map.pointGrid() : null;
    const total = grid ? grid.countIn(camera.bounds) : this.count;
    const slots = grid ? grid.slotsIn(camera.bounds, Math.max(Math.ceil(total / budget), 1)) : null;
    const sample = slots ? slots.length : Math.min(total, Math.ceil(budget));
    const look = sampleLook(view.look(view.shownMap.shownCount), sample / total);
    const muted = [...this.mutedColor(), Math.max(MUTED_OPACITY * look.opacity, 0.05)];
    const colors = this.colorsOf(view.shownMap);
    const [x, y] = camera.boxMiddle;
    const shown = { x, y, scale: camera.scale * ratio };
    return { box, view: shown, positions: view.positions(), colors, look, muted, slots, total, sample, ofView: view };
  }

  mutedColor() {
    return hexToRgb(getComputedStyle(document.documentElement).getPropertyValue("--muted-point").trim()).map((value) => value / 255);
  }

  // Adapts the sample to the time that frames take: that of drawing, or the distance of frames on a GPU.
  adapt(now, drawing) {
    const between = now - (this.lastFrame ?? -Infinity);
    this.lastFrame = now;
    const spent = this.painter.kind === "webgl" ? (between < 250 ? Math.max(between - 8, drawing) : drawing) : drawing;
    this.milliseconds.push(spent);
    if (this.milliseconds.length > 120) this.milliseconds.shift();
    const factor = Math.min(Math.max(FRAME_MILLISECONDS / Math.max(spent, 1), 0.5), 1.25);
    this.budget = Math.min(Math.max(this.budget * factor, MIN_SAMPLE), this.count * this.views.length + MIN_SAMPLE);
  }

  waitForRest() {
    clearTimeout(this.restTimer);
    this.restTimer = setTimeout(() => this.refine(), REST_MILLISECONDS);
  }

  // Draws all points, as many in a frame as time allows, and then shows them.
  refine() {
    const steps = [];
    for (const view of this.views) {
      for (const pass of this.passes(this.job(view, Infinity))) steps.push({ ...pass, first: 0 });
    }
    this.waiting = false;
    const refining = { steps, begun: false };
    this.refining = refining;
    const next = () => {
      if (this.refining !== refining) return;
      if (!refining.begun) this.painter.begin(true);
      refining.begun = true;
      this.refineStep(steps);
      if (steps.length) requestAnimationFrame(next);
      else this.finishRefining();
    };
    requestAnimationFrame(next);
  }

  refineStep(steps) {
    let left = Math.max(this.budget, this.count / MAX_REFINING_FRAMES);
    while (steps.length && left > 0) {
      const step = steps[0];
      const count = Math.min(left, step.total - step.first);
      this.painter.draw({ ...step, count: Math.ceil(count) });
      step.first += Math.ceil(count);
      left -= Math.ceil(count);
      if (step.first >= step.total) steps.shift();
    }
  }

  finishRefining() {
    this.painter.present(true);
    this.refining = null;
    this.frames.refined++;
    this.painted(false);
  }

  get busy() {
    return Boolean(this.pending || this.waiting || this.refining || !this.frames.moving);
  }

  // Draws everything at once and returns the canvas, for a picture to save.
  drawComplete() {
    const kept = this.budget;
    this.budget = this.count * this.views.length;
    this.drawMoving();
    this.budget = kept;
    return this.canvas;
  }
}

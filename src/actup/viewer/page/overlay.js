// What lies above the points: names, and on a canvas of its own the hovered point, its neighbours and the lasso.
"use strict";

class Overlay {
  constructor(stage) {
    this.stage = stage;
    this.names = stage.querySelector("#names-layer");
    this.marks = stage.querySelector("#marks-layer");
    this.frames = { names: 0, marks: 0 };
  }

  resize() {
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    for (const canvas of [this.names, this.marks]) {
      canvas.width = Math.max(1, Math.round(this.stage.clientWidth * this.ratio));
      canvas.height = Math.max(1, Math.round(this.stage.clientHeight * this.ratio));
    }
  }

  // An empty canvas in CSS pixels.
  cleared(canvas) {
    const context = canvas.getContext("2d");
    canvas.width = canvas.width; // empties it; Chromium may drop a clearRect after which nothing is drawn
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    return context;
  }

  // named: {view, layers} each; covered: boxes without names. Returns the placed names, which an SVG file writes too.
  drawNames(named, idOf, covered) {
    this.frames.names++;
    const context = this.cleared(this.names);
    const placed = named.flatMap(({ view: { camera, shownMap }, layers }) =>
      layers.length ? placeNames(nameCandidates(layers, camera, idOf), camera, context, nameGrid(shownMap, camera), covered) : [],
    );
    writeNames(context, placed);
    return placed;
  }

  // marks: {view, slot, neighbors: slots, size, pinned}; outline: pixels of the lasso, or null.
  drawMarks(marks, outline) {
    this.frames.marks++;
    const context = this.cleared(this.marks);
    const style = getComputedStyle(document.documentElement);
    const [ink, paper, accent] = ["--text", "--background", "--accent"].map((name) => style.getPropertyValue(name).trim());
    for (const mark of marks) {
      context.save();
      const { left, top, width, height } = mark.view.camera.box;
      context.beginPath();
      context.rect(left, top, width, height);
      context.clip();
      this.drawNeighbors(context, mark, accent, paper);
      drawRing(context, mark.view.camera.toScreen(...mark.view.place(mark.slot)), mark.size / 2 + 4, ink, paper, 2);
      context.restore();
    }
    if (outline) drawOutline(context, outline, accent);
  }

  drawNeighbors(context, { view, slot, neighbors, size }, accent, paper) {
    const from = view.camera.toScreen(...view.place(slot));
    const ends = neighbors.map((other) => view.camera.toScreen(...view.place(other)));
    context.strokeStyle = accent;
    context.globalAlpha = 0.55;
    context.lineWidth = 1.2;
    for (const end of ends) {
      context.beginPath();
      context.moveTo(...from);
      context.lineTo(...end);
      context.stroke();
    }
    context.globalAlpha = 1;
    for (const end of ends) drawRing(context, end, size / 2 + 2, accent, paper, 1.6);
  }
}

function drawRing(context, [x, y], radius, color, paper, width) {
  for (const [style, line] of [[paper, width + 2], [color, width]]) {
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.strokeStyle = style;
    context.lineWidth = line;
    context.stroke();
  }
}

function drawOutline(context, outline, accent) {
  context.beginPath();
  outline.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
  context.fillStyle = accent;
  context.globalAlpha = 0.1;
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = accent;
  context.lineWidth = 1.5;
  context.setLineDash([5, 4]);
  context.stroke();
  context.setLineDash([]);
}

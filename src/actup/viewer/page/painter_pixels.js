// Draws points pixel by pixel on a 2-D canvas, where there is no WebGL 2 or no GPU behind it: a million points
// take some tens of milliseconds, where WebGL in software takes more than a second.
"use strict";

const PHASES = 4; // positions within a pixel, per axis, that a point's disc is computed for

class PixelPainter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false, willReadFrequently: true }); // kept in memory, not on a GPU
    if (!this.context) throw new Error("no 2-D canvas");
    Object.assign(this, { kind: "canvas", startingBudget: 200000, culls: true, stamps: new Map() });
  }

  keepOnly() {}

  begin() {
    const { width, height } = this.canvas;
    if (!this.image || this.image.width !== width || this.image.height !== height) {
      this.image = this.context.createImageData(width, height);
      this.pixels = new Int32Array(this.image.data.buffer);
    }
    const paper = getComputedStyle(document.documentElement).getPropertyValue("--background").trim();
    this.pixels.fill(packedColor(paper) | (255 << 24));
  }

  // slots: those to draw, or null for all; first and count then refer to this list.
  draw({ box, view, positions, colors, size, opacity, muted, mutedPass, first, count, slots }) {
    const stamp = this.stamp(Math.round(size * 8) / 8, mutedPass ? muted[3] : opacity);
    const { here, there, share } = positions;
    const morphs = share > 0 && here !== there;
    const width = this.canvas.width;
    const reach = stamp.reach;
    const [left, top, right, bottom] = [box.left, box.top, box.left + box.width, box.top + box.height];
    const middleX = box.left + box.width / 2 - view.x * view.scale;
    const middleY = box.top + box.height / 2 + view.y * view.scale;
    const mutedColor = packedRgb(muted);
    const end = first + count;
    for (let k = first; k < end; k++) {
      const slot = slots ? slots[k] : k;
      const color = colors.array[slot];
      if (color >>> 24 < 128 !== mutedPass) continue;
      let x = here[2 * slot];
      let y = here[2 * slot + 1];
      if (morphs) {
        x += share * (there[2 * slot] - x);
        y += share * (there[2 * slot + 1] - y);
      }
      x = middleX + x * view.scale;
      y = middleY - y * view.scale;
      if (!(x > left - reach && x < right + reach && y > top - reach && y < bottom + reach)) continue;
      const column = Math.floor(x);
      const row = Math.floor(y);
      let pixels = stamp.phases[(((y - row) * PHASES) | 0) * PHASES + (((x - column) * PHASES) | 0)];
      const inside = column - reach >= left && row - reach >= top && column + reach < right && row + reach < bottom;
      if (!inside) pixels = clipStamp(pixels, column, row, left, top, right, bottom);
      blend(this.pixels, row * width + column, width, pixels, mutedPass ? mutedColor : color);
    }
  }

  present() {
    this.context.putImageData(this.image, 0, 0);
  }

  // The pixels that a disc covers, for each position within a pixel: three numbers each, column, row and
  // opacity from 0 to 256.
  stamp(size, opacity) {
    const key = `${size} ${opacity.toFixed(3)}`;
    if (!this.stamps.has(key)) {
      if (this.stamps.size > 50) this.stamps.clear();
      this.stamps.set(key, makeStamp(size, opacity));
    }
    return this.stamps.get(key);
  }
}

function packedRgb([red, green, blue]) {
  return Math.round(255 * red) | (Math.round(255 * green) << 8) | (Math.round(255 * blue) << 16);
}

// The pixels of a stamp at (column, row) that lie inside a box.
function clipStamp(stamp, column, row, left, top, right, bottom) {
  const kept = [];
  for (let k = 0; k < stamp.length; k += 3) {
    const [x, y] = [column + stamp[k], row + stamp[k + 1]];
    if (x >= left && x < right && y >= top && y < bottom) kept.push(stamp[k], stamp[k + 1], stamp[k + 2]);
  }
  return kept;
}

// Two channels at a time: red and blue share a number, with room between them.
function blend(pixels, at, width, stamp, color) {
  const redBlue = color & 0xff00ff;
  const green = color & 0x00ff00;
  for (let k = 0; k < stamp.length; k += 3) {
    const place = at + stamp[k + 1] * width + stamp[k];
    const alpha = stamp[k + 2];
    const under = pixels[place];
    const rest = 256 - alpha;
    const mixedRedBlue = ((Math.imul(redBlue, alpha) + Math.imul(under & 0xff00ff, rest)) | 0) + 0x800080 >>> 8;
    const mixedGreen = (Math.imul(green, alpha) + Math.imul(under & 0x00ff00, rest) + 0x008000) >>> 8;
    pixels[place] = (mixedRedBlue & 0xff00ff) | (mixedGreen & 0x00ff00) | 0xff000000;
  }
}

function makeStamp(size, opacity) {
  const reach = Math.ceil(size / 2 + 0.5);
  const phases = [];
  for (let row = 0; row < PHASES; row++) {
    for (let column = 0; column < PHASES; column++) phases.push(discPixels(size, reach, (column + 0.5) / PHASES, (row + 0.5) / PHASES, opacity));
  }
  return { reach, phases };
}

function discPixels(size, reach, x, y, opacity) {
  const pixels = [];
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const cover = Math.min(Math.max(size / 2 + 0.5 - Math.hypot(dx + 0.5 - x, dy + 0.5 - y), 0), Math.min(size * size, 1));
      const alpha = Math.round(256 * cover * opacity);
      if (alpha > 0) pixels.push(dx, dy, alpha);
    }
  }
  return Int32Array.from(pixels);
}

// Makes a painter for the canvas. A canvas keeps the kind of context it was first asked for: for the other kind
// it is replaced by a copy.
function makePainter(canvas, wanted) {
  if (wanted !== "canvas") {
    try {
      const painter = new WebGLPainter(canvas);
      if (wanted === "webgl" || !painter.isSoftware()) return painter;
      painter.gl.getExtension("WEBGL_lose_context")?.loseContext();
    } catch (error) {
      console.info(`Drawing without WebGL: ${error.message}`);
    }
  }
  const fresh = canvas.cloneNode();
  canvas.replaceWith(fresh);
  return new PixelPainter(fresh);
}

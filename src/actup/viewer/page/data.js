// Reads the embedded data: unpacks numbers into typed arrays. Texts are never interpreted as HTML.
"use strict";

const MISSING_COLOR = [154, 154, 154];
const PLAIN_COLOR = [0, 114, 178];

function readData() {
  const element = document.getElementById("data");
  const data = JSON.parse(element.textContent);
  element.textContent = ""; // the text is large and no longer needed
  for (const map of data.maps) map.anchors = map.anchors || [];
  if (data.classes) data.classes.codes = unpack(data.classes.codes, Uint16Array);
  if (data.values) data.values.values = unpack(data.values.values, Float32Array);
  return data;
}

// Decodes base64 to numbers. The data is little-endian; typed arrays use the machine's byte order, which is
// little-endian on every machine that runs a browser.
function unpack(text, Type) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new Type(bytes.buffer);
}

// Coordinates of a map in view units, in which its larger side spans -1 to 1; unpacked when first shown. Also
// converts the anchors of class names to view units: the spots.
function mapPositions(map) {
  if (!map.positions) {
    const steps = unpack(map.packed, Uint16Array);
    map.packed = null;
    const half = Math.max(map.size[0], map.size[1]) / 2 || 1;
    map.positions = new Float32Array(steps.length);
    for (let i = 0; i < steps.length; i++) {
      map.positions[i] = ((steps[i] / 65535 - 0.5) * map.size[i & 1]) / half;
    }
    map.spots = map.anchors.map((spot) => spot && spot.map((value, axis) => (value - map.low[axis] - map.size[axis] / 2) / half));
  }
  return map.positions;
}

// Colour of every point as red, green, blue.
function pointColors(data) {
  const colors = new Uint8Array(3 * data.count);
  const table = data.classes ? data.classes.colors.map(hexToRgb) : [PLAIN_COLOR];
  const stops = data.values ? data.values.stops.map(hexToRgb) : [];
  for (let i = 0; i < data.count; i++) {
    const color = data.values ? rampColor(data.values, stops, i) : table[data.classes ? data.classes.codes[i] : 0];
    colors.set(color, 3 * i);
  }
  return colors;
}

function rampColor(values, stops, i) {
  const value = values.values[i];
  if (!Number.isFinite(value)) return MISSING_COLOR;
  const share = (value - values.low) / (values.high - values.low || 1);
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const left = Math.min(Math.floor(place), stops.length - 2);
  return stops[left].map((channel, c) => channel + (place - left) * (stops[left + 1][c] - channel));
}

function hexToRgb(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

// Draws the picture of a point on a canvas; sheets of pictures are decoded when first needed.
class Pictures {
  constructor(description) {
    Object.assign(this, description);
    this.loaded = new Map();
  }

  async draw(i, canvas) {
    const sheet = Math.floor(i / this.per_sheet);
    if (!this.loaded.has(sheet)) {
      const image = new Image();
      image.src = "data:image/png;base64," + this.sheets[sheet];
      this.loaded.set(sheet, image.decode().then(() => image));
    }
    const image = await this.loaded.get(sheet);
    const place = i % this.per_sheet;
    const scale = Math.max(1, Math.round(96 / Math.max(this.width, this.height)));
    canvas.width = this.width;
    canvas.height = this.height;
    canvas.style.width = `${this.width * scale}px`;
    canvas.style.height = `${this.height * scale}px`;
    const x = (place % this.columns) * this.width;
    const y = Math.floor(place / this.columns) * this.height;
    canvas.getContext("2d").drawImage(image, x, y, this.width, this.height, 0, 0, this.width, this.height);
  }
}

// Finds the point nearest to a position; points are sorted into the cells of a square grid.
class Grid {
  constructor(positions) {
    const count = positions.length / 2;
    this.positions = positions;
    this.cells = Math.min(Math.max(Math.round(Math.sqrt(count / 2)), 1), 1024);
    this.starts = new Uint32Array(this.cells * this.cells + 1);
    this.points = new Uint32Array(count);
    const cellOf = new Uint32Array(count);
    for (let i = 0; i < count; i++) {
      cellOf[i] = this.cell(positions[2 * i + 1]) * this.cells + this.cell(positions[2 * i]);
      this.starts[cellOf[i] + 1]++;
    }
    for (let c = 0; c < this.cells * this.cells; c++) this.starts[c + 1] += this.starts[c];
    const next = this.starts.slice();
    for (let i = 0; i < count; i++) this.points[next[cellOf[i]]++] = i;
  }

  cell(value) {
    return Math.min(Math.max(Math.floor(((value + 1) / 2) * this.cells), 0), this.cells - 1);
  }

  // The nearest point within the radius for which accepts(i) is true, or -1.
  nearest(x, y, radius, accepts) {
    let best = -1;
    let smallest = radius * radius;
    for (let row = this.cell(y - radius); row <= this.cell(y + radius); row++) {
      const first = this.starts[row * this.cells + this.cell(x - radius)];
      const last = this.starts[row * this.cells + this.cell(x + radius) + 1];
      for (let k = first; k < last; k++) {
        const i = this.points[k];
        const dx = this.positions[2 * i] - x;
        const dy = this.positions[2 * i + 1] - y;
        if (dx * dx + dy * dy <= smallest && accepts(i)) {
          smallest = dx * dx + dy * dy;
          best = i;
        }
      }
    }
    return best;
  }
}

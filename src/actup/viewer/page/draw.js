// Draws points with WebGL or, where it is not available, pixel by pixel on a 2-D canvas. Both painters have the
// same methods.
"use strict";

const VERTEX_SHADER = `#version 300 es
in vec2 position;
in vec4 color;
uniform vec2 center;
uniform vec2 scale;
uniform float size;
out vec4 shade;
void main() {
  gl_Position = vec4((position - center) * scale, 0.0, 1.0);
  gl_PointSize = size + 1.0;
  shade = color;
}`;

const FRAGMENT_SHADER = `#version 300 es
precision highp float;
in vec4 shade;
uniform float size;
out vec4 result;
void main() {
  float radius = length(gl_PointCoord - 0.5) * (size + 1.0);
  float alpha = shade.a * clamp(0.5 * size + 0.5 - radius, 0.0, 1.0);
  if (alpha <= 0.0) discard;
  result = vec4(shade.rgb * alpha, alpha);
}`;

class WebGLPainter {
  constructor(canvas, count) {
    const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true, powerPreference: "high-performance" });
    if (!gl) throw new Error("no WebGL 2");
    this.canvas = canvas;
    this.gl = gl;
    this.kind = "webgl";
    this.program = gl.createProgram();
    for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX_SHADER], [gl.FRAGMENT_SHADER, FRAGMENT_SHADER]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
    }
    gl.linkProgram(this.program);
    if (!gl.getProgramParameter(this.program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(this.program));
    gl.useProgram(this.program);
    this.positions = this.attribute("position", 2, gl.FLOAT, 8 * count);
    this.colors = this.attribute("color", 4, gl.UNSIGNED_BYTE, 4 * count);
    this.order = gl.createBuffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.order);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.drawn = 0;
  }

  attribute(name, width, type, bytes) {
    const gl = this.gl;
    const buffer = gl.createBuffer();
    const place = gl.getAttribLocation(this.program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, width, type, type === gl.UNSIGNED_BYTE, 0, 0);
    return buffer;
  }

  setPositions(positions) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.positions);
    this.gl.bufferSubData(this.gl.ARRAY_BUFFER, 0, positions);
  }

  // colors: four bytes per point; order: ids of the points to draw, the last on top.
  setAppearance(colors, order) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.colors);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, colors);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, order, gl.DYNAMIC_DRAW);
    this.drawn = order.length;
  }

  // view: {x, y} of the center, and scale in pixels per unit; size: diameter of a point in pixels.
  draw(view, size) {
    const gl = this.gl;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(gl.getUniformLocation(this.program, "center"), view.x, view.y);
    gl.uniform2f(gl.getUniformLocation(this.program, "scale"), (2 * view.scale) / this.canvas.width, (2 * view.scale) / this.canvas.height);
    gl.uniform1f(gl.getUniformLocation(this.program, "size"), size);
    gl.drawElements(gl.POINTS, this.drawn, gl.UNSIGNED_INT, 0);
  }
}

class PixelPainter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    if (!this.context) throw new Error("no 2-D canvas");
    this.kind = "canvas";
  }

  setPositions(positions) {
    this.positions = positions;
  }

  setAppearance(colors, order) {
    this.colors = colors;
    this.order = order;
  }

  draw(view, size) {
    const { width, height } = this.canvas;
    if (!this.image || this.image.width !== width || this.image.height !== height) {
      this.image = this.context.createImageData(width, height);
    }
    const pixels = this.image.data;
    const background = hexToRgb(getComputedStyle(document.documentElement).getPropertyValue("--background").trim());
    new Uint32Array(pixels.buffer).fill(((255 << 24) | (background[2] << 16) | (background[1] << 8) | background[0]) >>> 0);
    const reach = Math.ceil(size / 2);
    const stamp = discStamp(size, reach);
    const { positions, colors } = this;
    for (const i of this.order) {
      const x = Math.round(width / 2 + (positions[2 * i] - view.x) * view.scale);
      const y = Math.round(height / 2 - (positions[2 * i + 1] - view.y) * view.scale);
      if (x < reach || y < reach || x >= width - reach || y >= height - reach) continue;
      const [red, green, blue] = [colors[4 * i], colors[4 * i + 1], colors[4 * i + 2]];
      const opacity = colors[4 * i + 3] / 255;
      for (let k = 0; k < stamp.length; k += 3) {
        const at = 4 * ((y + stamp[k + 1]) * width + x + stamp[k]);
        const alpha = opacity * stamp[k + 2];
        pixels[at] += alpha * (red - pixels[at]);
        pixels[at + 1] += alpha * (green - pixels[at + 1]);
        pixels[at + 2] += alpha * (blue - pixels[at + 2]);
      }
    }
    this.context.putImageData(this.image, 0, 0);
  }
}

// The pixels of a disc, three numbers each: offset to the right, offset down, share covered by the disc.
function discStamp(size, reach) {
  const stamp = [];
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const cover = Math.min(Math.max(size / 2 + 0.5 - Math.hypot(dx, dy), 0), 1);
      if (cover > 0) stamp.push(dx, dy, cover);
    }
  }
  return Float32Array.from(stamp);
}

// Makes a painter for the canvas. If WebGL fails, the canvas is replaced by a copy: a canvas keeps the kind of
// context it was first asked for.
function makePainter(canvas, count, withoutWebGL) {
  if (!withoutWebGL) {
    try {
      return new WebGLPainter(canvas, count);
    } catch (error) {
      console.info(`Drawing without WebGL: ${error.message}`);
    }
  }
  const fresh = canvas.cloneNode();
  canvas.replaceWith(fresh);
  return new PixelPainter(fresh);
}

// Draws class names and the ring around the hovered point, on a canvas above the points.
class Overlay {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  // names: {text, x, y} in pixels, most important first; a name that overlaps an earlier one is left out.
  // ring: {x, y, radius} in pixels, or null. ratio: device pixels per CSS pixel.
  draw(names, ring, ratio) {
    const context = this.context;
    const style = getComputedStyle(document.documentElement);
    const textColor = style.getPropertyValue("--text");
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const fontSize = (names.length > 30 ? 11 : 14) * ratio;
    context.font = `650 ${fontSize}px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 4 * ratio;
    context.strokeStyle = style.getPropertyValue("--background");
    context.fillStyle = textColor;
    const taken = [];
    for (const { text, x, y } of names) {
      const half = context.measureText(text).width / 2 + 3 * ratio;
      const box = [x - half, y - 0.65 * fontSize, x + half, y + 0.65 * fontSize];
      if (taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3])) continue;
      taken.push(box);
      context.globalAlpha = 0.85;
      context.strokeText(text, x, y);
      context.globalAlpha = 1;
      context.fillText(text, x, y);
    }
    if (ring) {
      context.beginPath();
      context.arc(ring.x, ring.y, ring.radius, 0, 2 * Math.PI);
      context.lineWidth = 2 * ratio;
      context.strokeStyle = textColor;
      context.stroke();
    }
  }
}

// Draws points with WebGL 2. The two painters have the same methods.
"use strict";

const VERTEX_SHADER = `#version 300 es
in vec2 here;
in vec2 there;
in vec4 color;
uniform float share;
uniform vec2 center;
uniform vec2 scale;
uniform highp float size;
uniform float opacity;
uniform vec4 muted;
uniform bool mutedPass;
out vec4 shade;
void main() {
  bool drawn = (color.a < 0.5) == mutedPass;
  gl_Position = drawn ? vec4((mix(here, there, share) - center) * scale, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
  gl_PointSize = size + 1.0;
  shade = mutedPass ? muted : vec4(color.rgb, opacity);
}`;

const FRAGMENT_SHADER = `#version 300 es
precision highp float;
in vec4 shade;
uniform highp float size;
out vec4 result;
void main() {
  float radius = length(gl_PointCoord - 0.5) * (size + 1.0);
  float alpha = shade.a * clamp(0.5 * size + 0.5 - radius, 0.0, 1.0);
  if (alpha <= 0.0) discard;
  result = vec4(shade.rgb * alpha, alpha);
}`;

const UNIFORMS = ["share", "center", "scale", "size", "opacity", "muted", "mutedPass"];
const SOFTWARE_RENDERERS = /swiftshader|llvmpipe|softpipe|software|basic render/i;

class WebGLPainter {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true, powerPreference: "high-performance" });
    if (!gl) throw new Error("no WebGL 2");
    Object.assign(this, { canvas, gl, kind: "webgl", startingBudget: 1500000 });
    const program = compileProgram(gl);
    gl.useProgram(program);
    this.uniforms = Object.fromEntries(UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)]));
    this.places = ["here", "there", "color"].map((name) => gl.getAttribLocation(program, name));
    this.places.forEach((place) => gl.enableVertexAttribArray(place));
    this.buffers = new Map();
    gl.enable(gl.BLEND);
    gl.enable(gl.SCISSOR_TEST);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  // Whether the browser computes WebGL without a GPU, which takes longer than drawing pixel by pixel.
  isSoftware() {
    const names = this.gl.getExtension("WEBGL_debug_renderer_info");
    return Boolean(names && SOFTWARE_RENDERERS.test(this.gl.getParameter(names.UNMASKED_RENDERER_WEBGL)));
  }

  // Uploads an array (positions or colours) if it is new or its version changed.
  buffer(array, version) {
    const gl = this.gl;
    let entry = this.buffers.get(array.buffer);
    if (!entry) {
      entry = { buffer: gl.createBuffer(), version: -1 };
      this.buffers.set(array.buffer, entry);
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, entry.buffer);
    if (entry.version !== version) {
      gl.bufferData(gl.ARRAY_BUFFER, array, gl.DYNAMIC_DRAW);
      entry.version = version;
    }
  }

  // Forgets arrays that are drawn no more.
  keepOnly(arrays) {
    const kept = new Set(arrays.map((array) => array.buffer));
    for (const [key, entry] of this.buffers) {
      if (kept.has(key)) continue;
      this.gl.deleteBuffer(entry.buffer);
      this.buffers.delete(key);
    }
  }

  // refined: collect the points of several frames, unseen until present() is called.
  begin(refined) {
    const gl = this.gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, refined ? this.hiddenTarget() : null);
    gl.scissor(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
  }

  // Draws slots first to first + count of one view. box: its pixels, from the top left.
  draw({ box, view, positions, colors, size, opacity, muted, mutedPass, first, count }) {
    const gl = this.gl;
    const bottom = this.canvas.height - box.top - box.height;
    gl.viewport(box.left, bottom, box.width, box.height);
    gl.scissor(box.left, bottom, box.width, box.height);
    const arrays = [positions.here, positions.there];
    arrays.forEach((array, k) => {
      this.buffer(array, positions.version);
      gl.vertexAttribPointer(this.places[k], 2, gl.FLOAT, false, 0, 0);
    });
    this.buffer(colors.array, colors.version);
    gl.vertexAttribPointer(this.places[2], 4, gl.UNSIGNED_BYTE, true, 0, 0);
    gl.uniform1f(this.uniforms.share, positions.share);
    gl.uniform2f(this.uniforms.center, view.x, view.y);
    gl.uniform2f(this.uniforms.scale, (2 * view.scale) / box.width, (2 * view.scale) / box.height);
    gl.uniform1f(this.uniforms.size, size);
    gl.uniform1f(this.uniforms.opacity, opacity);
    gl.uniform4f(this.uniforms.muted, ...muted);
    gl.uniform1i(this.uniforms.mutedPass, mutedPass ? 1 : 0);
    gl.drawArrays(gl.POINTS, first, count);
  }

  present(refined) {
    if (!refined) return;
    const gl = this.gl;
    const { width, height } = this.canvas;
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, this.target.framebuffer);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
    gl.scissor(0, 0, width, height);
    gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  hiddenTarget() {
    const gl = this.gl;
    const { width, height } = this.canvas;
    if (!this.target || this.target.width !== width || this.target.height !== height) {
      if (this.target) gl.deleteTexture(this.target.texture);
      const texture = gl.createTexture();
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, width, height);
      const framebuffer = this.target ? this.target.framebuffer : gl.createFramebuffer();
      gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer);
      gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
      this.target = { texture, framebuffer, width, height };
    }
    return this.target.framebuffer;
  }
}

function compileProgram(gl) {
  const program = gl.createProgram();
  for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX_SHADER], [gl.FRAGMENT_SHADER, FRAGMENT_SHADER]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
  return program;
}

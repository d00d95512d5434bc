// Unpacks the numbers and texts of the page: base64, compressed with deflate, bytes grouped by significance.
"use strict";

const ARRAY_TYPES = {
  u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i1: Int8Array, i2: Int16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array,
};

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The compressed bytes stand in script elements that are no scripts; each is read once and then emptied.
async function unpackBytes(blob) {
  const element = document.getElementById(`blob-${blob}`);
  const bytes = bytesOfBase64(element.textContent);
  element.remove();
  return inflate(bytes);
}

// An array from {blob, type}: all first bytes of its numbers, then all second bytes, and so on. Numbers are
// little-endian, as on every machine that runs a browser.
async function unpackArray({ blob, type }) {
  const planes = await unpackBytes(blob);
  const Type = ARRAY_TYPES[type];
  const width = Type.BYTES_PER_ELEMENT;
  const count = planes.length / width;
  if (width === 1) return new Type(planes.buffer, planes.byteOffset, count);
  const bytes = new Uint8Array(planes.length);
  for (let plane = 0; plane < width; plane++) {
    const offset = plane * count;
    for (let i = 0, at = plane; i < count; i++, at += width) bytes[at] = planes[offset + i];
  }
  return new Type(bytes.buffer);
}

async function unpackText({ blob }) {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(await unpackBytes(blob));
}

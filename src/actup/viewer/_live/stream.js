// Stream: reads the messages of the session's server. _frames.py writes them.
"use strict";

const MESSAGE_BYTES = 8; // kind and length
const FRAME_HEADER_BYTES = 32;
const STATUS_MESSAGE = 0;
const RETRY_MILLISECONDS = [200, 500, 1000, 2000]; // after these waits the session is taken for ended

// Calls onStatus(object) and onFrame(frame) for every message, and onEnd() once the server is gone.
class Stream {
  constructor({ onStatus, onFrame, onEnd }) {
    Object.assign(this, { onStatus, onFrame, onEnd, ended: false });
  }

  async run() {
    for (let failures = 0; failures < RETRY_MILLISECONDS.length && !this.ended; failures++) {
      try {
        const response = await fetch("events", { cache: "no-store" });
        if (!response.ok) break; // another session has the port now
        failures = -1;
        await this.read(response.body.getReader());
      } catch {
        // the connection broke: try again
      }
      if (!this.ended) await new Promise((resolve) => setTimeout(resolve, RETRY_MILLISECONDS[failures + 1]));
    }
    this.onEnd();
  }

  async read(reader) {
    let parts = [];
    let length = 0;
    let needed = MESSAGE_BYTES;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parts.push(value);
      length += value.length;
      if (length < needed) continue;
      const { rest, wanted } = this.takeMessages(joined(parts, length));
      parts = [rest];
      length = rest.length;
      needed = wanted;
    }
  }

  // Handles all whole messages; returns the bytes after them, and how many a next message needs.
  takeMessages(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = 0;
    while (at + MESSAGE_BYTES <= bytes.length) {
      const end = at + MESSAGE_BYTES + view.getUint32(at + 4, true);
      if (end > bytes.length) return { rest: bytes.subarray(at), wanted: end - at };
      this.handle(view.getUint32(at, true), bytes.slice(at + MESSAGE_BYTES, end));
      at = end;
    }
    return { rest: bytes.subarray(at), wanted: MESSAGE_BYTES };
  }

  handle(kind, bytes) {
    if (kind !== STATUS_MESSAGE) return this.onFrame(readFrame(bytes));
    const status = JSON.parse(new TextDecoder().decode(bytes));
    this.ended = status.state === "ended";
    return this.onStatus(status);
  }
}

function joined(parts, length) {
  if (parts.length === 1) return parts[0];
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

// The level's key, and places: two coordinates per point, in the order of the level's ids.
function readFrame(bytes) {
  const view = new DataView(bytes.buffer);
  const count = view.getUint32(12, true);
  const [lowX, lowY, sizeX, sizeY] = [16, 20, 24, 28].map((at) => view.getFloat32(at, true));
  const steps = new Uint16Array(bytes.buffer, FRAME_HEADER_BYTES, 2 * count);
  const places = new Float32Array(2 * count);
  for (let k = 0; k < places.length; k += 2) {
    places[k] = lowX + (sizeX * steps[k]) / 65535;
    places[k + 1] = lowY + (sizeY * steps[k + 1]) / 65535;
  }
  return { key: view.getUint32(0, true), places };
}

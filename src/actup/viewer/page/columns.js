// Columns to colour by: classes, values on a scale, or dates; their colours and how their values read as text.
"use strict";

const MISSING_RGB = 0x9a9a9a;
const PLAIN_RGB = 0xb27200; // blue, green, red: as a little-endian number of four bytes
const DAY_MILLISECONDS = 86400000;
const LAST_DATE_MILLISECONDS = 8.64e15; // JavaScript's dates end here: of others only the year is shown

// A colour as a number whose bytes in memory are red, green, blue.
function packedColor(hex) {
  const [red, green, blue] = hexToRgb(hex);
  return red | (green << 8) | (blue << 16);
}

function hexToRgb(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

async function unpackColumn(packed) {
  if (packed.kind === "classes") return new ClassColumn(packed, await unpackArray(packed.codes));
  const arrays = [];
  for (const reference of packed.values) arrays.push(reference && (await unpackArray(reference)));
  return new ValueColumn(packed, arrays);
}

class ClassColumn {
  constructor(packed, codes) {
    Object.assign(this, { kind: "classes", name: packed.name, given: packed.names, codes, unnamed: packed.unnamed, missing: packed.missing });
    this.names = packed.names.map((name) => name || "(empty)");
    this.colors = packed.colors;
    this.table = Uint32Array.from(packed.colors, packedColor);
    this.sizes = new Uint32Array(this.names.length);
    for (const code of codes) this.sizes[code]++;
    // Largest first; the two that stand for no class of their own (missing, all others) come last.
    const bySize = (a, b) => (a >= this.unnamed) - (b >= this.unnamed) || this.sizes[b] - this.sizes[a] || a - b;
    this.order = this.names.map((_, code) => code).sort(bySize);
  }

  differsByMap() {
    return false;
  }

  has() {
    return true;
  }

  text(i) {
    return this.names[this.codes[i]];
  }

  // For a table that a program reads: as it was given, an empty field if missing.
  plain(i) {
    return this.codes[i] === this.missing ? "" : this.given[this.codes[i]];
  }

  color(i) {
    return this.table[this.codes[i]];
  }
}

class ValueColumn {
  // arrays: one array of values for all maps, or one per map, of which some may be null.
  constructor(packed, arrays) {
    Object.assign(this, { kind: packed.kind, name: packed.name, low: packed.low, high: packed.high });
    Object.assign(this, { clipped: packed.clipped, stops: packed.stops, arrays, note: packed.note || "" });
    this.table = rampTable(packed.stops);
  }

  differsByMap() {
    return this.arrays.length > 1;
  }

  valuesOn(map) {
    return this.arrays[this.differsByMap() ? map : 0];
  }

  has(map) {
    return Boolean(this.valuesOn(map));
  }

  countMissing(map) {
    let count = 0;
    for (const value of this.valuesOn(map) || []) if (!Number.isFinite(value)) count++;
    return count;
  }

  color(i, map) {
    const values = this.valuesOn(map);
    const value = values ? values[i] : NaN;
    if (!(value === value)) return MISSING_RGB;
    const share = (value - this.low) / (this.high - this.low || 1);
    return this.table[Math.min(Math.max(Math.round(share * 255), 0), 255)];
  }

  text(i, map) {
    const values = this.valuesOn(map);
    return values && Number.isFinite(values[i]) ? this.format(values[i]) : "missing";
  }

  // For a table that a program reads: an empty field if missing.
  plain(i, map) {
    const values = this.valuesOn(map);
    if (!values || !Number.isFinite(values[i])) return "";
    return this.kind === "dates" ? this.format(values[i]) : String(Number(values[i].toPrecision(7)));
  }

  format(value) {
    if (this.kind !== "dates") return formatNumber(value);
    if (Math.abs(value) > LAST_DATE_MILLISECONDS) return String(Math.round(1970 + value / (365.2425 * DAY_MILLISECONDS)));
    const [day, time] = new Date(value).toISOString().split("T");
    // Years beyond 0 to 9999 have a sign and six digits here. They are written as NumPy does: no plus, fewer zeros.
    const shown = day.replace(/^-0{0,3}/, "-").replace(/^\+0?/, "");
    const wholeDays = value % DAY_MILLISECONDS === 0 || this.high - this.low > 60 * DAY_MILLISECONDS;
    return wholeDays ? shown : `${shown} ${time.slice(0, 5)}`;
  }
}

// Whole numbers as they are, others to three digits or one decimal.
function formatNumber(value) {
  const rounded = Number.isInteger(value) ? value : Number(Math.abs(value) >= 100 ? value.toFixed(1) : value.toPrecision(3));
  return Math.abs(rounded) >= 1e4 && Math.abs(rounded) < 1e15 ? rounded.toLocaleString("en") : String(rounded);
}

function rampTable(stops) {
  const colors = stops.map(hexToRgb);
  return Uint32Array.from({ length: 256 }, (_, k) => {
    const place = (k / 255) * (colors.length - 1);
    const left = Math.min(Math.floor(place), colors.length - 2);
    const [red, green, blue] = colors[left].map((channel, c) => Math.round(channel + (place - left) * (colors[left + 1][c] - channel)));
    return red | (green << 8) | (blue << 16);
  });
}

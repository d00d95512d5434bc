// Maps: the points' positions, in the units of the view and in a shuffled order, and what is derived from them.
"use strict";

const TAIL_STEPS = 4096; // of the 65,536 steps of a coordinate, on each side of the bulk of the points, if there are outliers
const MIN_OCCUPANCY_CELLS = 16; // per side, of the grid that tells how large the occupied area is
const MAX_OCCUPANCY_CELLS = 128;
const HIDDEN_PLACE = 1e6; // of points that are not shown, in view units: outside of every view

// Points are drawn in this order: in the order of rows the last class would cover the others. The first points
// of it are a fair sample, which is what is drawn while the view moves.
class Order {
  // hidden: ids of points without a place.
  constructor(count, hidden) {
    this.idOf = Uint32Array.from({ length: count }, (_, i) => i);
    let state = 0x9e3779b9; // a fixed seed
    for (let i = count - 1; i > 0; i--) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      const j = Math.floor((state / 4294967296) * (i + 1));
      const kept = this.idOf[i];
      this.idOf[i] = this.idOf[j];
      this.idOf[j] = kept;
    }
    this.slotOf = new Uint32Array(count);
    for (let slot = 0; slot < count; slot++) this.slotOf[this.idOf[slot]] = slot;
    this.shown = hidden.length ? new Uint8Array(count).fill(1) : null; // by id, 1 for points with a place; null: all
    for (const i of hidden) this.shown[i] = 0;
    this.shownSlots = this.shown && Uint8Array.from(this.idOf, (i) => this.shown[i]);
  }
}

class PointMap {
  constructor(packed, order) {
    Object.assign(this, { name: packed.name, caption: packed.caption, packed, order });
    this.version = 0; // increases when positions change
  }

  // Positions in view units, two numbers per slot of the order; unpacked when first shown.
  async load() {
    if (!this.loading) this.loading = this.unpack();
    return this.loading;
  }

  async unpack() {
    const { knots } = this.packed;
    const axes = [await unpackArray(this.packed.x), await unpackArray(this.packed.y)];
    const { slotOf } = this.order;
    const raw = new Float32Array(2 * slotOf.length);
    for (const [axis, steps] of axes.entries()) {
      const table = stepValues(knots[axis]);
      for (let i = 0; i < steps.length; i++) raw[2 * slotOf[i] + axis] = table[steps[i]];
    }
    this.setRaw(raw, this.order.shownSlots);
  }

  // Takes positions in the map's own units, in the order of slots, and brings them to view units.
  // shown: 1 for each slot that is shown, 0 for the others; null: all are.
  setRaw(raw, shown = null) {
    const places = shown ? raw.filter((_, k) => shown[k >> 1]) : raw;
    this.shown = shown;
    this.shownCount = places.length / 2;
    this.frame = frameOf(places);
    const { center, half } = this.frame;
    let reach = 1;
    for (let k = 0; k < raw.length; k++) {
      if (shown && !shown[k >> 1]) {
        raw[k] = HIDDEN_PLACE;
        continue;
      }
      raw[k] = (raw[k] - center[k & 1]) / half;
      const size = Math.abs(raw[k]);
      if (size > reach) reach = size;
    }
    this.positions = raw;
    this.reach = reach; // largest coordinate: 1 if no point lies outside the frame
    this.occupied = occupiedArea(raw);
    this.grid = null;
    this.sampleGrid = null; // of fewer points, for names
    this.spots = new Map();
    this.version++;
  }

  place(i) {
    const slot = this.order.slotOf[i];
    return [this.positions[2 * slot], this.positions[2 * slot + 1]];
  }

  // The coordinates of a point as they were given (after alignment), up to 16 bits.
  given(i) {
    const { center, half } = this.frame;
    return this.place(i).map((value, axis) => value * half + center[axis]);
  }

  pointGrid() {
    if (!this.grid) this.grid = new Grid(this.positions);
    return this.grid;
  }
}

// The value of each of the 65,536 steps of an axis. Its knots: lowest value, ends of the bulk, highest value.
function stepValues([lowest, low, high, highest]) {
  const first = lowest < low ? TAIL_STEPS : 0;
  const last = 65535 - (highest > high ? TAIL_STEPS : 0);
  return Float64Array.from({ length: 65536 }, (_, step) => {
    if (step < first) return lowest + ((low - lowest) * step) / first;
    if (step > last) return high + ((highest - high) * (step - last)) / (65535 - last);
    return low + ((high - low) * (step - first)) / (last - first || 1);
  });
}

// Area of the cells that hold points, in square view units: where it is small, points overlap.
function occupiedArea(positions) {
  const side = Math.min(Math.max(Math.round(Math.sqrt(positions.length / 4)), MIN_OCCUPANCY_CELLS), MAX_OCCUPANCY_CELLS);
  const filled = new Uint8Array(side * side);
  const step = 2 * Math.max(1, Math.floor(positions.length / 2 / 200000));
  let cells = 0;
  for (let k = 0; k + 1 < positions.length; k += step) {
    const column = Math.floor(((positions[k] + 1) / 2) * side);
    const row = Math.floor(((positions[k + 1] + 1) / 2) * side);
    if (column < 0 || row < 0 || column >= side || row >= side) continue;
    cells += 1 - filled[row * side + column];
    filled[row * side + column] = 1;
  }
  return Math.max(cells, 1) * (2 / side) ** 2;
}

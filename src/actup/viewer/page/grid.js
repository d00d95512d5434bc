// Finds points by their position: they are sorted into the cells of a square grid.
"use strict";

const MAX_GRID_CELLS = 1024; // per side

class Grid {
  // positions: two numbers per slot; those beyond -1 to 1 belong to the cells at the edge.
  constructor(positions) {
    const count = positions.length / 2;
    this.positions = positions;
    this.cells = Math.min(Math.max(Math.round(Math.sqrt(count / 2)), 1), MAX_GRID_CELLS);
    this.starts = new Uint32Array(this.cells * this.cells + 1);
    this.slots = new Uint32Array(count);
    const cellOf = new Uint32Array(count);
    for (let slot = 0; slot < count; slot++) {
      cellOf[slot] = this.cell(positions[2 * slot + 1]) * this.cells + this.cell(positions[2 * slot]);
      this.starts[cellOf[slot] + 1]++;
    }
    for (let c = 0; c < this.cells * this.cells; c++) this.starts[c + 1] += this.starts[c];
    const next = this.starts.slice();
    for (let slot = 0; slot < count; slot++) this.slots[next[cellOf[slot]]++] = slot;
  }

  cell(value) {
    return Math.min(Math.max(Math.floor(((value + 1) / 2) * this.cells), 0), this.cells - 1);
  }

  // The range of this.slots in each row of cells that a box touches: calls visit(first, last).
  visitRows([left, bottom, right, top], visit) {
    for (let row = this.cell(bottom); row <= this.cell(top); row++) {
      visit(this.starts[row * this.cells + this.cell(left)], this.starts[row * this.cells + this.cell(right) + 1]);
    }
  }

  // The nearest slot within the radius for which accepts(slot) is true, or -1.
  nearest(x, y, radius, accepts) {
    let best = -1;
    let smallest = radius * radius;
    this.visitRows([x - radius, y - radius, x + radius, y + radius], (first, last) => {
      for (let k = first; k < last; k++) {
        const slot = this.slots[k];
        const dx = this.positions[2 * slot] - x;
        const dy = this.positions[2 * slot + 1] - y;
        if (dx * dx + dy * dy <= smallest && accepts(slot)) {
          smallest = dx * dx + dy * dy;
          best = slot;
        }
      }
    });
    return best;
  }

  countIn(box) {
    let count = 0;
    this.visitRows(box, (first, last) => (count += last - first));
    return count;
  }

  // The slots of all cells that a box touches, or of every step-th point in them.
  slotsIn(box, step) {
    const found = new Uint32Array(Math.ceil(this.countIn(box) / step));
    let at = 0;
    let skip = 0; // points of the next row to leave out
    this.visitRows(box, (first, last) => {
      let k = first + skip;
      for (; k < last; k += step) found[at++] = this.slots[k];
      skip = k - last;
    });
    return found;
  }
}

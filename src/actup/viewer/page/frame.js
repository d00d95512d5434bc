// The part of a map that a view shows at first: the bulk of its points, without outliers.
//
// The rule and its constants are those of pictures, in plotting/_view.py: the bulk is what remains of each axis
// without one percent of the points, and at least one, at either end. Points up to three quarters of its size away from
// it are shown too, and clusters up to twice its size away.
"use strict";

const FRAME_SAMPLE = 20000; // positions that estimate the bulk; maps keep their points in a shuffled order
const FRAME_MIN_POINTS = 20; // below, no point is an outlier
const TRIMMED_SHARE = 0.01; // of the points at each end of an axis, to estimate the size of the bulk
const BULK_MARGIN = 0.75; // points farther than this multiple of the bulk's size from it are outliers
const CLUSTER_MARGIN = 2; // ... unless they form a cluster that is no farther than this multiple
const CLUSTER_CELLS = 5; // a cluster is in a cell of the bulk's size divided by this ...
const MIN_CLUSTER = 10; // ... with at least so many points

// raw: two numbers per point. Returns center, half (the larger half side) and box (half width and half height
// relative to half).
function frameOf(raw) {
  const all = endsOf(raw, () => true);
  const { low, high } = raw.length >= 2 * FRAME_MIN_POINTS ? bulkOf(raw, all) : all;
  const center = low.map((value, axis) => (value + high[axis]) / 2);
  const halves = low.map((value, axis) => (high[axis] - value) / 2);
  const half = Math.max(...halves) || 1;
  return { center, half, box: halves.map((value) => Math.max(value / half, 0.05)) };
}

// The smallest and the largest coordinates of the points i for which isCounted(i).
function endsOf(raw, isCounted) {
  const ends = { low: [Infinity, Infinity], high: [-Infinity, -Infinity] };
  for (let k = 0; k < raw.length; k++) {
    if (!isCounted(k >> 1)) continue;
    ends.low[k & 1] = Math.min(ends.low[k & 1], raw[k]);
    ends.high[k & 1] = Math.max(ends.high[k & 1], raw[k]);
  }
  return ends;
}

// The ends of the points that are no outliers. all: the ends of all points.
function bulkOf(raw, all) {
  const middles = [0, 1].map((axis) => trimmedEnds(raw, axis));
  const largest = Math.max(...middles.map(([first, last]) => last - first));
  if (!(largest > 0)) return all;
  const sizes = middles.map(([first, last]) => Math.max(last - first, 0.1 * largest)); // an axis may be nearly flat
  const within = (margin) => {
    const [left, bottom] = middles.map(([first], axis) => first - margin * sizes[axis]);
    const [right, top] = middles.map(([, last], axis) => last + margin * sizes[axis]);
    return (x, y) => x >= left && x <= right && y >= bottom && y <= top;
  };
  const isNear = within(BULK_MARGIN);
  if (isNear(...all.low) && isNear(...all.high)) return all;
  const mayCluster = within(CLUSTER_MARGIN);
  const cellOf = (x, y) => `${Math.floor((CLUSTER_CELLS * x) / sizes[0])},${Math.floor((CLUSTER_CELLS * y) / sizes[1])}`;
  const counts = new Map();
  for (let k = 0; k < raw.length; k += 2) {
    if (isNear(raw[k], raw[k + 1]) || !mayCluster(raw[k], raw[k + 1])) continue;
    const cell = cellOf(raw[k], raw[k + 1]);
    counts.set(cell, (counts.get(cell) || 0) + 1);
  }
  const isClustered = (x, y) => mayCluster(x, y) && counts.get(cellOf(x, y)) >= MIN_CLUSTER;
  return endsOf(raw, (i) => isNear(raw[2 * i], raw[2 * i + 1]) || isClustered(raw[2 * i], raw[2 * i + 1]));
}

function trimmedEnds(raw, axis) {
  const step = Math.max(1, Math.floor(raw.length / 2 / FRAME_SAMPLE));
  const sample = new Float32Array(Math.ceil(raw.length / 2 / step));
  for (let k = 0; k < sample.length; k++) sample[k] = raw[2 * k * step + axis];
  sample.sort();
  const trimmed = Math.max(Math.floor(TRIMMED_SHARE * sample.length), 1);
  return [sample[trimmed], sample[sample.length - 1 - trimmed]];
}

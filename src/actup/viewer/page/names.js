// Names on the map: where each class or cluster has its name, which names are shown at a zoom, and where they fit.
"use strict";

const SPOT_CELLS = 64; // per side, of the grid on which a class is densest somewhere
const MAX_LINE_LETTERS = 24;
const MAX_LINES = 2;
const SHOWN_RADIUS_PIXELS = 12; // names of finer layers appear when their cluster is this large,
const HELD_SHARE = 0.75; // and as wide as this share of the name
const COVERING_SHARE = 0.55; // of the view: a cluster so large gives way to the names of its parts
const SMALL_CLUSTER_PIXELS = 22; // names stand beside clusters smaller than this, except those of finer layers
const NEAR_NAME_PIXELS = 9; // points that are no farther from a name seem to be called by it:
const MIN_OWN_SHARE = 0.6; // so many of them are of its own class
const NAME_SAMPLE = 30000; // points, of many, that tell what lies under a name
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif';

// For each class: where it is densest, and the radius of a disc as large as the cells that hold it.
// Classes without points have null.
function findSpots(map, codes, count) {
  const { positions, order, shown } = map;
  const starts = new Uint32Array(count + 1);
  const isCounted = (i) => codes[i] >= 0 && codes[i] < count && (!shown || shown[order.slotOf[i]]);
  for (let i = 0; i < codes.length; i++) if (isCounted(i)) starts[codes[i] + 1]++;
  for (let k = 0; k < count; k++) starts[k + 1] += starts[k];
  const members = new Uint32Array(starts[count]);
  const next = starts.slice();
  for (let i = 0; i < codes.length; i++) if (isCounted(i)) members[next[codes[i]]++] = order.slotOf[i];
  const counts = new Uint32Array(SPOT_CELLS * SPOT_CELLS);
  return Array.from({ length: count }, (_, k) => densestSpot(positions, members.subarray(starts[k], starts[k + 1]), counts));
}

function spotCell(value) {
  return Math.min(Math.max(Math.floor(((value + 1) / 2) * SPOT_CELLS), 0), SPOT_CELLS - 1);
}

// counts: zeros, which are zeros again at the end.
function densestSpot(positions, slots, counts) {
  if (!slots.length) return null;
  const cellOf = (slot) => spotCell(positions[2 * slot + 1]) * SPOT_CELLS + spotCell(positions[2 * slot]);
  const cells = [];
  for (const slot of slots) if (counts[cellOf(slot)]++ === 0) cells.push(cellOf(slot));
  let best = cells[0];
  let most = -1;
  for (const cell of cells) {
    const around = countAround(counts, cell, 2) + counts[cell];
    if (around > most) [best, most] = [cell, around];
  }
  let [x, y, number] = [0, 0, 0];
  for (const slot of slots) {
    const cell = cellOf(slot);
    const near = Math.abs((cell % SPOT_CELLS) - (best % SPOT_CELLS)) <= 1 && Math.abs(Math.floor(cell / SPOT_CELLS) - Math.floor(best / SPOT_CELLS)) <= 1;
    if (!near) continue;
    x += positions[2 * slot];
    y += positions[2 * slot + 1];
    number++;
  }
  const filled = cells.filter((cell) => counts[cell] * 4 * cells.length > slots.length).length;
  for (const cell of cells) counts[cell] = 0;
  const radius = slots.length === 1 ? 0 : (Math.sqrt(filled / Math.PI) * 2) / SPOT_CELLS;
  return { x: x / number, y: y / number, radius, size: slots.length, member: slots[0] };
}

function countAround(counts, cell, reach) {
  const [row, column] = [Math.floor(cell / SPOT_CELLS), cell % SPOT_CELLS];
  let sum = 0;
  for (let r = Math.max(row - reach, 0); r <= Math.min(row + reach, SPOT_CELLS - 1); r++) {
    for (let c = Math.max(column - reach, 0); c <= Math.min(column + reach, SPOT_CELLS - 1); c++) sum += counts[r * SPOT_CELLS + c];
  }
  return sum;
}

// Breaks a name into lines and shortens it.
function nameLines(name) {
  const lines = [""];
  for (const word of name.replace(/\s+/g, " ").trim().split(" ")) {
    const last = lines[lines.length - 1];
    if (!last) lines[lines.length - 1] = word;
    else if (last.length + word.length < MAX_LINE_LETTERS) lines[lines.length - 1] = `${last} ${word}`;
    else if (lines.length < MAX_LINES) lines.push(word);
    else {
      lines[lines.length - 1] = `${last} …`;
      break;
    }
  }
  return lines.map((line) => (line.length > MAX_LINE_LETTERS ? `${[...line].slice(0, MAX_LINE_LETTERS - 1).join("")}…` : line));
}

// The names of one view that may be shown, most important first.
// layers: {names, codes, spots, shown(code)}, coarse to fine; a single one is always shown. idOf: rows of the slots.
function nameCandidates(layers, camera, idOf) {
  const side = Math.min(camera.box.width, camera.box.height);
  const [left, bottom, right, top] = camera.bounds;
  return layers.flatMap((layer, level) => {
    const found = [];
    layer.spots.forEach((spot, code) => {
      if (!spot || !layer.shown(code)) return;
      if (spot.x < left || spot.x > right || spot.y < bottom || spot.y > top) return;
      const radius = spot.radius * camera.scale;
      const covering = radius > COVERING_SHARE * side && level < layers.length - 1;
      if ((level > 0 && radius < SHOWN_RADIUS_PIXELS) || covering) return;
      const [x, y] = camera.toScreen(spot.x, spot.y);
      const isOwn = (slot) => layer.codes[idOf[slot]] === code;
      const parent = level > 0 ? layers[level - 1].codes[idOf[spot.member]] : -1;
      // Points of other layers' clusters count as well, but not those of the parent that no cluster of this layer holds.
      const isNamed = (slot) => {
        const id = idOf[slot];
        if (layer.codes[id] >= 0) return true;
        return !(parent >= 0 && layers[level - 1].codes[id] === parent) && layers.some(({ codes }) => codes[id] >= 0);
      };
      found.push({ x, y, radius, level, isOwn, isNamed, text: layer.names[code], size: spot.size, lines: nameLines(layer.names[code]) });
    });
    return found.sort((a, b) => b.size - a.size);
  });
}

// Gives names a place: in the middle of large clusters, beside small ones, among or next to points of their own, never
// over another name or a taken box, never beyond the edge. Names without such a place are left out, and those that a coarser
// layer has already: a cluster that it does not divide keeps its name.
// taken: boxes in pixels; grid: the points of the map, or a sample of them.
function placeNames(candidates, camera, context, grid, taken) {
  const crowded = candidates.length > 40;
  const narrow = camera.box.width < 480;
  const boxes = [...taken];
  const placed = [];
  for (const name of candidates) {
    if (placed.some(({ text, level }) => text === name.text && level < name.level)) continue;
    const font = Math.max((crowded || narrow ? 12.5 : 14.5) - 1.5 * Math.max(name.level - 1, 0) + (name.level === 0 && !crowded ? 0.5 : 0), 11);
    const weight = name.level === 0 ? 650 : name.level === 1 ? 500 : 400;
    const width = Math.max(...name.lines.map((line) => textWidth(context, line, `${weight} ${font}px ${FONT}`)));
    if (name.level > 0 && 2 * name.radius < HELD_SHARE * width) continue;
    const height = font * 1.22 * name.lines.length;
    const spot = namePlaces(name, width, height, camera.box).find(
      (box) => !boxes.some((other) => overlaps(box, other)) && liesAtOwnPoints(box, name, camera, grid),
    );
    if (!spot) continue;
    boxes.push([spot[0] - 3, spot[1] - 1, spot[2] + 3, spot[3] + 1]);
    placed.push({ ...name, font, weight, x: (spot[0] + spot[2]) / 2, y: (spot[1] + spot[3]) / 2 });
  }
  return placed;
}

// Whether most points under a name, if there are any, and most of those right beside it are of its class.
function liesAtOwnPoints(box, name, camera, grid) {
  const under = countOwn(box, name, camera, grid);
  const beside = countOwn([box[0] - NEAR_NAME_PIXELS, box[1] - NEAR_NAME_PIXELS, box[2] + NEAR_NAME_PIXELS, box[3] + NEAR_NAME_PIXELS], name, camera, grid);
  return beside.own > 0 && [under, beside].every(({ own, all }) => own >= MIN_OWN_SHARE * all);
}

// How many points in a box, in pixels, are of the class of a name, and of any class.
function countOwn(box, { isOwn, isNamed }, camera, grid) {
  const [left, top] = camera.toMap(box[0], box[1]);
  const [right, bottom] = camera.toMap(box[2], box[3]);
  const counts = { own: 0, all: 0 };
  for (const slot of grid.slotsIn([left, bottom, right, top], 1)) {
    const [x, y] = [grid.positions[2 * slot], grid.positions[2 * slot + 1]];
    if (x < left || x > right || y < bottom || y > top || !isNamed(slot)) continue;
    counts.all++;
    if (isOwn(slot)) counts.own++;
  }
  return counts;
}

// The points of a map for liesAtOwnPoints(): a sample of many, all in a close view that has few.
function nameGrid(map, camera) {
  const count = map.positions.length / 2;
  if (count <= NAME_SAMPLE || (map.grid && map.grid.countIn(camera.bounds) <= NAME_SAMPLE)) return map.pointGrid();
  if (!map.sampleGrid) map.sampleGrid = new Grid(map.positions.subarray(0, 2 * NAME_SAMPLE));
  return map.sampleGrid;
}

const knownWidths = new Map();

function textWidth(context, text, font) {
  const key = font + text;
  if (!knownWidths.has(key)) {
    context.font = font;
    knownWidths.set(key, context.measureText(text).width);
  }
  return knownWidths.get(key);
}

function namePlaces({ x, y, radius, level }, width, height, { left, top, width: w, height: h }) {
  const inside = ([cx, cy]) => {
    const bx = Math.min(Math.max(cx, left + width / 2 + 5), left + w - width / 2 - 5);
    const by = Math.min(Math.max(cy, top + height / 2 + 4), top + h - height / 2 - 4);
    return [bx - width / 2, by - height / 2, bx + width / 2, by + height / 2];
  };
  const middle = [[x, y], [x, y - height * 0.9], [x, y + height * 0.9]];
  const gap = radius + 5;
  const beside = [
    [x, y - gap - height / 2],
    [x, y + gap + height / 2],
    [x + gap + width / 2, y],
    [x - gap - width / 2, y],
  ];
  return (level > 0 || radius >= SMALL_CLUSTER_PIXELS ? [...middle, ...beside] : [...beside, ...middle]).map(inside);
}

function overlaps(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}

// Writes placed names with a halo in the colour of the paper, so that they can be read on points.
function writeNames(context, placed) {
  const style = getComputedStyle(document.documentElement);
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.strokeStyle = style.getPropertyValue("--background");
  context.fillStyle = style.getPropertyValue("--text");
  for (const { lines, x, y, font, weight, level } of placed) {
    context.font = `${weight} ${font}px ${FONT}`;
    context.lineWidth = 3.5;
    lines.forEach((line, k) => {
      const baseline = y + (k - (lines.length - 1) / 2) * font * 1.22;
      context.globalAlpha = 0.8;
      context.strokeText(line, x, baseline);
      context.globalAlpha = level > 0 ? 0.9 : 1;
      context.fillText(line, x, baseline);
    });
  }
  context.globalAlpha = 1;
}

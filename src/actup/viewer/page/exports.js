// Saves what is shown: a table and indices of the selected points, and pictures of the view.
"use strict";

const MAX_SVG_CIRCLES = 20000; // with more points an SVG file holds them as an image
const PICTURE_RATIO = 2; // pixels of a saved picture per pixel of the screen
const TITLE = { left: 18, middle: 16, font: 14, weight: 600 }; // of a map beside others, in pixels from its corner
const NOT_IN_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu; // characters that XML 1.0 forbids
const svgNamespace = () => document.querySelector("svg").namespaceURI;

function saveFile(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// A file name from the title of the page.
function fileName(title, ending) {
  const letters = title.normalize("NFKD").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 60);
  return `${letters || "map"}.${ending}`;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

// The table of some points: index, position on the map, columns and texts.
function csvTable(data, map, mapIndex, ids) {
  const quote = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const columns = columnsBesideTexts(data);
  const header = ["index", "x", "y", ...columns.map(({ name }) => name), ...data.texts.map(({ name }) => name || "text")];
  const lines = [differentNames(header).map(quote).join(",")];
  for (const i of ids) {
    const place = map.given(i).map((value) => String(Number(value.toPrecision(6))));
    const values = columns.map((column) => column.plain(i, mapIndex));
    lines.push([String(i), ...place, ...values, ...data.texts.map((texts) => texts.of(i))].map(quote).join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}

// The names, with "_" after those that stand further left already.
function differentNames(names) {
  const taken = new Set();
  return names.map((given) => {
    let name = given;
    while (taken.has(name)) name += "_";
    taken.add(name);
    return name;
  });
}

// The names of maps that stand side by side, and where they are written, in pixels of the stage.
function mapTitles(views) {
  if (views.length < 2) return [];
  return views.map(({ map, camera: { box } }) => ({ text: map.name, x: box.left + TITLE.left, y: box.top + TITLE.middle, room: box.width - 2 * TITLE.left }));
}

// The view as a canvas: background, points, names.
function pictureOf(renderer, placed) {
  renderer.forcedRatio = PICTURE_RATIO;
  renderer.resize();
  const points = renderer.drawComplete();
  const picture = document.createElement("canvas");
  picture.width = points.width;
  picture.height = points.height;
  const context = picture.getContext("2d");
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--background");
  context.fillRect(0, 0, picture.width, picture.height);
  context.drawImage(points, 0, 0);
  context.scale(PICTURE_RATIO, PICTURE_RATIO);
  writeNames(context, placed);
  context.textAlign = "left";
  context.font = `${TITLE.weight} ${TITLE.font}px ${FONT}`;
  context.textBaseline = "middle";
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--secondary-text");
  for (const { text, x, y, room } of mapTitles(renderer.views)) context.fillText(text, x, y, room);
  renderer.forcedRatio = null;
  renderer.resize();
  return picture;
}

function svgElement(parent, kind, attributes, text) {
  const element = document.createElementNS(svgNamespace(), kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== undefined) element.textContent = text.replace(NOT_IN_XML, "");
  parent.append(element);
  return element;
}

// The view as SVG: points as circles if they are few, else as an image; names as text.
function svgOf(stage, renderer, placed, title) {
  const style = getComputedStyle(document.documentElement);
  const [width, height] = [stage.clientWidth, stage.clientHeight];
  const root = document.createElementNS(svgNamespace(), "svg");
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) root.setAttribute(name, value);
  svgElement(root, "title", {}, title);
  const paper = style.getPropertyValue("--background").trim();
  svgElement(root, "rect", { width, height, fill: paper });
  if (renderer.count <= MAX_SVG_CIRCLES) addCircles(root, renderer);
  else svgElement(root, "image", { width, height, href: pointsAsImage(renderer) });
  const names = svgElement(root, "g", {
    "font-family": FONT, "text-anchor": "middle", "dominant-baseline": "central", fill: style.getPropertyValue("--text").trim(),
    stroke: paper, "stroke-width": 3.5, "stroke-linejoin": "round", "paint-order": "stroke",
  });
  for (const { text, x, y } of mapTitles(renderer.views)) {
    svgElement(names, "text", { x, y, "text-anchor": "start", "font-size": TITLE.font, "font-weight": TITLE.weight }, text);
  }
  for (const { lines, x, y, font, weight } of placed) {
    lines.forEach((line, k) => {
      const baseline = y + (k - (lines.length - 1) / 2) * font * 1.22;
      svgElement(names, "text", { x: x.toFixed(1), y: baseline.toFixed(1), "font-size": font, "font-weight": weight }, line);
    });
  }
  return new XMLSerializer().serializeToString(root);
}

function pointsAsImage(renderer) {
  renderer.forcedRatio = PICTURE_RATIO;
  renderer.resize();
  const url = renderer.drawComplete().toDataURL("image/png");
  renderer.forcedRatio = null;
  renderer.resize();
  return url;
}

function addCircles(root, renderer) {
  for (const view of renderer.views) {
    const muted = `rgb(${renderer.mutedColor().map((value) => Math.round(255 * value)).join(" ")})`;
    const colors = renderer.colorsOf(view.shownMap).array;
    const all = view.look(renderer.count);
    for (const selected of [false, true]) {
      const { size, opacity } = selected && renderer.narrowed ? renderer.selectedLook(view, all) : all;
      const group = svgElement(root, "g", { "fill-opacity": (selected ? opacity : MUTED_OPACITY * opacity).toFixed(3) });
      if (!selected) group.setAttribute("fill", muted);
      for (let slot = 0; slot < renderer.count; slot++) {
        if (colors[slot] >>> 24 > 127 !== selected) continue;
        const [x, y] = view.camera.toScreen(...view.place(slot));
        if (!view.camera.contains(x, y)) continue;
        const circle = { cx: x.toFixed(1), cy: y.toFixed(1), r: (size / 2).toFixed(2) };
        if (selected) circle.fill = `rgb(${colors[slot] & 255} ${(colors[slot] >> 8) & 255} ${(colors[slot] >> 16) & 255})`;
        svgElement(group, "circle", circle);
      }
    }
  }
}

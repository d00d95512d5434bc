// The legend: classes by size with their counts, each of which can be switched off or highlighted; or a scale.
"use strict";

const HISTOGRAM_BINS = 48;

class Legend {
  constructor(list, scale, selection) {
    Object.assign(this, { list, scale, selection, rows: [] });
  }

  // Shows a column; map: the map whose values a column that differs by map shows.
  show(column, map) {
    this.column = column;
    this.rows = [];
    this.list.replaceChildren();
    this.scale.hidden = !column || column.kind === "classes";
    if (!column) return;
    if (column.kind === "classes") this.list.append(...column.order.filter((code) => column.sizes[code]).map((code) => this.classRow(code)));
    else this.showScale(column, map);
    this.update();
  }

  // A button that switches the class off, and one that highlights it.
  classRow(code) {
    const { column, selection } = this;
    const row = document.createElement("li");
    const swatch = makeButton("swatch", () => selection.toggle(selection.off, code));
    const dot = document.createElement("i");
    dot.style.background = column.colors[code];
    swatch.append(dot);
    const label = makeButton("name", () => selection.toggle(selection.highlighted, code));
    const text = document.createElement("bdi");
    text.textContent = column.names[code];
    const count = document.createElement("small");
    label.append(text, count);
    row.append(swatch, label);
    this.rows.push({ row, swatch, label, count, code });
    return row;
  }

  // Shows which classes are on, and how many of their points are selected.
  update() {
    const { column, selection } = this;
    for (const { row, swatch, label, count, code } of this.rows) {
      const name = column.names[code].slice(0, 200);
      const off = selection.off.has(code) || (selection.highlighted.size > 0 && !selection.highlighted.has(code));
      const [some, all] = [selection.classCounts ? selection.classCounts[code] : column.sizes[code], column.sizes[code]];
      count.textContent = some === all || some === 0 ? all.toLocaleString("en") : `${some.toLocaleString("en")} / ${all.toLocaleString("en")}`;
      row.classList.toggle("off", off || some === 0);
      row.classList.toggle("highlighted", selection.highlighted.has(code));
      swatch.setAttribute("aria-pressed", String(!selection.off.has(code)));
      swatch.setAttribute("aria-label", `${name} in colour`);
      swatch.title = selection.off.has(code) ? `Show ${name}` : `Grey out ${name}`;
      label.setAttribute("aria-pressed", String(selection.highlighted.has(code)));
      label.title = `Show only ${name}`;
    }
  }

  showScale(column, map) {
    const [bars, bar] = this.scale.querySelectorAll("canvas");
    bar.width = 256;
    const context = bar.getContext("2d");
    column.table.forEach((color, k) => {
      context.fillStyle = `rgb(${color & 255} ${(color >> 8) & 255} ${(color >> 16) & 255})`;
      context.fillRect(k, 0, 1, 1);
    });
    drawHistogram(bars, column, map);
    const [low, high] = this.scale.querySelectorAll("span");
    low.textContent = (column.clipped[0] ? "≤ " : "") + column.format(column.low);
    high.textContent = (column.clipped[1] ? "≥ " : "") + column.format(column.high);
    const missing = column.countMissing(map);
    const notes = [missing ? `${missing.toLocaleString("en")} missing, in grey.` : "", column.note];
    this.scale.querySelector("p").textContent = notes.filter(Boolean).join(" ");
  }
}

function drawHistogram(canvas, column, map) {
  const counts = new Uint32Array(HISTOGRAM_BINS);
  for (const value of column.valuesOn(map) || []) {
    if (!(value >= column.low && value <= column.high)) continue;
    counts[Math.min(Math.floor(((value - column.low) / (column.high - column.low || 1)) * HISTOGRAM_BINS), HISTOGRAM_BINS - 1)]++;
  }
  const highest = Math.max(...counts, 1);
  canvas.width = 4 * HISTOGRAM_BINS;
  canvas.height = 44;
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--histogram").trim();
  counts.forEach((count, k) => {
    const height = count ? Math.max(Math.round((42 * count) / highest), 1) : 0;
    context.fillRect(4 * k, 44 - height, 3, height);
  });
}

function makeButton(className, pressed, text = "") {
  const button = document.createElement("button");
  button.type = "button";
  button.className = className;
  button.textContent = text;
  button.addEventListener("click", pressed);
  return button;
}

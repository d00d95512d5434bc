// Which points are selected: classes hidden or highlighted in the legend, and matches of the search.
"use strict";

class Selection {
  // changed(): called whenever the selection changes.
  constructor(data, changed) {
    this.data = data;
    this.changed = changed;
    this.hidden = new Set();
    this.highlighted = new Set();
    this.query = "";
    this.matches = null; // one byte per point while there is a query
    this.rows = [];
  }

  classOf(i) {
    return this.data.classes ? this.data.classes.codes[i] : -1;
  }

  visible(i) {
    return !this.hidden.has(this.classOf(i));
  }

  // Whether a point is shown in its colour; visible points that are not selected are grey.
  selected(i) {
    if (!this.visible(i) || (this.matches && !this.matches[i])) return false;
    return !this.highlighted.size || this.highlighted.has(this.classOf(i));
  }

  // Whether visible points may be grey.
  get narrowed() {
    return Boolean(this.highlighted.size || this.matches);
  }

  labelOf(i) {
    if (this.data.classes) return this.data.classes.names[this.classOf(i)];
    if (!this.data.values) return "";
    const value = this.data.values.values[i];
    return Number.isFinite(value) ? String(Number(value.toPrecision(6))) : "missing";
  }

  // "#12" matches point 12; any other query matches labels and texts that contain it, ignoring case.
  search(query) {
    this.query = query.trim().toLowerCase();
    this.matches = null;
    if (this.query) {
      const { count, classes, hover } = this.data;
      this.matches = new Uint8Array(count);
      const classMatches = (classes ? classes.names : []).map((name) => name.toLowerCase().includes(this.query));
      const index = /^#\d+$/.test(this.query) ? Number(this.query.slice(1)) : -1;
      for (let i = 0; i < count; i++) {
        const match = classMatches[this.classOf(i)] || (hover && hover[i].toLowerCase().includes(this.query));
        this.matches[i] = match || i === index ? 1 : 0;
      }
    }
    this.changed();
  }

  clear() {
    this.hidden.clear();
    this.highlighted.clear();
    this.search("");
    this.showRows();
  }

  toggle(set, code) {
    if (!set.delete(code)) set.add(code);
    this.showRows();
    this.changed();
  }

  // Fills the legend: each class has a button that hides it and one that highlights it.
  fillLegend(list) {
    const { names, colors, codes } = this.data.classes;
    const sizes = new Uint32Array(names.length);
    for (const code of codes) sizes[code]++;
    this.sizes = sizes;
    names.forEach((name, code) => {
      const row = document.createElement("li");
      const swatch = makeButton("swatch", () => this.toggle(this.hidden, code));
      const dot = document.createElement("i");
      dot.style.background = colors[code];
      swatch.append(dot);
      const label = makeButton("name", () => this.toggle(this.highlighted, code));
      const text = document.createElement("span");
      text.textContent = name;
      const size = document.createElement("small");
      size.textContent = sizes[code].toLocaleString("en");
      label.append(text, size);
      label.title = `Highlight ${name}`;
      row.append(swatch, label);
      list.append(row);
      this.rows.push({ row, swatch, label, name });
    });
    this.showRows();
  }

  // Shows in the legend which classes are hidden or highlighted.
  showRows() {
    this.rows.forEach(({ row, swatch, label, name }, code) => {
      const off = this.hidden.has(code);
      row.classList.toggle("off", off);
      row.classList.toggle("highlighted", this.highlighted.has(code));
      swatch.setAttribute("aria-pressed", String(!off));
      swatch.title = off ? `Show ${name}` : `Hide ${name}`;
      swatch.setAttribute("aria-label", `${name} shown`);
      label.setAttribute("aria-pressed", String(this.highlighted.has(code)));
    });
  }
}

function makeButton(className, pressed) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = className;
  button.addEventListener("click", pressed);
  return button;
}

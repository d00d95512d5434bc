// Which points are selected, and so in colour: by the lasso, the search, and the classes of the legend. All others
// are grey, not hidden, so that it stays visible where they are.
"use strict";

class Selection {
  // changed(): called whenever the selection changes.
  constructor(data, changed) {
    Object.assign(this, { data, changed, query: "", matches: null, lasso: null, column: null });
    this.off = new Set(); // classes that are switched off
    this.highlighted = new Set(); // if there are any, all other classes are switched off
    this.shown = data.order.shown; // 1 for each point that is shown, 0 for the others; null: all are
    this.states = this.shown ? this.shown.slice() : new Uint8Array(data.count).fill(1);
    this.total = this.count = this.countShown(); // points that are shown, and those that are selected
    this.classCounts = null; // of selected points, by class
  }

  // The column of colours, whose classes can be switched off.
  setColumn(column) {
    this.column = column && column.kind === "classes" ? column : null;
    this.off.clear();
    this.highlighted.clear();
    this.classCounts = null; // those of the former column
  }

  get narrowed() {
    return this.count < this.total;
  }

  selected(i) {
    return this.states[i] === 1;
  }

  update() {
    const { states, matches, lasso, column, shown } = this;
    const classes = column && column.names.map((_, code) => !this.off.has(code) && (!this.highlighted.size || this.highlighted.has(code)));
    this.classCounts = column ? new Uint32Array(column.names.length) : null;
    let count = 0;
    for (let i = 0; i < states.length; i++) {
      const on = (!matches || matches[i] === 1) && (!lasso || lasso[i] === 1) && (!shown || shown[i] === 1) && (!classes || classes[column.codes[i]]);
      states[i] = on ? 1 : 0;
      if (!on) continue;
      count++;
      if (column) this.classCounts[column.codes[i]]++;
    }
    this.count = count;
    this.changed();
  }

  // "#12" matches point 12; any other query matches classes and texts that contain it, ignoring case.
  search(query) {
    this.query = query.trim();
    const wanted = this.query.toLowerCase();
    this.matches = wanted ? new Uint8Array(this.data.count) : null;
    if (/^#\d+$/.test(wanted)) {
      if (Number(wanted.slice(1)) < this.data.count) this.matches[Number(wanted.slice(1))] = 1;
    } else if (wanted) {
      for (const column of this.data.columns) if (column.kind === "classes") matchClasses(column, wanted, this.matches);
      for (const texts of this.data.texts) texts.search(wanted, this.matches);
    }
    this.update();
  }

  countShown() {
    return this.shown ? this.shown.reduce((sum, value) => sum + value, 0) : this.data.count;
  }

  // Shows some points only, without a lasso; null: all that have a place.
  setShown(shown) {
    this.shown = shown || this.data.order.shown;
    this.total = this.countShown();
    this.setLasso(null);
  }

  setLasso(lasso) {
    this.lasso = lasso;
    this.update();
  }

  clear() {
    Object.assign(this, { query: "", matches: null, lasso: null });
    this.off.clear();
    this.highlighted.clear();
    this.update();
  }

  toggle(set, code) {
    if (!set.delete(code)) set.add(code);
    this.update();
  }

  // Ids of the selected points, or none if all are.
  ids() {
    if (!this.narrowed) return new Uint32Array(0);
    const ids = new Uint32Array(this.count);
    let at = 0;
    for (let i = 0; i < this.states.length; i++) if (this.states[i]) ids[at++] = i;
    return ids;
  }
}

function matchClasses(column, wanted, matches) {
  const named = column.names.map((name, code) => code < column.unnamed && name.toLowerCase().includes(wanted));
  if (!named.includes(true)) return;
  for (let i = 0; i < matches.length; i++) if (named[column.codes[i]]) matches[i] = 1;
}

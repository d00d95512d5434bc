// The page itself: brings data, views, legend, search, lasso and tooltip together.
"use strict";

const SEARCH_DELAY_MILLISECONDS = 150;
const GRID_DELAY_MILLISECONDS = 300;
const HOVER_PIXELS = 9; // distance from which a point is found

class Page {
  constructor(data) {
    this.data = data;
    this.elements = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));
    this.stage = this.elements.stage;
    Object.assign(this, { hovered: -1, pinned: -1, showNames: true, column: null, colors: new Map(), colorVersion: 0, listeners: [], placedNames: [], tallestCaption: {} });
    this.selection = new Selection(data, () => this.selectionChanged());
    this.legend = new Legend(this.elements.legend, this.elements.scale, this.selection);
    this.tooltip = new Tooltip(this.elements.tooltip, this.stage, data);
    this.overlay = new Overlay(this.stage);
    this.link = new Link(() => this.linkState());
    const link = readLink();
    this.renderer = new Renderer(this.stage, data.count, link.get("renderer"), () => this.pointsPainted());
    this.renderer.colorsOf = (map) => this.colorsOf(map);
    const { tabs, slider, "slider-box": sliderBox, "slider-name": sliderName, side } = this.elements;
    this.bar = new MapBar(data, { tabs, slider, sliderBox, sliderName, side }, () => this.viewsChanged(), () => this.moved());
    this.connectGestures();
    this.connectTools();
    showInfo(this.elements.about, data.info);
    this.setTheme(matchMedia("(prefers-color-scheme: dark)").matches, false);
    this.setColumn(data.firstColumn);
    this.viewsChanged();
    new ResizeObserver(() => this.resize()).observe(this.stage);
    this.resize();
  }

  // ---- views ----

  get shownMap() {
    return this.bar.views[0].shownMap;
  }

  mapIndex(map) {
    return this.data.maps.indexOf(map);
  }

  arrange() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    const { sideBySide, views } = this.bar;
    this.bar.arrange(width, height, boxOfElement(this.elements["view-tools"]));
    this.placeTitles();
    const titles = [...this.elements.titles.children].map((title) => title.offsetHeight);
    const lines = sideBySide ? { top: Math.max(...titles), bottom: 0 } : { top: 0, bottom: this.captionHeight(width, height) };
    for (const { camera } of views) camera.lines = lines;
  }

  resize() {
    this.arrange();
    this.overlay.resize();
    this.renderer.resize();
  }

  viewsChanged() {
    this.renderer.views = this.bar.views;
    this.arrange();
    const shown = this.bar.views.flatMap((view) => [view.map.positions, view.next.positions]);
    this.renderer.painter.keepOnly([...shown, ...[...this.colors.values()].map(({ array }) => array)]);
    if (this.column && this.column.differsByMap()) this.legend.show(this.column, this.mapIndex(this.shownMap));
    const { caption } = this.shownMap;
    this.elements.caption.textContent = this.bar.sideBySide ? "" : caption;
    this.elements.caption.hidden = this.bar.sideBySide || !caption;
    this.stage.setAttribute("aria-label", `${this.shownMap.name || "Map"}: ${this.data.count.toLocaleString("en")} points`);
    this.moved();
  }

  // Names and captions of the maps when they are side by side.
  placeTitles() {
    const titled = this.bar.sideBySide ? this.bar.views : [];
    this.elements.titles.replaceChildren(
      ...titled.map(({ map, camera: { box } }) => {
        const title = document.createElement("div");
        Object.assign(title.style, { left: `${box.left}px`, top: `${box.top}px`, maxWidth: `${box.width}px` });
        for (const [kind, text] of [["p", map.name], ["small", map.caption]]) {
          const line = document.createElement(kind);
          line.textContent = text;
          title.append(line);
        }
        return title;
      }),
    );
  }

  // The height of the strip under a single map, in pixels, that the longest caption takes: the same for all maps, so
  // that they do not jump when another one is shown.
  captionHeight(width, height) {
    const { caption } = this.elements;
    if (this.tallestCaption.width !== width) {
      const { textContent, hidden } = caption;
      const heights = this.data.maps.map((map) => {
        caption.textContent = map.caption;
        caption.hidden = !map.caption;
        return caption.hidden ? 0 : height - caption.offsetTop;
      });
      Object.assign(caption, { textContent, hidden });
      this.tallestCaption = { width, height: Math.max(...heights) };
    }
    return this.tallestCaption.height;
  }

  // Called whenever the camera or the points move.
  moved() {
    if (!this.renderer) return;
    this.renderer.redraw();
    this.link.later();
  }

  pointsPainted() {
    // Hovering needs the grid of the points: have it before the pointer comes.
    clearTimeout(this.gridTimer);
    this.gridTimer = setTimeout(() => this.bar.views.forEach(({ map }) => map.pointGrid()), GRID_DELAY_MILLISECONDS);
    const named = this.showNames ? this.bar.views : [];
    this.placedNames = this.overlay.drawNames(named.map((view) => ({ view, layers: this.nameLayers(view) })), this.data.order.idOf, this.coveredBoxes());
    this.drawMarks();
  }

  // The boxes of the stage, in pixels, that buttons, titles and the caption cover.
  coveredBoxes() {
    const { "view-tools": tools, titles, caption } = this.elements;
    return [tools, ...titles.children, ...(caption.hidden ? [] : [caption])].map(boxOfElement);
  }

  // The names that a view may show: those of cluster layers if there are any, else of the classes of the legend.
  nameLayers(view) {
    if (view.morphing) return [];
    const map = view.shownMap;
    if (this.data.layers.length) {
      return this.data.layers.map((layer) => ({ names: layer.names, codes: layer.codes, spots: this.spots(map, layer, layer.names.length), shown: () => true }));
    }
    const column = this.selection.column;
    if (!column) return [];
    const counts = this.selection.classCounts;
    return [{ names: column.names, codes: column.codes, spots: this.spots(map, column, column.unnamed), shown: (code) => !counts || counts[code] > 0 }];
  }

  spots(map, source, count) {
    if (!map.spots.has(source)) map.spots.set(source, findSpots(map, source.codes, count));
    return map.spots.get(source);
  }

  // ---- colours and selection ----

  setColumn(column) {
    this.column = column;
    this.selection.setColumn(column);
    this.elements.color.value = column ? String(this.data.columns.indexOf(column)) : "";
    this.legend.show(column, this.mapIndex(this.shownMap));
    this.selection.update();
  }

  // Colours in the order of slots, with the selection in the highest byte.
  colorsOf(map) {
    const key = this.column && this.column.differsByMap() ? this.mapIndex(map) : 0;
    let entry = this.colors.get(key);
    if (!entry) this.colors.set(key, (entry = { array: new Int32Array(this.data.count), version: -1 }));
    if (entry.version !== this.colorVersion) {
      const { idOf } = this.data.order;
      const { states } = this.selection;
      const { array } = entry;
      const { column } = this;
      for (let slot = 0; slot < array.length; slot++) {
        const i = idOf[slot];
        array[slot] = (column ? column.color(i, key) : PLAIN_RGB) | (states[i] ? 0xff000000 : 0);
      }
      entry.version = this.colorVersion;
    }
    return entry;
  }

  selectionChanged() {
    this.colorVersion++;
    this.renderer.narrowed = this.selection.narrowed;
    this.renderer.selectedCount = this.selection.count;
    this.legend.update();
    this.showStatus();
    if (this.hovered >= 0 && !this.selection.selected(this.hovered)) this.setHovered(-1, null);
    this.moved();
    for (const listener of this.listeners) listener(this.selection.ids());
  }

  showStatus() {
    const { count, narrowed, total } = this.selection;
    const all = `${this.data.count.toLocaleString("en")} ${this.data.count === 1 ? "point" : "points"}`;
    this.elements.status.textContent = narrowed || total < this.data.count ? `${count.toLocaleString("en")} of ${all}` : all;
    this.elements["selection-count"].textContent = `${count.toLocaleString("en")} selected`;
    this.elements.selection.hidden = !narrowed;
  }

  clear() {
    this.elements.search.value = "";
    this.pinned = -1;
    this.setHovered(-1, null);
    this.selection.clear();
  }

  searchNow() {
    clearTimeout(this.searchTimer);
    const { value } = this.elements.search;
    if (value.trim() !== this.selection.query) this.selection.search(value);
  }

  // corners: pixels of the stage.
  selectInside(corners, camera) {
    const view = this.bar.views.find((candidate) => candidate.camera === camera);
    const polygon = corners.map(([x, y]) => camera.toMap(x, y));
    const lasso = new Uint8Array(this.data.count);
    visitInside(polygon, view.shownMap.positions, (slot) => (lasso[this.data.order.idOf[slot]] = 1));
    this.selection.setLasso(lasso);
  }

  zoomToSelection() {
    for (const view of this.bar.views) {
      const box = this.boxOf(this.selection.ids(), view.shownMap);
      if (box) view.camera.show(box);
    }
  }

  // The smallest box around points of a map, or null if there are none.
  boxOf(ids, map) {
    const box = [Infinity, Infinity, -Infinity, -Infinity];
    for (const i of ids) {
      const [x, y] = map.place(i);
      box[0] = Math.min(box[0], x);
      box[1] = Math.min(box[1], y);
      box[2] = Math.max(box[2], x);
      box[3] = Math.max(box[3], y);
    }
    return box[0] <= box[2] ? box : null;
  }

  // ---- hovering ----

  connectGestures() {
    this.gestures = new Gestures(this.stage, {
      cameraAt: (x, y) => (this.bar.views.find(({ camera }) => camera.contains(x, y)) || this.bar.views[0]).camera,
      hover: (x, y) => this.setHovered(...this.pointAt(x, y)),
      leave: () => this.setHovered(-1, null),
      click: (x, y) => {
        const [i, view] = this.pointAt(x, y);
        this.pinned = i === this.pinned ? -1 : i;
        this.setHovered(i, view, true);
      },
      outline: () => this.drawMarks(),
      lasso: (corners, camera) => this.selectInside(corners, camera),
    });
    document.addEventListener("keydown", (event) => handleKey(this, event) && event.preventDefault());
  }

  // The id of the point at a pixel and its view, or [-1, null].
  pointAt(x, y) {
    const view = this.bar.views.find(({ camera }) => camera.contains(x, y));
    if (!view || view.morphing || view.share > 0) return [-1, null];
    const { idOf } = this.data.order;
    const reach = Math.max(view.look(this.data.count).size / 2 + 3, HOVER_PIXELS) / view.camera.scale;
    const slot = view.map.pointGrid().nearest(...view.camera.toMap(x, y), reach, (s) => this.selection.selected(idOf[s]));
    return slot < 0 ? [-1, null] : [idOf[slot], view];
  }

  setHovered(i, view, force = false) {
    if (i === this.hovered && view === this.hoveredView && !force) return;
    this.hovered = i;
    this.hoveredView = view;
    this.stage.classList.toggle("pointing", i >= 0);
    this.drawMarks();
    const shown = i >= 0 ? i : this.pinned;
    if (shown < 0) this.tooltip.hide();
    else this.tooltip.fill(shown, shown === this.pinned, this.column, this.mapIndex((view || this.bar.views[0]).shownMap), () => this.placeTooltip());
  }

  // Marks the hovered and the pinned point, and their neighbours in the data, in every view.
  drawMarks() {
    const { slotOf } = this.data.order;
    const points = [...new Set([this.pinned, this.hovered])].filter((i) => i >= 0);
    const marks = this.bar.views.flatMap((view) =>
      points.map((i) => ({ view, slot: slotOf[i], neighbors: this.neighborsOf(i).map((j) => slotOf[j]), size: view.look(this.data.count).size })),
    );
    this.overlay.drawMarks(marks, this.gestures ? this.gestures.outline : null);
    if (!this.elements.tooltip.hidden) this.placeTooltip();
  }

  neighborsOf(i) {
    const { neighbors, order: { shown } } = this.data;
    return neighbors ? [...neighbors.ids.subarray(i * neighbors.width, (i + 1) * neighbors.width)].filter((j) => j >= 0 && j !== i && (!shown || shown[j])) : [];
  }

  placeTooltip() {
    const view = this.hoveredView || this.bar.views[0];
    if (this.tooltip.point < 0 || !this.bar.views.includes(view)) return;
    const screenOf = (i) => view.camera.toScreen(...view.place(this.data.order.slotOf[i]));
    const [x, y] = screenOf(this.tooltip.point);
    const others = this.neighborsOf(this.tooltip.point).map(screenOf);
    const right = others.filter((other) => other[0] > x).length > others.length / 2;
    this.tooltip.placeAt(x, y, view.look(this.data.count).size / 2 + 12, right, boxOfElement(this.elements["view-tools"]));
  }

  // Shows the tooltip of the next selected point, so that points can be read without a pointer.
  hoverNext(step) {
    const { count } = this.data;
    const [view] = this.bar.views;
    for (let k = 1; k <= count; k++) {
      const i = (((this.hovered < 0 && step < 0 ? 0 : this.hovered) + step * k) % count + count) % count;
      if (!this.selection.selected(i)) continue;
      const place = view.shownMap.place(i);
      if (!view.camera.contains(...view.camera.toScreen(...place))) view.camera.flyTo(place, view.camera.zoom);
      this.setHovered(i, view);
      return;
    }
  }

  home() {
    for (const { camera } of this.bar.views) camera.home();
  }
}

// Left, top, right and bottom of an element, in pixels of the element that it is placed in.
function boxOfElement({ offsetLeft: left, offsetTop: top, offsetWidth: width, offsetHeight: height }) {
  return [left, top, left + width, top + height];
}

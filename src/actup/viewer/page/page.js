// The page itself: shows maps and morphs between them, handles the tooltip, keys, and light and dark theme.
"use strict";

const MORPH_MILLISECONDS = 900;
const OPACITY = { light: 200, dark: 230 };
const MUTED_OPACITY = { light: 70, dark: 90 };
const MAX_NAME_LENGTH = 28;
const FEW_POINTS = 5;

class Page {
  constructor() {
    this.data = readData();
    this.find = (id) => document.getElementById(id);
    this.stage = this.find("stage");
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.current = 0;
    this.positions = mapPositions(this.data.maps[0]).slice();
    this.spots = this.data.maps[0].spots;
    this.colors = pointColors(this.data);
    this.pictures = this.data.images ? new Pictures(this.data.images) : null;
    this.selection = new Selection(this.data, () => this.appearanceChanged());
    this.camera = new Camera(this.stage, () => this.redraw());
    this.overlay = new Overlay(this.find("overlay"));
    this.shuffled = shuffledOrder(this.data.count);
    this.hovered = -1;
    this.morphNumber = 0;
    this.showNames = true;
    this.startPainter(location.hash === "#canvas");
    this.buildTabs();
    this.buildLegend();
    this.connectTools();
    this.connectPointer();
    document.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(this.stage);
    this.setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
    this.showMap(0, false);
  }

  startPainter(withoutWebGL) {
    this.painter = makePainter(this.find("points"), this.data.count, withoutWebGL);
    document.documentElement.dataset.renderer = this.painter.kind;
    this.painter.canvas.addEventListener("webglcontextlost", () => {
      this.startPainter(true);
      this.resize();
      this.appearanceChanged();
    });
    this.painter.setPositions(this.positions);
  }

  // ---- maps ----

  buildTabs() {
    this.tabs = this.data.maps.map((map, k) => {
      const tab = makeButton("", () => this.showMap(k));
      tab.textContent = map.name;
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", "stage");
      this.find("tabs").append(tab);
      return tab;
    });
    this.find("tabs").hidden = this.data.maps.length < 2 && !this.data.maps[0].name;
  }

  showMap(k, morph = true) {
    this.current = k;
    const map = this.data.maps[k];
    this.tabs.forEach((tab, other) => {
      tab.setAttribute("aria-selected", String(other === k));
      tab.tabIndex = other === k ? 0 : -1;
    });
    if (this.find("tabs").contains(document.activeElement)) this.tabs[k].focus();
    this.find("caption").textContent = map.caption;
    this.stage.setAttribute("aria-label", `${map.name}: map of ${this.data.count.toLocaleString("en")} points`);
    if (morph) this.morphTo(map);
  }

  // Moves every point on a straight line from its current position, even in the middle of another morph.
  morphTo(map) {
    const number = ++this.morphNumber;
    const from = this.positions.slice();
    const to = mapPositions(map);
    const fromSpots = this.spots;
    this.setHovered(-1);
    this.grid = null;
    animate(MORPH_MILLISECONDS, (share) => {
      if (number !== this.morphNumber) return false;
      for (let i = 0; i < to.length; i++) this.positions[i] = from[i] + share * (to[i] - from[i]);
      this.spots = map.spots.map((spot, k) => spot && spot.map((value, axis) => fromSpots[k][axis] + share * (value - fromSpots[k][axis])));
      this.painter.setPositions(this.positions);
      this.morphing = share < 1;
      this.redraw();
      return true;
    });
  }

  // ---- drawing ----

  resize() {
    for (const canvas of [this.painter.canvas, this.overlay.canvas]) {
      canvas.width = Math.max(1, Math.round(this.stage.clientWidth * this.ratio));
      canvas.height = Math.max(1, Math.round(this.stage.clientHeight * this.ratio));
    }
    this.redraw();
  }

  redraw() {
    if (this.redrawPending) return;
    this.redrawPending = true;
    requestAnimationFrame(() => {
      this.redrawPending = false;
      this.drawNow();
    });
  }

  // Diameter in pixels: decreases with the number of points and grows slowly with the zoom.
  get pointSize() {
    const side = Math.min(this.stage.clientWidth, this.stage.clientHeight);
    const fitting = 0.6 * side / Math.sqrt(this.data.count);
    return Math.min(Math.max(fitting, 1.5), 8) * Math.min(Math.max(this.camera.zoom, 0.7) ** 0.4, 5);
  }

  drawNow() {
    const view = { x: this.camera.center[0], y: this.camera.center[1], scale: this.camera.scale * this.ratio };
    this.painter.draw(view, this.pointSize * this.ratio);
    const ring = this.hovered < 0 ? null : this.ringAround(this.hovered);
    this.overlay.draw(this.showNames ? this.visibleNames() : [], ring, this.ratio);
    if (this.hovered >= 0) this.placeTooltip();
  }

  visibleNames() {
    if (!this.data.classes) return [];
    const names = [];
    for (const code of this.nameOrder) {
      const spot = this.spots[code];
      const muted = this.selection.highlighted.size && !this.selection.highlighted.has(code);
      if (!spot || muted || this.selection.hidden.has(code)) continue;
      const [x, y] = this.camera.toScreen(...spot);
      const name = this.data.classes.names[code];
      const text = name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH - 1)}…` : name;
      // Write the name above a class of few points, which it would cover.
      const lift = this.selection.sizes[code] < FEW_POINTS ? this.pointSize / 2 + 12 : 0;
      names.push({ text, x: x * this.ratio, y: (y - lift) * this.ratio });
    }
    return names;
  }

  ringAround(i) {
    const [x, y] = this.camera.toScreen(this.positions[2 * i], this.positions[2 * i + 1]);
    return { x: x * this.ratio, y: y * this.ratio, radius: (this.pointSize / 2 + 4) * this.ratio };
  }

  // Sets colours and drawing order: grey points first, selected points on top.
  appearanceChanged() {
    const { count } = this.data;
    const { theme } = document.documentElement.dataset;
    const muted = hexToRgb(getComputedStyle(document.documentElement).getPropertyValue("--muted-point").trim());
    const colors = new Uint8Array(4 * count);
    const order = new Uint32Array(count);
    let greyCount = 0; // grey points fill the order from its beginning
    let firstSelected = count; // selected points fill it from its end
    for (const i of this.shuffled) {
      if (!this.selection.visible(i)) continue;
      const selected = this.selection.selected(i);
      for (let c = 0; c < 3; c++) colors[4 * i + c] = selected ? this.colors[3 * i + c] : muted[c];
      colors[4 * i + 3] = (selected ? OPACITY : MUTED_OPACITY)[theme];
      order[selected ? --firstSelected : greyCount++] = i;
    }
    const drawn = new Uint32Array(greyCount + count - firstSelected);
    drawn.set(order.subarray(0, greyCount));
    drawn.set(order.subarray(firstSelected), greyCount);
    this.painter.setAppearance(colors, drawn);
    this.showStatus(count - firstSelected, greyCount + count - firstSelected);
    if (this.hovered >= 0 && !this.selection.selected(this.hovered)) this.setHovered(-1);
    this.redraw();
  }

  showStatus(selectedCount, visibleCount) {
    const number = this.selection.narrowed ? selectedCount : visibleCount;
    const all = `${this.data.count.toLocaleString("en")} ${this.data.count === 1 ? "point" : "points"}`;
    const part = number === this.data.count ? "" : `${number.toLocaleString("en")} of `;
    this.find("status").textContent = part + all;
  }

  // ---- legend, search, theme ----

  buildLegend() {
    const { classes, values } = this.data;
    this.find("names").hidden = !classes;
    if (classes) {
      this.selection.fillLegend(this.find("legend"));
      const sizes = this.selection.sizes;
      this.nameOrder = classes.names.map((_, code) => code).sort((a, b) => sizes[b] - sizes[a]);
    }
    if (values) {
      const bar = this.find("ramp-bar");
      bar.width = values.stops.length;
      values.stops.forEach((color, k) => {
        const context = bar.getContext("2d");
        context.fillStyle = color;
        context.fillRect(k, 0, 1, 1);
      });
      this.find("ramp-low").textContent = `${values.clipped[0] ? "≤ " : ""}${Number(values.low.toPrecision(4))}`;
      this.find("ramp-high").textContent = `${values.clipped[1] ? "≥ " : ""}${Number(values.high.toPrecision(4))}`;
      this.find("ramp").hidden = false;
    }
  }

  connectTools() {
    this.find("search").addEventListener("input", (event) => {
      clearTimeout(this.searchTimer);
      this.searchTimer = setTimeout(() => this.selection.search(event.target.value), 120);
    });
    this.find("theme").addEventListener("click", () => this.setTheme(!this.dark));
    this.find("names").addEventListener("click", () => this.toggleNames());
    this.find("zoom-in").addEventListener("click", () => this.camera.flyTo(this.camera.center, Math.min(this.camera.zoom * 1.6, MAX_ZOOM)));
    this.find("zoom-out").addEventListener("click", () => this.camera.flyTo(this.camera.center, Math.max(this.camera.zoom / 1.6, MIN_ZOOM)));
    this.find("zoom-fit").addEventListener("click", () => this.camera.flyTo([0, 0], 1));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => this.setTheme(event.matches));
  }

  setTheme(dark) {
    this.dark = dark;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    this.appearanceChanged();
  }

  toggleNames() {
    this.showNames = !this.showNames;
    this.find("names").setAttribute("aria-pressed", String(this.showNames));
    this.redraw();
  }

  // ---- tooltip ----

  connectPointer() {
    const point = (event) => {
      if (this.camera.dragging || event.target.closest("#zoom")) return this.setHovered(-1);
      return this.setHovered(this.pointAt(...this.camera.positionOf(event)));
    };
    this.stage.addEventListener("pointermove", point);
    this.stage.addEventListener("pointerdown", point);
    this.stage.addEventListener("pointerleave", () => this.setHovered(-1));
  }

  pointAt(x, y) {
    if (this.morphing) return -1;
    this.grid = this.grid || new Grid(this.positions);
    const reach = Math.max(this.pointSize / 2 + 3, 8) / this.camera.scale;
    return this.grid.nearest(...this.camera.toMap(x, y), reach, (i) => this.selection.selected(i));
  }

  setHovered(i) {
    if (i === this.hovered) return;
    this.hovered = i;
    this.stage.classList.toggle("pointing", i >= 0);
    this.find("tooltip").hidden = i < 0;
    if (i >= 0) this.fillTooltip(i);
    this.redraw();
  }

  fillTooltip(i) {
    const text = this.data.hover ? this.data.hover[i] : "";
    this.find("tip-label").textContent = this.selection.labelOf(i);
    this.find("tip-text").textContent = text;
    this.find("tip-index").textContent = `#${i}`;
    this.find("tip-label").hidden = !this.data.classes && !this.data.values;
    this.find("tip-text").hidden = !text;
    this.find("picture").hidden = !this.pictures;
    if (this.pictures) this.pictures.draw(i, this.find("picture")).then(() => this.hovered >= 0 && this.placeTooltip());
  }

  placeTooltip() {
    const tooltip = this.find("tooltip");
    const [x, y] = this.camera.toScreen(this.positions[2 * this.hovered], this.positions[2 * this.hovered + 1]);
    const gap = this.pointSize / 2 + 10;
    const right = x + gap + tooltip.offsetWidth > this.stage.clientWidth;
    const left = Math.max(4, right ? x - gap - tooltip.offsetWidth : x + gap);
    const highest = this.stage.clientHeight - tooltip.offsetHeight - 4;
    const top = Math.max(4, Math.min(y - tooltip.offsetHeight / 2, highest));
    tooltip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  // Shows the tooltip of the next selected point, so that points can be read without a pointer.
  hoverNext(step) {
    const { count } = this.data;
    for (let k = 1; k <= count; k++) {
      const i = (((this.hovered < 0 && step < 0 ? 0 : this.hovered) + step * k) % count + count) % count;
      if (!this.selection.selected(i)) continue;
      const [x, y] = this.camera.toScreen(this.positions[2 * i], this.positions[2 * i + 1]);
      const outside = x < 0 || y < 0 || x > this.stage.clientWidth || y > this.stage.clientHeight;
      if (outside) this.camera.flyTo([this.positions[2 * i], this.positions[2 * i + 1]], this.camera.zoom);
      this.setHovered(i);
      return;
    }
  }

  // ---- keys ----

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const search = this.find("search");
    if (event.key === "Escape") {
      search.value = "";
      this.setHovered(-1);
      this.selection.clear();
    } else if (event.target === search) {
      if (event.key !== "Enter") return;
      clearTimeout(this.searchTimer);
      if (search.value.trim().toLowerCase() !== this.selection.query) this.selection.search(search.value);
      this.hoverNext(event.shiftKey ? -1 : 1);
    } else if (event.key === "Enter" && event.target === this.stage) {
      this.hoverNext(event.shiftKey ? -1 : 1);
    } else if (!this.command(event)) {
      return;
    }
    event.preventDefault();
  }

  command(event) {
    const { camera, data } = this;
    const arrow = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const middle = [this.stage.clientWidth / 2, this.stage.clientHeight / 2];
    if (arrow && event.shiftKey) camera.pan(60 * arrow[0], 60 * arrow[1]);
    else if (arrow && arrow[0]) this.showMap((this.current - arrow[0] + data.maps.length) % data.maps.length);
    else if (event.key === "+" || event.key === "=") camera.zoomAt(...middle, 1.3);
    else if (event.key === "-") camera.zoomAt(...middle, 1 / 1.3);
    else if (event.key === "0") camera.flyTo([0, 0], 1);
    else if (event.key === "/") this.find("search").focus();
    else if (event.key.toLowerCase() === "t") this.setTheme(!this.dark);
    else if (event.key.toLowerCase() === "n" && data.classes) this.toggleNames();
    else if (event.key >= "1" && event.key <= "9" && data.maps[event.key - 1]) this.showMap(event.key - 1);
    else return false;
    return true;
  }
}

// Shuffled, with a fixed seed: in the order of the rows the last class would cover the others.
function shuffledOrder(count) {
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  let state = 0x9e3779b9;
  for (let i = count - 1; i > 0; i--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((state / 4294967296) * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

new Page();

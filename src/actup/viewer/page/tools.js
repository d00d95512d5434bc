// The tools of the page: search, colours, theme, lasso, saving, and the state in the address.
"use strict";

Object.assign(Page.prototype, {
  connectTools() {
    const { elements } = this;
    const onClick = (id, action) => elements[id].addEventListener("click", action);
    elements.search.addEventListener("input", () => {
      clearTimeout(this.searchTimer);
      this.searchTimer = setTimeout(() => this.searchNow(), SEARCH_DELAY_MILLISECONDS);
    });
    this.fillColorSelect();
    onClick("theme", () => this.setTheme(!this.dark));
    onClick("names", () => this.toggleNames());
    onClick("lasso", () => this.toggleLasso());
    onClick("zoom-in", () => this.bar.views.forEach(({ camera }) => camera.flyTo(camera.center, camera.limited(camera.zoom * 1.6))));
    onClick("zoom-out", () => this.bar.views.forEach(({ camera }) => camera.flyTo(camera.center, camera.limited(camera.zoom / 1.6))));
    onClick("zoom-fit", () => this.home());
    onClick("selection-clear", () => this.clear());
    onClick("selection-zoom", () => this.zoomToSelection());
    onClick("selection-csv", () => this.saveTable());
    onClick("selection-copy", () => this.copyIds());
    onClick("selection-json", () => saveFile(fileName(this.data.title, "json"), new Blob([JSON.stringify([...this.selection.ids()])], { type: "application/json" })));
    onClick("save-csv", () => this.saveTable());
    onClick("save-png", () => this.savePng());
    onClick("save-svg", () => this.saveSvg());
    onClick("copy-link", () => this.copyLink());
    onClick("sheet", () => this.toggleSheet());
    for (const button of elements.save.querySelectorAll("button")) button.addEventListener("click", () => (elements.save.open = false));
    document.addEventListener("pointerdown", (event) => elements.save.contains(event.target) || (elements.save.open = false));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => this.setTheme(event.matches, false));
    window.addEventListener("hashchange", () => location.hash === this.link.written || this.restore(readLink()));
  },

  fillColorSelect() {
    const { color } = this.elements;
    const { columns } = this.data;
    columns.forEach((column, k) => color.append(new Option(column.name, String(k))));
    if (!columns.length) color.append(new Option("one colour", ""));
    this.elements["color-box"].hidden = columns.length < 2;
    color.addEventListener("change", () => this.setColumn(columns[Number(color.value)]));
  },

  setTheme(dark, chosen = true) {
    this.dark = dark;
    this.themeChosen = chosen;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    if (this.column && this.column.kind !== "classes") this.legend.show(this.column, this.mapIndex(this.shownMap));
    this.moved();
  },

  toggleNames() {
    this.showNames = !this.showNames;
    this.elements.names.setAttribute("aria-pressed", String(this.showNames));
    this.pointsPainted();
    this.link.later();
  },

  toggleLasso() {
    this.gestures.lassoMode = !this.gestures.lassoMode;
    this.elements.lasso.setAttribute("aria-pressed", String(this.gestures.lassoMode));
    this.stage.classList.toggle("drawing", this.gestures.lassoMode);
  },

  toggleSheet() {
    const open = document.body.classList.toggle("sheet-open");
    this.elements.sheet.setAttribute("aria-expanded", String(open));
  },

  // ---- saving ----

  // The selected points, or all if none are.
  saveTable() {
    const ids = this.data.order.idOf.filter((i) => this.selection.selected(i)).sort();
    const text = csvTable(this.data, this.shownMap, this.mapIndex(this.shownMap), ids);
    saveFile(fileName(this.data.title, "csv"), new Blob([text], { type: "text/csv" }));
  },

  async copyIds() {
    await copyText(this.selection.ids().join("\n"));
    this.say("Indices copied");
  },

  async copyLink() {
    this.link.write();
    await copyText(location.href);
    this.say("Link copied");
  },

  savePng() {
    pictureOf(this.renderer, this.placedNames).toBlob((blob) => saveFile(fileName(this.data.title, "png"), blob), "image/png");
  },

  saveSvg() {
    const text = svgOf(this.stage, this.renderer, this.placedNames, this.data.title);
    saveFile(fileName(this.data.title, "svg"), new Blob([text], { type: "image/svg+xml" }));
  },

  // A short message that goes away.
  say(text) {
    const { toast } = this.elements;
    toast.textContent = text;
    toast.hidden = false;
    clearTimeout(this.toastTimer);
    this.toastTimer = setTimeout(() => (toast.hidden = true), 1800);
  },

  // ---- the state in the address ----

  linkState() {
    const { bar, selection, column, data } = this;
    const { camera } = bar.views[0];
    const state = [];
    const asked = readLink();
    if (asked.get("renderer")) state.push(["renderer", asked.get("renderer")]);
    if (bar.current) state.push(["map", data.maps[bar.current].name]);
    if (bar.sideBySide !== bar.beginsSideBySide) state.push(["side", bar.sideBySide ? "1" : "0"]);
    if (column && column !== data.firstColumn) state.push(["color", column.name]);
    if (!bar.sideBySide && !camera.atStart) state.push(["view", [...camera.center, camera.zoom].map((value) => Number(value.toPrecision(5))).join(",")]);
    if (selection.query) state.push(["search", selection.query]);
    if (!this.showNames) state.push(["names", "0"]);
    if (this.themeChosen) state.push(["theme", this.dark ? "dark" : "light"]);
    if (selection.column) {
      state.push(...linkedClasses("off", selection.column, selection.off), ...linkedClasses("only", selection.column, selection.highlighted));
    }
    return state;
  },

  // Takes over the state of an address; what it does not name, or names wrongly, is as at the beginning.
  async restore(link) {
    const { data, elements } = this;
    const prefersDark = matchMedia("(prefers-color-scheme: dark)").matches;
    this.setTheme(link.has("theme") ? link.get("theme") === "dark" : prefersDark, link.has("theme"));
    const column = data.columns.find(({ name }) => name === link.get("color")) || data.firstColumn;
    if (column !== this.column) this.setColumn(column);
    if (this.showNames !== (link.get("names") !== "0")) this.toggleNames();
    const map = Math.max(data.maps.findIndex(({ name }) => name === link.get("map")), 0);
    const sideBySide = data.maps.length > 1 && (link.has("side") ? link.get("side") === "1" : this.bar.beginsSideBySide);
    if (this.bar.sideBySide !== sideBySide) await this.bar.setSideBySide(sideBySide);
    if (map !== this.bar.current) await this.bar.show(map, false);
    const view = (link.get("view") || "0,0,1").split(",").map(Number);
    if (view.length === 3 && view.every(Number.isFinite) && view[2] > 0) this.bar.views[0].camera.set(view.slice(0, 2), view[2]);
    for (const [key, set] of [["off", this.selection.off], ["only", this.selection.highlighted]]) {
      set.clear();
      if (this.selection.column) for (const code of readLinkedClasses(link, key, this.selection.column)) set.add(code);
    }
    elements.search.value = link.get("search") || "";
    this.selection.search(elements.search.value);
  },
});

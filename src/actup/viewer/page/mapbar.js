// Chooses the maps that are shown: tabs, a slider for maps that form a sequence, or all of them side by side.
"use strict";

const MORPH_MILLISECONDS = 900;
const SIDE_BY_SIDE_RATIO = 1.1; // wanted width of a view, relative to its height
const SIDE_BY_SIDE_MIN_PIXELS = 761; // width of a window from which maps stand side by side at the beginning

class MapBar {
  // changed(): called when the views or their maps change; moved(): when points move between maps.
  constructor(data, elements, changed, moved) {
    Object.assign(this, { data, elements, changed, moved, current: 0, sideBySide: false, morphNumber: 0 });
    this.views = [new View(data.maps[0], moved)];
    this.buildTabs();
    this.buildSlider();
    this.beginsSideBySide = data.sideBySide && matchMedia(`(min-width: ${SIDE_BY_SIDE_MIN_PIXELS}px)`).matches;
    elements.side.hidden = data.maps.length < 2;
    elements.side.addEventListener("click", () => this.setSideBySide(!this.sideBySide));
    this.showState();
  }

  buildTabs() {
    this.tabs = this.data.maps.map((map, k) => {
      const tab = makeButton("", () => this.show(k), map.name);
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", "stage");
      return tab;
    });
    this.elements.tabs.append(...this.tabs);
  }

  buildSlider() {
    const { slider } = this.elements;
    slider.max = String(this.data.maps.length - 1);
    slider.addEventListener("input", () => this.slideTo(Number(slider.value)));
    // When it is let go, the nearest map is shown.
    slider.addEventListener("change", () => this.show(Math.round(Number(slider.value))));
  }

  // Shows a map; its points move there on straight lines, even in the middle of another move.
  async show(k, morph = true) {
    this.current = k;
    const number = ++this.morphNumber;
    this.showState();
    const map = this.data.maps[k];
    await map.load();
    if (number !== this.morphNumber || this.sideBySide) return;
    const [view] = this.views;
    if (!morph || (view.map === map && view.share === 0)) {
      view.showMap(map);
      this.changed();
      return;
    }
    view.morphFrom(map);
    animate(MORPH_MILLISECONDS, (share) => {
      if (number !== this.morphNumber) return false;
      view.advance(share);
      if (share >= 1) this.changed();
      else this.moved();
      return true;
    });
  }

  // Shows the points between the two maps on either side of a position of the slider.
  async slideTo(position) {
    const number = ++this.morphNumber;
    const left = Math.min(Math.floor(position), this.data.maps.length - 2);
    const [from, to] = [this.data.maps[left], this.data.maps[left + 1]];
    await Promise.all([from.load(), to.load()]);
    if (number !== this.morphNumber) return;
    this.current = Math.round(position);
    this.views[0].showMap(from, to, position - left);
    this.views[0].followFrame();
    this.showState(false);
    this.moved();
  }

  async setSideBySide(wanted) {
    const number = ++this.morphNumber;
    await Promise.all(this.data.maps.map((map) => map.load()));
    if (number !== this.morphNumber) return;
    this.sideBySide = wanted;
    const shown = wanted ? this.data.maps : [this.data.maps[this.current]];
    this.views = shown.map((map) => new View(map, this.moved));
    this.showState();
    this.changed();
  }

  // The order of the views in rows, so that their shapes come close to what is wanted.
  // buttons: the box in the lower right corner of the stage that buttons cover: left, top, right, bottom.
  arrange(width, height, buttons) {
    const count = this.views.length;
    let best = { columns: 1, badness: Infinity };
    for (let columns = 1; columns <= count; columns++) {
      const rows = Math.ceil(count / columns);
      const ratio = width / columns / (height / rows);
      const badness = Math.abs(Math.log(ratio / SIDE_BY_SIDE_RATIO)) + 0.3 * (columns * rows - count);
      if (badness < best.badness) best = { columns, rows, badness };
    }
    const [cellWidth, cellHeight] = [width / best.columns, height / best.rows];
    this.views.forEach((view, k) => {
      const [row, column] = [Math.floor(k / best.columns), k % best.columns];
      const box = { left: Math.round(column * cellWidth), top: Math.round(row * cellHeight) };
      box.width = Math.round((column + 1) * cellWidth) - box.left;
      box.height = Math.round((row + 1) * cellHeight) - box.top;
      view.camera.box = box;
      const ends = [box.left + box.width, box.top + box.height];
      const corner = [ends[0] - Math.max(buttons[0], box.left), ends[1] - Math.max(buttons[1], box.top)];
      view.camera.corner = Math.min(...corner) > 0 ? corner : [0, 0];
    });
  }

  showState(moveSlider = true) {
    const { tabs, slider, sliderBox, sliderName, side } = this.elements;
    const many = this.data.maps.length > 1;
    tabs.hidden = !many || this.sideBySide || this.data.sequence;
    sliderBox.hidden = !this.data.sequence || this.sideBySide;
    sliderName.textContent = this.data.maps[this.current].name;
    if (moveSlider) slider.value = String(this.current);
    side.setAttribute("aria-pressed", String(this.sideBySide));
    this.tabs.forEach((tab, k) => {
      tab.setAttribute("aria-selected", String(k === this.current));
      tab.tabIndex = k === this.current ? 0 : -1;
    });
    if (tabs.contains(document.activeElement)) this.tabs[this.current].focus();
    if (!tabs.hidden) {
      // Not scrollIntoView(): in a frame, it would also scroll the page around it.
      const [box, tab] = [tabs, this.tabs[this.current]].map((element) => element.getBoundingClientRect());
      tabs.scrollLeft += Math.min(0, tab.left - box.left) + Math.max(0, tab.right - box.right);
    }
  }
}

// window.actupPage: what other programs of the same page, such as a live view or a notebook, may call.
//
//   ready                        promise that is fulfilled when the page can be used
//   setPositions(xy, mapIndex)   new positions of a map: Float32Array x0, y0, x1, y1, ... in the order of rows;
//                                of the points of showOnly() alone, in the order of their ids, after it was called
//   showOnly(ids)                hides all other points until the next call, and ends the lasso; null: shows all
//   lookAt(ids, animated)        shows the part of the map where points are; null: where the bulk of all points is
//   selection()                  Uint32Array of the ids of the selected points; empty if all points are shown
//   onSelection(callback)        callback(ids) after every change of the selection; returns a function that ends it
//   select(ids)                  selects points as the lasso does; null: all
//   setStatus(text)              a line of text above the map; "" removes it
//   addPanel(element)            adds an element to the side panel
//   state()                      what is shown, as plain values, and how often layers were drawn
"use strict";

class PageInterface {
  constructor() {
    Object.assign(this, { ids: null, shownSlots: null }); // of showOnly()
    this.ready = readData().then(async (data) => {
      this.page = new Page(data);
      await this.page.restore(readLink());
      document.documentElement.dataset.ready = "true";
    });
    this.ready.catch((error) => {
      document.getElementById("message").textContent = `The page cannot be shown: ${error.message}`;
      document.getElementById("message").hidden = false;
      throw error;
    });
  }

  showOnly(ids) {
    const { count, order } = this.page.data;
    this.ids = ids;
    this.shownSlots = ids && new Uint8Array(count);
    const shown = ids && new Uint8Array(count);
    for (const i of ids || []) this.shownSlots[order.slotOf[i]] = shown[i] = 1;
    this.page.selection.setShown(shown);
    this.lookAt(null, false);
  }

  lookAt(ids, animated = true) {
    for (const view of this.page.bar.views) {
      const box = ids ? this.page.boxOf(ids, view.shownMap) : null;
      if (box) view.camera.show(box, animated);
      else view.camera.goTo([0, 0], 1, animated);
    }
  }

  setPositions(xy, mapIndex = 0) {
    const { data, bar } = this.page;
    const map = data.maps[mapIndex];
    const count = this.ids ? this.ids.length : data.count;
    if (!map || xy.length !== 2 * count) throw new RangeError(`setPositions needs ${2 * count} numbers and a map below ${data.maps.length}`);
    const { slotOf } = data.order;
    const raw = new Float32Array(2 * data.count);
    for (let k = 0; k < count; k++) {
      const slot = slotOf[this.ids ? this.ids[k] : k];
      raw[2 * slot] = xy[2 * k];
      raw[2 * slot + 1] = xy[2 * k + 1];
    }
    map.loading = map.loading || Promise.resolve();
    map.setRaw(raw, this.shownSlots || data.order.shownSlots);
    for (const view of bar.views) if (view.map === map || view.next === map) view.followFrame();
    this.page.viewsChanged();
  }

  selection() {
    return this.page.selection.ids();
  }

  onSelection(callback) {
    this.page.listeners.push(callback);
    return () => (this.page.listeners = this.page.listeners.filter((other) => other !== callback));
  }

  select(ids) {
    const lasso = ids && new Uint8Array(this.page.data.count);
    if (ids) for (const i of ids) lasso[i] = 1;
    this.page.selection.setLasso(lasso);
  }

  setStatus(text) {
    this.page.elements.message.textContent = text;
    this.page.elements.message.hidden = !text;
  }

  addPanel(element) {
    this.page.elements.panels.append(element);
  }

  state() {
    const { bar, column, selection, hovered, pinned, renderer, overlay, data, placedNames } = this.page;
    const { camera } = bar.views[0];
    return {
      map: data.maps[bar.current].name,
      sideBySide: bar.sideBySide,
      color: column ? column.name : null,
      center: [...camera.center],
      zoom: camera.zoom,
      hovered,
      pinned,
      selected: selection.count,
      renderer: renderer.painter.kind,
      frames: { ...renderer.frames, ...overlay.frames },
      milliseconds: [...renderer.milliseconds],
      names: placedNames.map(({ lines, x, y, font }) => ({ text: lines.join(" "), x, y, font })),
      busy: renderer.busy,
    };
  }

  // Where a point is on the screen, in CSS pixels of the stage, in view number viewIndex.
  screenPosition(i, viewIndex = 0) {
    const view = this.page.bar.views[viewIndex];
    return view.camera.toScreen(...view.place(this.page.data.order.slotOf[i]));
  }
}

window.actupPage = new PageInterface();

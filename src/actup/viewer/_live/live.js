// Live: shows the layout of a session while it runs, and sends what its panel asks for to the server.
"use strict";

const FLIGHT_MILLISECONDS = 380; // of the camera to a selection, before its own map takes its place
const BLEND_MILLISECONDS = 450; // from the places on the outer map to those on the selection's own

class LiveSession {
  // page: window.actupPage.
  constructor(page) {
    this.page = page;
    this.panel = new LivePanel((name, body) => this.send(name, body), () => this.zoomIn());
    page.addPanel(this.panel.element);
    page.onSelection((ids) => this.selectionChanged(ids));
    Object.assign(this, { levels: [], run: null }); // of the status
    Object.assign(this, { shown: null, ids: null, places: null }); // the level that is shown: key, ids (null: all), places
    Object.assign(this, { newest: null, entering: false, blending: false }); // the newest frame, and what waits for it
    this.stream = new Stream({
      onStatus: (status) => this.showStatus(status),
      onFrame: (frame) => this.showFrame(frame),
      onEnd: () => this.end(),
    });
  }

  async send(name, body = null) {
    const response = await fetch(name, { method: "POST", body }).catch(() => null);
    if (response && !response.ok) this.page.setStatus(await response.text());
  }

  zoomIn() {
    this.send("zoom", this.page.selection());
  }

  selectionChanged(ids) {
    this.panel.showSelection(ids.length);
    this.send("selection", ids);
  }

  showStatus(status) {
    if (this.run !== null && status.run !== this.run) return location.reload(); // another fit has begun
    this.run = status.run;
    this.levels = status.levels;
    this.panel.showStatus(status);
    return this.page.setStatus(statusText(status));
  }

  // Frames that come while a level is being entered, or blended, are shown when that is done.
  async showFrame(frame) {
    this.newest = frame;
    if (this.entering) return;
    while (this.newest.key !== this.shown) {
      this.entering = true;
      await this.enterLevel(this.newest.key);
      this.entering = false;
    }
    if (!this.blending) this.display(this.newest.places);
  }

  display(places) {
    this.places = places;
    this.page.setPositions(places);
  }

  async enterLevel(key) {
    const ids = await this.fetchIds(key);
    const [former, outward] = [this.ids, !ids || (this.ids && ids.length > this.ids.length)];
    if (this.shown === null || !this.places) this.showLevel(key, ids);
    else if (outward) this.leaveLevel(key, ids, former);
    else await this.zoomTo(key, ids);
  }

  async fetchIds(key) {
    if (this.levels.findIndex((level) => level.key === key) <= 0) return null;
    const response = await fetch(`level/${key}`).catch(() => null);
    return response && response.ok ? new Uint32Array(await response.arrayBuffer()) : null;
  }

  showLevel(key, ids) {
    Object.assign(this, { shown: key, ids });
    if (ids || this.page.ids) this.page.showOnly(ids);
  }

  // Shows the outer map where the camera sees the same points as before, and moves back from there.
  leaveLevel(key, ids, former) {
    this.showLevel(key, ids);
    this.display(this.newest.places);
    if (former) this.page.lookAt(former, false);
    this.page.lookAt(null);
  }

  async zoomTo(key, ids) {
    this.page.lookAt(ids);
    await new Promise((resolve) => setTimeout(resolve, FLIGHT_MILLISECONDS));
    const begin = placesOf(ids, this.ids, this.places);
    this.showLevel(key, ids);
    this.display(begin);
    this.blend(begin);
  }

  // Moves points from where they were on the outer map to where the newest frame has them.
  blend(begin) {
    const key = this.shown;
    this.blending = true;
    animate(BLEND_MILLISECONDS, (share) => {
      const { places } = this.newest;
      this.blending = share < 1 && this.newest.key === key;
      if (this.newest.key !== key) return false;
      const from = alignedTo(places, begin);
      this.display(this.blending ? places.map((place, k) => from[k] + share * (place - from[k])) : places);
      return this.blending;
    });
  }

  end() {
    this.panel.end();
    this.page.setStatus("The session has ended");
  }
}

// The places of some points of a level. outerIds: ascending; null: all points.
function placesOf(ids, outerIds, places) {
  const result = new Float32Array(2 * ids.length);
  let at = 0;
  ids.forEach((id, k) => {
    if (!outerIds) at = id;
    else while (outerIds[at] < id) at++;
    result.set(places.subarray(2 * at, 2 * at + 2), 2 * k);
  });
  return result;
}

// Moves and scales places to the middle and the size of others.
function alignedTo(target, places) {
  const [from, to] = [middleAndSize(places), middleAndSize(target)];
  const scale = to.size / (from.size || 1);
  return places.map((place, k) => (place - from.middle[k & 1]) * scale + to.middle[k & 1]);
}

function middleAndSize(places) {
  const sums = [0, 0, 0, 0];
  for (let k = 0; k < places.length; k++) {
    sums[k & 1] += places[k];
    sums[2 + (k & 1)] += places[k] ** 2;
  }
  const [x, y, xx, yy] = sums.map((sum) => sum / (places.length / 2));
  return { middle: [x, y], size: Math.sqrt(Math.max(xx + yy - x * x - y * y, 0)) };
}

function statusText({ state, stage, epoch, epochs, levels, message }) {
  const count = levels.length ? `${levels.at(-1).count.toLocaleString("en")} points` : "";
  const selection = levels.length > 1 ? `selection of ${count} · ` : "";
  if (state === "running" && stage === "layout") return `${selection}epoch ${epoch} of ${epochs}`;
  if (state === "paused") return `${selection}paused at epoch ${epoch} of ${epochs}`;
  return message || count || state;
}

window.actupPage.ready.then(() => new LiveSession(window.actupPage).stream.run());

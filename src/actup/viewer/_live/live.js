// Live: shows the layout of a session while it runs, and sends what its panel asks for to the server.
"use strict";

const MAX_FACTOR_LOG2 = 3; // sliders reach from 1/8 to 8
const SLIDER_STEPS = 12; // per doubling

class LiveSession {
  // page: window.actupPage.
  constructor(page) {
    this.page = page;
    this.panel = new LivePanel((name, body) => this.send(name, body), () => this.zoomIn());
    page.addPanel(this.panel.element);
    page.onSelection(() => this.selectionChanged());
    this.levels = []; // of the status: key and count
    this.shown = null; // the key of the level whose points are shown
    this.run = null;
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
    const ids = this.page.selection();
    if (ids.length >= 2) this.send("zoom", ids);
    else this.page.setStatus("Select points with the lasso first");
  }

  selectionChanged() {
    const ids = this.page.selection();
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

  // Keeps the newest frame while the ids of its level are fetched.
  async showFrame(frame) {
    this.newest = frame;
    if (this.fetching) return;
    if (frame.key !== this.shown) {
      this.fetching = true;
      await this.enterLevel(frame.key);
      this.fetching = false;
    }
    if (this.newest.key === this.shown) this.page.setPositions(this.newest.places);
    else this.showFrame(this.newest);
  }

  async enterLevel(key) {
    const depth = this.levels.findIndex((level) => level.key === key);
    let ids = null;
    if (depth > 0) {
      const response = await fetch(`level/${key}`).catch(() => null);
      if (response && response.ok) ids = new Uint32Array(await response.arrayBuffer());
    }
    if (ids || this.shown !== null) this.page.showOnly(ids);
    this.shown = key;
  }

  end() {
    this.panel.end();
    this.page.setStatus("The session has ended");
  }
}

function statusText({ state, stage, epoch, epochs, levels, message }) {
  const depth = levels.length > 1 ? `selection of ${levels.at(-1).count.toLocaleString("en")} points · ` : "";
  if (state === "running" && stage === "layout") return `${depth}epoch ${epoch} of ${epochs}`;
  if (state === "paused") return `${depth}paused at epoch ${epoch} of ${epochs}`;
  if (state === "running") return `${depth}${stage}`;
  return message || state;
}

window.actupPage.ready.then(() => new LiveSession(window.actupPage).stream.run());

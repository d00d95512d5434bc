// LivePanel: the buttons and sliders of a session.
"use strict";

const MAX_FACTOR_LOG2 = 3; // sliders reach from 1/8 to 8
const SLIDER_STEPS = 12; // per doubling

class LivePanel {
  // send(name, body): asks the server for something; zoomIn(): asks for a map of the selection.
  constructor(send, zoomIn) {
    this.send = send;
    this.element = document.createElement("section");
    this.element.className = "live";
    this.element.appendChild(document.createElement("h2")).textContent = "Live layout";
    this.buttons = {
      pause: this.button("Pause", () => send(this.running ? "pause" : "resume")),
      stop: this.button("Stop", () => send("stop")),
      zoomIn: this.button("Re-embed selection", zoomIn),
      zoomOut: this.button("Back", () => send("zoom_out")),
      end: this.button("End", () => send("end")),
    };
    this.progress = this.element.appendChild(document.createElement("progress"));
    this.sliders = {
      exaggeration: this.slider("exaggeration", "Exaggeration"),
      repulsion: this.slider("repulsion", "Repulsion"),
    };
    const row = this.element.appendChild(document.createElement("div"));
    row.className = "live-buttons";
    row.append(...Object.values(this.buttons));
    this.buttons.zoomIn.className = "live-main";
    this.showSelection(0);
  }

  button(text, act) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: text });
    button.addEventListener("click", act);
    return button;
  }

  // A factor from 1/8 to 8, with 1 in the middle.
  slider(name, text) {
    const label = this.element.appendChild(document.createElement("label"));
    const input = document.createElement("input");
    const value = document.createElement("output");
    Object.assign(input, { type: "range", min: -MAX_FACTOR_LOG2, max: MAX_FACTOR_LOG2, step: 1 / SLIDER_STEPS, value: 0 });
    input.dataset.factor = name;
    label.append(text, input, value);
    const show = () => (value.textContent = `× ${(2 ** input.value).toFixed(2)}`);
    input.addEventListener("input", () => {
      show();
      this.sendFactor(name, 2 ** input.value);
    });
    show();
    return { input, show };
  }

  // Sends one factor at a time: a slider that moves faster than the server answers skips values.
  async sendFactor(name, factor) {
    this.waiting = { ...this.waiting, [name]: factor };
    if (this.sending) return;
    this.sending = true;
    while (this.waiting) {
      const factors = this.waiting;
      this.waiting = null;
      await this.send("steer", JSON.stringify(factors));
    }
    this.sending = false;
  }

  showStatus(status) {
    this.running = status.state === "running";
    this.canZoom = status.levels.length > 0;
    this.buttons.pause.textContent = this.running ? "Pause" : "Continue";
    this.buttons.stop.disabled = !(this.running || status.state === "paused");
    this.buttons.zoomOut.disabled = status.levels.length < 2;
    this.progress.value = status.fraction ?? 0;
    for (const [name, { input, show }] of Object.entries(this.sliders)) {
      if (document.activeElement === input) continue; // it is being moved
      input.value = Math.log2(status[name] || 2 ** -MAX_FACTOR_LOG2);
      show();
    }
    this.showSelection(this.selected);
  }

  showSelection(count) {
    this.selected = count;
    this.buttons.zoomIn.disabled = !this.canZoom || count < 2;
    this.buttons.zoomIn.textContent = count ? `Re-embed ${count.toLocaleString("en")} points` : "Re-embed selection";
  }

  end() {
    for (const control of this.element.querySelectorAll("button, input")) control.disabled = true;
    this.progress.hidden = true;
  }
}

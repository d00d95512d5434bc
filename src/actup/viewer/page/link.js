// The state of the page in its address: map, colours, camera, search and classes that are switched off.
"use strict";

const LINK_DELAY_MILLISECONDS = 250;
const MAX_LINKED_CLASSES = 50;

// Writes the state into the address, some time after the last change.
class Link {
  // state(): what to write, as [name, text] pairs.
  constructor(state) {
    this.state = state;
    this.written = location.hash;
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), LINK_DELAY_MILLISECONDS);
  }

  write() {
    clearTimeout(this.timer);
    const text = new URLSearchParams(this.state()).toString();
    this.written = text ? `#${text}` : "";
    try {
      history.replaceState(null, "", this.written || location.pathname + location.search);
    } catch {
      // A page inside another one may have no address of its own.
    }
  }
}

function readLink() {
  return new URLSearchParams(location.hash.slice(1));
}

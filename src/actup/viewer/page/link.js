// The state of the page in its address: map, colours, camera of a single map, search, classes that are off.
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

// Classes of the legend in the address, by name: under the key itself, or under "off-rest" and "only-rest" for the
// entries that stand for no class of their own (missing, all others), whose names a class may have too.
function linkedClasses(key, column, codes) {
  return [...codes].slice(0, MAX_LINKED_CLASSES).map((code) => [code < column.unnamed ? key : `${key}-rest`, column.names[code]]);
}

function readLinkedClasses(link, key, column) {
  const named = link.getAll(key).map((name) => column.names.slice(0, column.unnamed).indexOf(name));
  const rest = link.getAll(`${key}-rest`).map((name) => column.names.indexOf(name, column.unnamed));
  return [...named, ...rest].filter((code) => code >= 0);
}

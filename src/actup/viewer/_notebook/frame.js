// In a notebook's frame: tells the notebook which points are selected. widget.js listens.
"use strict";

function reportSelection(page) {
  page.onSelection(() => window.parent.postMessage({ actupSelection: page.selection() }, "*"));
}

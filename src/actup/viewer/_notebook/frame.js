// In a notebook's frame: tells the notebook which points are selected. widget.js listens.
"use strict";

window.actupPage.ready.then(() => {
  window.actupPage.onSelection((ids) => window.parent.postMessage({ actupSelection: ids }, "*"));
});

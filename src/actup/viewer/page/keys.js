// Keys of the page.
"use strict";

const PAN_PIXELS = 60;
const KEY_ZOOM = 1.3; // factor of one key press

// Handles a key; returns whether it was one of the page's.
function handleKey(page, event) {
  const { search } = page.elements;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return false;
  if (event.key === "Escape") page.clear();
  else if (event.target === search) {
    if (event.key !== "Enter") return false;
    page.searchNow();
    page.hoverNext(event.shiftKey ? -1 : 1);
  } else if (event.target.closest("select, input, textarea, summary")) return false;
  else if (event.key === "Enter" && event.target === page.stage) page.hoverNext(event.shiftKey ? -1 : 1);
  else return handleCommand(page, event);
  return true;
}

function handleCommand(page, event) {
  const zoom = (factor) => page.bar.views.forEach(({ camera }) => camera.zoomAroundMiddle(factor));
  const maps = page.data.maps.length;
  const arrow = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
  const letters = {
    t: () => page.setTheme(!page.dark),
    n: () => page.toggleNames(),
    l: () => page.toggleLasso(),
    s: () => maps > 1 && page.bar.setSideBySide(!page.bar.sideBySide),
    "+": () => zoom(KEY_ZOOM),
    "=": () => zoom(KEY_ZOOM),
    "-": () => zoom(1 / KEY_ZOOM),
    0: () => page.home(),
    "/": () => page.elements.search.focus(),
  };
  const command = letters[event.key.toLowerCase()];
  if (arrow && event.shiftKey) page.bar.views.forEach(({ camera }) => camera.pan(PAN_PIXELS * arrow[0], PAN_PIXELS * arrow[1]));
  else if (arrow && arrow[0] && maps > 1 && !page.bar.sideBySide) page.bar.show((page.bar.current - arrow[0] + maps) % maps);
  else if (command) command();
  else if (event.key >= "1" && event.key <= "9" && page.data.maps[event.key - 1] && !page.bar.sideBySide) page.bar.show(event.key - 1);
  else return false;
  return true;
}

// The panel about the maps: recipe, quality figures and whatever else was given, as plain text.
"use strict";

function showInfo(details, sections) {
  details.hidden = !sections.length;
  for (const [title, rows] of sections) {
    const heading = document.createElement("h2");
    heading.textContent = title;
    const list = document.createElement("dl");
    for (const [name, text] of rows) {
      const term = document.createElement("dt");
      term.textContent = name;
      const value = document.createElement("dd");
      value.textContent = text;
      list.append(term, value);
    }
    details.append(heading, list);
  }
}

// The tooltip: picture, class, texts and columns of one point, as plain text.
"use strict";

const MAX_SHOWN_LETTERS = 600; // of one field; the table that can be saved has all of them

class Tooltip {
  constructor(element, stage, data) {
    Object.assign(this, { element, stage, data });
    this.picture = element.querySelector("canvas");
    this.fields = element.querySelector("div");
    this.pictures = data.images ? new Pictures(data.images) : null;
    this.picture.hidden = !this.pictures;
  }

  hide() {
    this.element.hidden = true;
    this.point = -1;
  }

  // pinned: whether it stays, so that what has no room can be scrolled to.
  // column: the column of colours, whose class stands first; place(): where to put the tooltip once it has its size.
  fill(i, pinned, column, map, place) {
    this.point = i;
    this.fields.replaceChildren();
    this.element.scrollTop = 0;
    const isClass = column && column.kind === "classes";
    if (isClass) this.add("strong", "", column.text(i, map));
    this.data.texts.forEach((texts, k) => {
      const repeated = isClass && texts.name === column.name && texts.of(i) === column.text(i, map);
      if (!repeated) this.add(isClass || k ? "span" : "strong", texts.name, texts.of(i));
    });
    for (const other of columnsBesideTexts(this.data)) {
      if (!(isClass && other === column) && other.has(map)) this.add("span", other.name, other.text(i, map));
    }
    this.add("small", "", `#${i}`);
    this.element.hidden = false;
    this.element.classList.toggle("scrollable", pinned && this.element.scrollHeight > this.element.clientHeight);
    if (this.pictures) this.pictures.draw(i, this.picture).then(() => this.point === i && place());
    place();
  }

  add(kind, name, text) {
    if (!text) return;
    const line = document.createElement(kind);
    if (name) {
      const label = document.createElement("em");
      label.textContent = name;
      line.append(label);
    }
    const value = document.createElement("bdi");
    value.textContent = text.length > MAX_SHOWN_LETTERS ? `${text.slice(0, MAX_SHOWN_LETTERS)}…` : text;
    line.append(value);
    this.fields.append(line);
  }

  // Beside the pixel (x, y), inside the stage; on the left if what matters lies on the right. covered: a box of the
  // stage that the tooltip leaves free where there is room.
  placeAt(x, y, gap, preferLeft, covered) {
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const fitsLeft = x - gap - width > 4;
    const onLeft = (preferLeft && fitsLeft) || x + gap + width > this.stage.clientWidth - 4;
    const left = Math.max(4, Math.min(onLeft ? x - gap - width : x + gap, this.stage.clientWidth - width - 4));
    // Where it fits on neither side, as on a phone, it stands above or below the point.
    const covers = left < x + gap && left + width > x - gap;
    const wanted = covers ? (y - gap - height > 4 ? y - gap - height : y + gap) : y - height / 2;
    const top = Math.max(4, Math.min(wanted, this.stage.clientHeight - height - 4));
    const places = [[left, top], [covered[0] - width - 4, top], [left, covered[1] - height - 4]];
    const isFree = ([l, t]) => {
      const box = [l, t, l + width, t + height];
      return l >= 4 && t >= 4 && !overlaps(box, covered) && !overlaps(box, [x - 4, y - 4, x + 4, y + 4]);
    };
    const [shownLeft, shownTop] = places.find(isFree) || places[0];
    this.element.style.transform = `translate(${Math.round(shownLeft)}px, ${Math.round(shownTop)}px)`;
  }
}

// Pictures of the points: small tiles of larger sheets, which are decoded when first needed.
"use strict";

const SHOWN_PICTURE_PIXELS = 96;

class Pictures {
  constructor(description) {
    Object.assign(this, description);
    this.loaded = new Map();
  }

  async draw(i, canvas) {
    const sheet = Math.floor(i / this.per_sheet);
    if (!this.loaded.has(sheet)) {
      const element = document.getElementById(`sheet-${sheet}`);
      const image = new Image();
      image.src = `data:image/png;base64,${element.textContent}`;
      element.remove();
      this.loaded.set(sheet, image.decode().then(() => image));
    }
    const image = await this.loaded.get(sheet);
    const place = i % this.per_sheet;
    const scale = Math.max(1, Math.round(SHOWN_PICTURE_PIXELS / Math.max(this.width, this.height)));
    canvas.width = this.width;
    canvas.height = this.height;
    canvas.style.width = `${this.width * scale}px`;
    canvas.style.height = `${this.height * scale}px`;
    const x = (place % this.columns) * this.width;
    const y = Math.floor(place / this.columns) * this.height;
    canvas.getContext("2d").drawImage(image, x, y, this.width, this.height, 0, 0, this.width, this.height);
  }
}

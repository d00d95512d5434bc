// Texts of the points, one field of the tooltip each: one long string, and where each point's text ends.
"use strict";

class Texts {
  constructor(name, text, lengths) {
    this.name = name;
    this.text = text;
    this.ends = new Uint32Array(lengths.length);
    let end = 0;
    for (let i = 0; i < lengths.length; i++) this.ends[i] = end += lengths[i];
  }

  static async unpack(packed) {
    return new Texts(packed.name, await unpackText(packed.text), await unpackArray(packed.lengths));
  }

  of(i) {
    return this.text.slice(i ? this.ends[i - 1] : 0, this.ends[i]);
  }

  // Sets matches[i] = 1 for each text that contains the query, which is in lower case.
  search(query, matches) {
    const lower = this.text.toLowerCase();
    if (lower.length !== this.text.length) return this.searchOneByOne(query, matches);
    let i = 0;
    for (let at = lower.indexOf(query); at >= 0; at = lower.indexOf(query, at)) {
      while (this.ends[i] <= at) i++;
      const inside = at + query.length <= this.ends[i];
      if (inside) matches[i] = 1;
      at = inside ? this.ends[i] : at + 1;
    }
    return undefined;
  }

  // A few letters change their number of characters in lower case: the ends would not fit.
  searchOneByOne(query, matches) {
    for (let i = 0; i < this.ends.length; i++) if (this.of(i).toLowerCase().includes(query)) matches[i] = 1;
  }
}

// Columns that are not among the texts too, where each point's value is written in full.
function columnsBesideTexts({ columns, texts }) {
  const named = new Set(texts.map(({ name }) => name));
  return columns.filter(({ name }) => !named.has(name));
}

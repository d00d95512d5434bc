// Reads the data of the page: a small JSON description, and packed arrays that it refers to by number.
"use strict";

async function readData() {
  const element = document.getElementById("data");
  const packed = JSON.parse(element.textContent);
  const order = new Order(packed.count, packed.hidden);
  const data = { count: packed.count, title: packed.title, order, images: packed.images, info: packed.info, sequence: packed.sequence, sideBySide: packed.sideBySide };
  data.maps = packed.maps.map((map) => new PointMap(map, order));
  await data.maps[0].load();
  data.columns = [];
  for (const column of packed.columns) data.columns.push(await unpackColumn(column));
  data.firstColumn = data.columns[packed.firstColumn] || null;
  data.layers = [];
  for (const layer of packed.layers) data.layers.push({ names: layer.names, codes: await unpackArray(layer.codes) });
  data.texts = [];
  for (const texts of packed.texts) data.texts.push(await Texts.unpack(texts));
  data.neighbors = packed.neighbors && { width: packed.neighbors.width, ids: await unpackArray(packed.neighbors.ids) };
  return data;
}

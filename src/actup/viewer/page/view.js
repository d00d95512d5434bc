// One view of the stage: which map it shows, or which two maps it morphs between, and its camera.
"use strict";

class View {
  constructor(map, changed) {
    this.camera = new Camera(changed);
    this.showMap(map);
  }

  // map and next: the maps between which the points are; share: how far they are on the way.
  showMap(map, next = map, share = 0) {
    Object.assign(this, { map, next, share, passing: null });
    this.followFrame();
  }

  // Starts a morph where the points are now, even in the middle of another one.
  morphFrom(next) {
    const { here, there, share } = this.positions();
    const begin = share === 0 ? here : Float32Array.from(here, (value, k) => value + share * (there[k] - value));
    const frame = this.blendedFrame();
    const shown = this.shownMap;
    Object.assign(this, { map: shown, next, share: 0, passing: { begin, frame } });
  }

  advance(share) {
    this.share = share;
    if (share >= 1) this.showMap(this.next);
    else this.followFrame();
  }

  get morphing() {
    return this.map !== this.next && this.share > 0 && this.share < 1;
  }

  // The map whose name, caption and values count.
  get shownMap() {
    return this.share < 0.5 ? this.map : this.next;
  }

  positions() {
    const here = this.passing ? this.passing.begin : this.map.positions;
    const version = this.map.version + 65536 * this.next.version;
    return { here, there: this.next.positions, share: this.share, version };
  }

  // Position of a point in view units, also in the middle of a morph.
  place(slot) {
    const { here, there, share } = this.positions();
    return [0, 1].map((axis) => here[2 * slot + axis] + share * (there[2 * slot + axis] - here[2 * slot + axis]));
  }

  blendedFrame() {
    const from = this.passing ? this.passing.frame : { box: this.map.frame.box, occupied: this.map.occupied, reach: this.map.reach };
    const mix = (a, b) => a + this.share * (b - a);
    return {
      box: from.box.map((value, axis) => mix(value, this.next.frame.box[axis])),
      occupied: mix(from.occupied, this.next.occupied),
      reach: Math.max(from.reach, this.next.reach),
    };
  }

  followFrame() {
    const frame = this.blendedFrame();
    this.camera.frame = frame.box;
    this.camera.reach = frame.reach;
    this.occupied = frame.occupied;
  }

  look(count) {
    const { camera, map } = this;
    const known = map.grid && !this.passing && this.share === 0 && camera.zoom > 1.5;
    const density = known ? map.grid.countIn(camera.bounds) / (camera.box.width * camera.box.height) : 0;
    return pointLook(this.occupied * camera.fit ** 2, count, camera.zoom, density);
  }
}

// All dots of the map, written straight into pixels: quick on any machine, with and without a GPU.
// 100,000 of them take about 5 ms at one pixel for each of the page's (python -m benchmarks.frames).
import { OTHER } from "./looks.js";

export class Dots {
  // They have a canvas of their own, below the one with the names, and as coarse as is wanted.
  constructor(canvas, x, y) {
    Object.assign(this, { canvas, x, y, context: canvas.getContext("2d") });
  }

  // Dots by group, the largest first, so that small groups lie above; what is filtered lies below.
  order(groups, shows) {
    this.parts = [];
    const members = Array.from({ length: OTHER + 1 }, () => []);
    groups.forEach((group, n) => members[group].push(n));
    for (const shown of [false, true]) {
      for (const group of [OTHER, ...Array(OTHER).keys()]) {
        if (members[group].length && shows(group) === shown) {
          this.parts.push({ group, shown, members: Int32Array.from(members[group]) });
        }
      }
    }
  }

  // Where two overlap, the one that covers more of the pixel is seen.
  paint(looks, { width, height, ratio, across, down, left, top, radius, opacity }) {
    const wide = Math.round(width * ratio);
    const high = Math.round(height * ratio);
    if (this.image?.width !== wide || this.image?.height !== high) {
      this.image = new ImageData(wide, high);
      this.pixels = new Uint32Array(this.image.data.buffer);
      Object.assign(this.canvas, { width: wide, height: high });
    }
    const { pixels, x, y } = this;
    pixels.fill(0);
    for (const { group, shown, members } of this.parts) {
      const { offsets, covers, reach } = looks.stamp(group, radius * ratio, wide);
      const color = looks.pixel(shown ? group : OTHER);
      const strength = shown ? opacity : 0.12 * opacity;
      const inks = Uint32Array.from(covers, (cover) => ((Math.round(cover * strength) << 24) | color) >>> 0);
      const [a, b, c, d] = [across * ratio, left * ratio + 0.5, down * ratio, top * ratio + 0.5];
      const [farthest, lowest, size] = [wide - reach, high - reach, offsets.length];
      for (let m = 0; m < members.length; m++) {
        const n = members[m];
        const column = (x[n] * a + b) | 0;
        const row = (y[n] * c + d) | 0;
        if (column < reach || row < reach || column >= farthest || row >= lowest) continue;
        const middle = row * wide + column;
        for (let k = 0; k < size; k++) {
          const at = middle + offsets[k];
          if (inks[k] >>> 24 >= pixels[at] >>> 24) pixels[at] = inks[k];
        }
      }
    }
    this.context.putImageData(this.image, 0, 0);
  }
}

// Colors and shapes of groups, as palette.css has them: color is never the only difference.

export const OTHER = 9; // the group of all that have none, or a small one

export class Looks {
  constructor() {
    const style = getComputedStyle(document.documentElement);
    this.color = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colors = Array.from({ length: OTHER + 1 }, (_, n) => this.color(`g${n}`));
    this.shapes = this.colors.map((_, n) => new Path2D(shapeOf(n, style)));
  }

  // A color as a pixel has it, without its opacity.
  pixel(group) {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(this.colors[group].slice(at, at + 2), 16));
    return (blue << 16) | (green << 8) | red;
  }

  // A group's mark around a point of a canvas.
  mark(context, group, x, y, radius) {
    context.save();
    context.translate(x, y);
    context.scale(radius, radius);
    context.fill(this.shapes[group]);
    context.restore();
  }

  // The pixels of a mark around its middle, and how much of each it covers, 0 to 255.
  stamp(group, radius, width) {
    const key = `${radius}:${width}`;
    if (this.key !== key) Object.assign(this, { key, stamps: [] });
    this.stamps[group] ??= this.rasterized(group, radius, width);
    return this.stamps[group];
  }

  rasterized(group, radius, width) {
    const reach = Math.ceil(1.45 * radius + 0.5);
    const size = 2 * reach + 1;
    const canvas = Object.assign(document.createElement("canvas"), { width: size, height: size });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    this.mark(context, group, reach + 0.5, reach + 0.5, radius);
    const { data } = context.getImageData(0, 0, size, size);
    const offsets = [];
    const covers = [];
    for (let y = -reach; y <= reach; y++) {
      for (let x = -reach; x <= reach; x++) {
        const cover = data[4 * ((reach + y) * size + reach + x) + 3];
        if (cover > 0) {
          offsets.push(y * width + x);
          covers.push(cover);
        }
      }
    }
    return { offsets: Int32Array.from(offsets), covers, reach };
  }
}

function shapeOf(group, style = getComputedStyle(document.documentElement)) {
  return style.getPropertyValue(`--s${group}`).trim().replaceAll(/^["']|["']$/g, "");
}

// A group's mark beside a name; that of a node changes with the legend.
export function swatch(group, node = null) {
  const space = "http://www.w3.org/2000/svg";
  const drawn = document.createElementNS(space, "svg");
  const path = document.createElementNS(space, "path");
  for (const [name, value] of [["viewBox", "-1.5 -1.5 3 3"], ["class", "swatch"], ["aria-hidden", "true"]]) {
    drawn.setAttribute(name, value);
  }
  drawn.append(path);
  if (node !== null) drawn.dataset.node = node;
  return paint(drawn, group);
}

function paint(drawn, group) {
  drawn.firstChild.setAttribute("d", shapeOf(group));
  drawn.firstChild.style.fill = `var(--g${group})`;
  return drawn;
}

// All marks of nodes, and the names of their groups, as the map has them now.
export function repaint(map) {
  for (const drawn of document.querySelectorAll("svg.swatch[data-node]")) paint(drawn, map.group(drawn.dataset.node));
  for (const name of document.querySelectorAll("[data-group-of]")) name.textContent = map.groupName(name.dataset.groupOf);
}

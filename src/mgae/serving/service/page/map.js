// The map: dots on a canvas, with the chosen one, what it is tied to, and names.
import { Dots } from "./dots.js";
import { listen } from "./gestures.js";
import { arrange } from "./labels.js";
import { Looks, OTHER } from "./looks.js";

const SCALE = 65535;
const MARGIN = 36;
const MOST_ZOOM = 400;
const CELLS = 128;
const MANY = 20_000; // dots that are drawn coarser while they move
const STILL = 150; // milliseconds without a movement
const MOST_NAMED = 12;

export class NodeMap {
  constructor(canvas, tip, pick) {
    Object.assign(this, { canvas, tip, pick, context: canvas.getContext("2d") });
    Object.assign(this, { count: 0, indices: new Map(), view: { x: 0.5, y: 0.5, zoom: 1 } });
    Object.assign(this, { names: [], filter: new Set(), frames: 0, labels: [] });
    this.choose(-1, null);
    this.hovered = -1;
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolor());
    this.looks = new Looks();
    listen(this);
  }

  load(data) {
    this.data = data;
    this.count = data.nodes.length;
    this.x = Float32Array.from(data.x, (value) => value / SCALE);
    this.y = Float32Array.from(data.y, (value) => 1 - value / SCALE);
    this.indices = new Map(data.nodes.map((id, n) => [String(id), n]));
    this.cells = Array.from({ length: CELLS * CELLS }, () => []);
    for (let n = 0; n < this.count; n++) this.cells[this.cell(this.x[n], this.y[n])].push(n);
    this.dots = new Dots(this.canvas.previousElementSibling, this.x, this.y);
    this.color(data.group, data.groups);
  }

  // Color by groups [count], -1 for those of no group; without a filter all of them are shown.
  color(groups, names) {
    this.groups = Uint8Array.from(groups, (group) => (group < 0 ? OTHER : group));
    this.names = names;
    this.show(new Set());
  }

  show(filter) {
    this.filter = filter;
    this.dots?.order(this.groups, (group) => this.shows(group));
    this.unhover();
    this.draw();
  }

  shows(group) {
    return !this.filter.size || this.filter.has(group);
  }

  indexOf(id) {
    return this.indices.get(String(id)) ?? -1;
  }

  title(n) {
    return this.data.titles?.[n] ?? String(this.data.nodes[n]);
  }

  // What is said of a dot: its title, its group, and the attributes that were kept for that.
  about(n) {
    const values = Object.values(this.data.attributes).map((column) => column[n]);
    const group = this.names[this.groups[n]];
    return [...new Set([this.title(n), group, ...values])].filter(Boolean).join(" · ");
  }

  group(id) {
    return this.groups?.[this.indexOf(id)] ?? OTHER;
  }

  groupName(id) {
    return this.names[this.group(id)] ?? (this.indexOf(id) < 0 ? "" : "other");
  }

  // What is chosen, and what it is tied to; the view moves only if some of it is out of sight.
  // Of a pair the other end is one of the links, and the neighbors are tied to both.
  select(id, neighbors = [], links = [], other = null) {
    const n = id === null ? -1 : this.indexOf(id);
    this.choose(n, n < 0 ? null : [this.x[n], this.y[n]], neighbors, links, other);
    if (n >= 0) this.reveal(n);
    this.draw();
  }

  // A node that is not on the map stands in the middle of its neighbors.
  selectNew(neighbors, links) {
    const ends = this.known(neighbors.length ? neighbors : links);
    const mean = (values) => ends.reduce((sum, n) => sum + values[n], 0) / ends.length;
    this.choose(-1, ends.length ? [mean(this.x), mean(this.y)] : null, neighbors, links);
    this.draw();
  }

  choose(selected, center, neighbors = [], links = [], other = null) {
    Object.assign(this, { selected, center, neighbors: this.known(neighbors), links: this.known(links) });
    this.other = other === null ? -1 : this.indexOf(other);
  }

  known(ids) {
    return ids.map((id) => this.indexOf(id)).filter((n) => n >= 0);
  }

  reveal(n) {
    const [x, y] = this.screen(n);
    const inside = x > MARGIN && y > MARGIN && x < this.width - MARGIN && y < this.height - MARGIN;
    if (!inside) Object.assign(this.view, { x: this.x[n], y: this.y[n] });
  }

  cell(x, y) {
    const at = (value) => Math.min(CELLS - 1, Math.max(0, Math.floor(value * CELLS)));
    return at(y) * CELLS + at(x);
  }

  get scale() {
    const { zoom } = this.view;
    return [(this.width - 2 * MARGIN) * zoom, (this.height - 2 * MARGIN) * zoom];
  }

  at(x, y) {
    const [across, down] = this.scale;
    return [(x - this.view.x) * across + this.width / 2, (y - this.view.y) * down + this.height / 2];
  }

  screen(n) {
    return this.at(this.x[n], this.y[n]);
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paint();
  }

  recolor() {
    this.looks = new Looks();
    this.draw();
  }

  draw() {
    this.waiting ??= requestAnimationFrame(() => this.paint());
  }

  // Many dots are drawn coarser on a fine screen until they rest.
  moves() {
    if (this.count > MANY && window.devicePixelRatio > 1) {
      clearTimeout(this.resting);
      this.resting = setTimeout(() => { this.resting = undefined; this.draw(); }, STILL);
    }
    this.unhover();
    this.draw();
  }

  paint() {
    cancelAnimationFrame(this.waiting);
    this.waiting = undefined;
    if (!this.count || !this.width) return;
    const { width, height, view, looks } = this;
    const [across, down] = this.scale;
    const quiet = this.center !== null;
    this.dots.paint(looks, {
      width, height, across, down, radius: this.radius, opacity: quiet ? 0.32 : 0.88,
      ratio: this.resting === undefined ? window.devicePixelRatio || 1 : 1,
      left: width / 2 - view.x * across, top: height / 2 - view.y * down,
    });
    this.context.clearRect(0, 0, width, height);
    this.labels = [];
    if (quiet) this.paintChosen();
    if (this.hovered >= 0) this.ring(...this.screen(this.hovered), this.radius + 3, "ink", 1.5);
    this.frames += 1;
  }

  get radius() {
    const crowd = Math.sqrt((this.width * this.height) / Math.max(this.count, 1));
    return Math.min(7, Math.max(this.count > MANY ? 1.3 : 1.6, 0.11 * crowd * Math.sqrt(this.view.zoom)));
  }

  paintChosen() {
    const center = this.at(...this.center);
    this.lines(center, this.neighbors, "link", 1.2, []);
    this.lines(center, this.links, "main", 1.6, [5, 4]);
    if (this.other >= 0) this.lines(this.screen(this.other), this.neighbors, "link", 1.2, []);
    for (const n of this.neighbors) this.solid(n, this.radius + 1);
    for (const n of this.links) {
      this.solid(n, this.radius + 1.5);
      this.ring(...this.screen(n), this.radius + 4, "main", 1.5);
    }
    if (this.selected >= 0) this.solid(this.selected, this.radius + 3);
    this.ring(...center, this.radius + 6, "ink", 2.2);
    this.paintLabels(center);
  }

  lines(from, ends, color, width, dash) {
    const { context } = this;
    context.beginPath();
    for (const n of ends) {
      context.moveTo(...from);
      context.lineTo(...this.screen(n));
    }
    Object.assign(context, { strokeStyle: this.looks.color(color), lineWidth: width });
    context.globalAlpha = Math.min(1, Math.max(0.25, 12 / (ends.length + 1)));
    context.setLineDash(dash);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  solid(n, radius) {
    this.context.fillStyle = this.looks.colors[this.groups[n]];
    this.looks.mark(this.context, this.groups[n], ...this.screen(n), radius);
  }

  ring(x, y, radius, color, width) {
    Object.assign(this.context, { strokeStyle: this.looks.color(color), lineWidth: width });
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 7);
    this.context.stroke();
  }

  // The chosen node's name, then those of recommended nodes and of a few neighbors.
  paintLabels([x, y]) {
    const ties = [...this.links, ...(this.neighbors.length <= MOST_NAMED ? this.neighbors : [])];
    const dot = (n, radius) => ({ n, x: this.screen(n)[0], y: this.screen(n)[1], radius });
    const marked = [
      { n: this.selected, x, y, radius: this.radius + 7 },
      ...this.links.map((n) => dot(n, this.radius + 5)),
      ...this.neighbors.slice(0, 400).map((n) => dot(n, this.radius + 1)),
    ];
    const named = marked.filter(({ n }, first) => first === 0 || ties.slice(0, 2 * MOST_NAMED).includes(n));
    const wanted = named.map((one, first) => this.measured(one, first === 0));
    this.labels = arrange(wanted, marked, this.overlays, this.width, this.height);
    for (const label of this.labels) this.write(label);
  }

  // What lies over the canvas: a name under it could not be read.
  get overlays() {
    const { left, top } = this.canvas.getBoundingClientRect();
    const boxes = [...this.canvas.parentElement.querySelectorAll("#legend, .tools, #map-note")].map((one) => one.getBoundingClientRect());
    return boxes.map((box) => ({ left: box.left - left, top: box.top - top, width: box.width, height: box.height }));
  }

  measured(dot, first) {
    const name = dot.n < 0 ? "new" : this.title(dot.n);
    const text = name.length > 40 ? `${name.slice(0, 39)}…` : name;
    const font = `${first ? "600 14px" : "12.5px"} system-ui, "Noto Sans", "DejaVu Sans", sans-serif`;
    this.context.font = font;
    return { ...dot, text, font, width: this.context.measureText(text).width + 4, height: first ? 18 : 16 };
  }

  write({ text, font, left, top, height }) {
    const { context } = this;
    Object.assign(context, { font, strokeStyle: this.looks.color("ground"), lineWidth: 4, lineJoin: "round", textAlign: "left", textBaseline: "middle" });
    context.strokeText(text, left + 2, top + height / 2);
    context.fillStyle = this.looks.color("ink");
    context.fillText(text, left + 2, top + height / 2);
  }

  // The nearest dot to a point of the canvas, within a finger's width.
  nearest(x, y, reach) {
    const [across, down] = this.scale;
    const u = (x - this.width / 2) / across + this.view.x;
    const v = (y - this.height / 2) / down + this.view.y;
    const at = (value) => Math.min(CELLS - 1, Math.max(0, Math.floor(value * CELLS)));
    let best = -1;
    let least = reach * reach;
    for (let row = at(v - reach / down); row <= at(v + reach / down); row++) {
      for (let column = at(u - reach / across); column <= at(u + reach / across); column++) {
        for (const n of this.cells[row * CELLS + column]) {
          const [dx, dy] = [(this.x[n] - u) * across, (this.y[n] - v) * down];
          const distance = dx * dx + dy * dy;
          if (distance < least && this.shows(this.groups[n])) [best, least] = [n, distance];
        }
      }
    }
    return best;
  }

  hover(x, y, reach) {
    const n = this.count ? this.nearest(x, y, reach) : -1;
    this.canvas.classList.toggle("pointing", n >= 0);
    this.tip.hidden = n < 0;
    if (n >= 0) {
      const [middle, bottom] = this.screen(n);
      this.tip.textContent = this.about(n);
      const half = this.tip.offsetWidth / 2;
      const left = Math.min(this.width - half - 4, Math.max(half + 4, middle));
      const below = bottom < 44;
      this.tip.classList.toggle("below", below);
      Object.assign(this.tip.style, { left: `${left}px`, top: `${bottom}px` });
    }
    if (n !== this.hovered) {
      this.hovered = n;
      this.draw();
    }
  }

  unhover() {
    this.hovered = -1;
    this.tip.hidden = true;
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const before = this.scale;
    const zoom = Math.min(MOST_ZOOM, Math.max(0.6, this.view.zoom * factor));
    const after = before.map((value) => (value / this.view.zoom) * zoom);
    this.view.x += (x - this.width / 2) * (1 / before[0] - 1 / after[0]);
    this.view.y += (y - this.height / 2) * (1 / before[1] - 1 / after[1]);
    this.view.zoom = zoom;
    this.moves();
  }

  pan(dx, dy) {
    const [across, down] = this.scale;
    const kept = (value) => Math.min(1.2, Math.max(-0.2, value));
    this.view.x = kept(this.view.x - dx / across);
    this.view.y = kept(this.view.y - dy / down);
    this.moves();
  }

  all() {
    this.view = { x: 0.5, y: 0.5, zoom: 1 };
    this.moves();
  }

  // Show the chosen node with all that it is tied to, as large as that goes.
  neighborhood() {
    if (this.center === null) return this.all();
    const members = [...this.neighbors, ...this.links];
    const spans = [["x", this.width], ["y", this.height]].map(([axis, length], n) => {
      const values = [this.center[n], ...members.map((m) => this[axis][m])];
      const [low, high] = [Math.min(...values), Math.max(...values)];
      return { middle: (low + high) / 2, zoom: (length - 4 * MARGIN) / ((length - 2 * MARGIN) * Math.max(high - low, 1e-4)) };
    });
    const zoom = Math.min(MOST_ZOOM, Math.max(0.6, Math.min(...spans.map((span) => span.zoom))));
    this.view = { x: spans[0].middle, y: spans[1].middle, zoom };
    return this.moves();
  }
}

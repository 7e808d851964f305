// The map: dots on a canvas, moved and zoomed by pointer, wheel, fingers and keys.

const SCALE = 65535;
const MARGIN = 36;
const MOST_ZOOM = 400;
const CELLS = 64;

export class NodeMap {
  constructor(canvas, tip, pick) {
    Object.assign(this, { canvas, tip, pick, context: canvas.getContext("2d") });
    Object.assign(this, { count: 0, places: new Map(), view: { x: 0.5, y: 0.5, zoom: 1 } });
    Object.assign(this, { selected: -1, neighbors: [], links: [], hovered: -1, pointers: new Map() });
    this.frames = 0;
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolor());
    this.listen();
    this.recolor();
  }

  load(data) {
    this.data = data;
    this.count = data.nodes.length;
    this.x = Float32Array.from(data.x, (value) => value / SCALE);
    this.y = Float32Array.from(data.y, (value) => 1 - value / SCALE);
    data.nodes.forEach((id, n) => this.places.set(String(id), n));
    this.cells = Array.from({ length: CELLS * CELLS }, () => []);
    for (let n = 0; n < this.count; n++) this.cells[this.cell(this.x[n], this.y[n])].push(n);
    this.draw();
  }

  place(id) {
    return this.places.get(String(id)) ?? -1;
  }

  title(n) {
    return this.data.titles?.[n] ?? String(this.data.nodes[n]);
  }

  // What is said of a dot: its title, and the attributes that were kept for that.
  about(n) {
    const values = Object.values(this.data.attributes).map((column) => column[n]);
    return [this.title(n), ...values.filter(Boolean)].join(" · ");
  }

  group(id) {
    return this.data?.group[this.place(id)] ?? -1;
  }

  // What is chosen, and what it is tied to; the view moves only if some of it is out of sight.
  select(id, neighbors = [], links = []) {
    const known = (ids) => ids.map((other) => this.place(other)).filter((n) => n >= 0);
    this.selected = id === null ? -1 : this.place(id);
    this.neighbors = known(neighbors);
    this.links = known(links);
    if (this.selected >= 0) this.reveal(this.selected);
    this.draw();
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

  screen(n) {
    const [across, down] = this.scale;
    return [
      (this.x[n] - this.view.x) * across + this.width / 2,
      (this.y[n] - this.view.y) * down + this.height / 2,
    ];
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
    const style = getComputedStyle(document.documentElement);
    this.color = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colors = Array.from({ length: 10 }, (_, n) => this.color(`g${n}`));
    this.paints = this.colors.map((hex) => {
      const [red, green, blue] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
      return (blue << 16) | (green << 8) | red;
    });
    this.draw();
  }

  draw() {
    this.waiting ??= requestAnimationFrame(() => this.paint());
  }

  paint() {
    cancelAnimationFrame(this.waiting);
    this.waiting = undefined;
    if (!this.count || !this.width) return;
    const quiet = this.selected >= 0;
    this.paintDots(quiet ? 0.32 : 0.88);
    if (quiet) this.paintSelected();
    if (this.hovered >= 0) this.ring(this.hovered, this.radius + 3, this.color("ink"), 1.5);
    this.frames += 1;
  }

  get radius() {
    const crowd = Math.sqrt((this.width * this.height) / Math.max(this.count, 1));
    return Math.min(7, Math.max(1.6, 0.11 * crowd * Math.sqrt(this.view.zoom)));
  }

  // Dots are written straight into the pixels, which takes a few milliseconds for 20,000 of them
  // on any machine; where two overlap, the one that covers more of the pixel is seen.
  paintDots(opacity) {
    const { canvas, context, view, data } = this;
    const ratio = window.devicePixelRatio || 1;
    const { width, height } = canvas;
    if (this.image?.width !== width || this.image?.height !== height) {
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.fill(0);
    const { offsets, covers, reach } = this.stamp(this.radius * ratio, width);
    const alphas = Uint32Array.from(covers, (cover) => Math.round(cover * opacity) << 24);
    const across = this.scale[0] * ratio;
    const down = this.scale[1] * ratio;
    const left = width / 2 - view.x * across;
    const top = height / 2 - view.y * down;
    for (let n = 0; n < this.count; n++) {
      const x = Math.round(this.x[n] * across + left);
      const y = Math.round(this.y[n] * down + top);
      if (x < reach || y < reach || x >= width - reach || y >= height - reach) continue;
      const color = this.paints[data.group[n] < 0 ? 9 : data.group[n]];
      const middle = y * width + x;
      for (let k = 0; k < offsets.length; k++) {
        const place = middle + offsets[k];
        if (alphas[k] >= (this.pixels[place] & 0xff000000) >>> 0) this.pixels[place] = alphas[k] | color;
      }
    }
    context.putImageData(this.image, 0, 0);
  }

  // The pixels of a dot around its middle, and how much of each it covers, 0 to 255.
  stamp(radius, width) {
    const reach = Math.ceil(radius + 0.5);
    const offsets = [];
    const covers = [];
    for (let y = -reach; y <= reach; y++) {
      for (let x = -reach; x <= reach; x++) {
        const cover = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x, y)));
        if (cover > 0) {
          offsets.push(y * width + x);
          covers.push(255 * cover);
        }
      }
    }
    return { offsets: Int32Array.from(offsets), covers, reach };
  }

  paintSelected() {
    this.lines(this.neighbors, this.color("link"), 1.2, []);
    this.lines(this.links, this.color("main"), 1.6, [5, 4]);
    for (const n of this.neighbors) this.solid(n, this.radius + 1);
    for (const n of this.links) {
      this.solid(n, this.radius + 1.5);
      this.ring(n, this.radius + 4, this.color("main"), 1.5);
    }
    this.solid(this.selected, this.radius + 3);
    this.ring(this.selected, this.radius + 6, this.color("ink"), 2.2);
    this.label(this.selected);
  }

  lines(ends, color, width, dash) {
    const { context } = this;
    const [x, y] = this.screen(this.selected);
    context.beginPath();
    for (const n of ends) {
      context.moveTo(x, y);
      context.lineTo(...this.screen(n));
    }
    Object.assign(context, { strokeStyle: color, lineWidth: width });
    context.globalAlpha = Math.min(1, Math.max(0.25, 12 / (ends.length + 1)));
    context.setLineDash(dash);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  solid(n, radius) {
    const group = this.data.group[n];
    this.context.fillStyle = this.colors[group < 0 ? 9 : group];
    this.context.beginPath();
    this.context.arc(...this.screen(n), radius, 0, 7);
    this.context.fill();
  }

  ring(n, radius, color, width) {
    Object.assign(this.context, { strokeStyle: color, lineWidth: width });
    this.context.beginPath();
    this.context.arc(...this.screen(n), radius, 0, 7);
    this.context.stroke();
  }

  label(n) {
    const { context } = this;
    const [x, y] = this.screen(n);
    const id = this.title(n);
    const text = id.length > 40 ? `${id.slice(0, 39)}…` : id;
    context.font = '600 14px system-ui, "Noto Sans", "DejaVu Sans", sans-serif';
    const half = context.measureText(text).width / 2;
    const middle = Math.min(this.width - half - 8, Math.max(half + 8, x));
    const base = y - this.radius - 14 < 18 ? y + this.radius + 24 : y - this.radius - 14;
    Object.assign(context, { strokeStyle: this.color("ground"), lineWidth: 5, lineJoin: "round", textAlign: "center" });
    context.strokeText(text, middle, base);
    context.fillStyle = this.color("ink");
    context.fillText(text, middle, base);
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
          if (dx * dx + dy * dy < least) [best, least] = [n, dx * dx + dy * dy];
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
      const [left, top] = this.screen(n);
      this.tip.textContent = this.about(n);
      Object.assign(this.tip.style, { left: `${left}px`, top: `${top}px` });
    }
    if (n !== this.hovered) {
      this.hovered = n;
      this.draw();
    }
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const before = this.scale;
    const zoom = Math.min(MOST_ZOOM, Math.max(0.6, this.view.zoom * factor));
    const after = before.map((value) => (value / this.view.zoom) * zoom);
    this.view.x += (x - this.width / 2) * (1 / before[0] - 1 / after[0]);
    this.view.y += (y - this.height / 2) * (1 / before[1] - 1 / after[1]);
    this.view.zoom = zoom;
    this.unhover();
    this.draw();
  }

  pan(dx, dy) {
    const [across, down] = this.scale;
    const kept = (value) => Math.min(1.2, Math.max(-0.2, value));
    this.view.x = kept(this.view.x - dx / across);
    this.view.y = kept(this.view.y - dy / down);
    this.unhover();
    this.draw();
  }

  all() {
    this.view = { x: 0.5, y: 0.5, zoom: 1 };
    this.unhover();
    this.draw();
  }

  unhover() {
    this.hovered = -1;
    this.tip.hidden = true;
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => { this.unhover(); this.draw(); });
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 30 : 1;
      this.zoom(Math.exp(-0.0016 * event.deltaY * lines), event.offsetX, event.offsetY);
    }, { passive: false });
  }

  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    this.moved = this.pointers.size > 1 ? Infinity : 0;
  }

  move(event) {
    const at = [event.offsetX, event.offsetY];
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.hover(...at, 10);
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, at);
    this.moved += Math.hypot(at[0] - before[0], at[1] - before[1]);
    if (this.moved < 4) return;
    this.canvas.classList.add("dragging");
    if (other) {
      const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
      this.zoom(apart(at) / apart(before), (at[0] + other[0]) / 2, (at[1] + other[1]) / 2);
      this.pan((at[0] - before[0]) / 2, (at[1] - before[1]) / 2);
    } else {
      this.pan(at[0] - before[0], at[1] - before[1]);
    }
  }

  up(event) {
    this.pointers.delete(event.pointerId);
    this.canvas.classList.remove("dragging");
    if (this.moved >= 4 || !this.count) return;
    const reach = event.pointerType === "touch" ? 22 : 10;
    const n = this.nearest(event.offsetX, event.offsetY, reach);
    if (n >= 0) this.pick(this.data.nodes[n]);
  }

  key(event) {
    const step = 60;
    const actions = {
      ArrowLeft: () => this.pan(step, 0),
      ArrowRight: () => this.pan(-step, 0),
      ArrowUp: () => this.pan(0, step),
      ArrowDown: () => this.pan(0, -step),
      "+": () => this.zoom(1.4),
      "=": () => this.zoom(1.4),
      "-": () => this.zoom(1 / 1.4),
      0: () => this.all(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
    actions[event.key]();
    event.preventDefault();
  }
}

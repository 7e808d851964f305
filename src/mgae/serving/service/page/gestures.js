// Pointer, wheel, fingers and keys, as movements of a map.

export function listen(map) {
  const { canvas } = map;
  const pointers = new Map();
  let moved = 0;

  function down(event) {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    moved = pointers.size > 1 ? Infinity : 0;
  }

  function move(event) {
    const at = [event.offsetX, event.offsetY];
    const before = pointers.get(event.pointerId);
    if (!before) return map.hover(...at, 10);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    pointers.set(event.pointerId, at);
    moved += Math.hypot(at[0] - before[0], at[1] - before[1]);
    if (moved < 4) return;
    canvas.classList.add("dragging");
    if (other) {
      const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
      map.zoom(apart(at) / apart(before), (at[0] + other[0]) / 2, (at[1] + other[1]) / 2);
      map.pan((at[0] - before[0]) / 2, (at[1] - before[1]) / 2);
    } else {
      map.pan(at[0] - before[0], at[1] - before[1]);
    }
  }

  function up(event) {
    pointers.delete(event.pointerId);
    canvas.classList.remove("dragging");
    if (moved >= 4 || !map.count) return;
    const reach = event.pointerType === "touch" ? 22 : 10;
    const n = map.nearest(event.offsetX, event.offsetY, reach);
    if (n >= 0) map.pick(map.data.nodes[n]);
  }

  function key(event) {
    const step = 60;
    const actions = {
      ArrowLeft: () => map.pan(step, 0),
      ArrowRight: () => map.pan(-step, 0),
      ArrowUp: () => map.pan(0, step),
      ArrowDown: () => map.pan(0, -step),
      "+": () => map.zoom(1.4),
      "=": () => map.zoom(1.4),
      "-": () => map.zoom(1 / 1.4),
      0: () => map.all(),
      n: () => map.neighborhood(),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
    actions[event.key]();
    event.preventDefault();
  }

  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => { map.unhover(); map.draw(); });
  canvas.addEventListener("keydown", key);
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 30 : 1;
    map.zoom(Math.exp(-0.0016 * event.deltaY * lines), event.offsetX, event.offsetY);
  }, { passive: false });
}

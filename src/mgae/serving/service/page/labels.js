// Names beside dots, where they cover neither a dot that is marked nor another name.

const GAP = 6;
const DIRECTIONS = [[0, -1], [0, 1], [1, 0], [-1, 0], [1, -1], [-1, -1], [1, 1], [-1, 1]];

// Each wanted name has its dot (x, y, radius) and its size (width, height); the first ones matter
// most. Those with room come back with left and top; `taken` are boxes that leave none.
export function arrange(wanted, dots, taken, width, height) {
  const arranged = [];
  for (const [n, name] of wanted.entries()) {
    const ways = [1, 2.5].flatMap((far) => DIRECTIONS.map((way) => beside(name, way, far * GAP)));
    const inside = ways.filter((box) => box.left >= 4 && box.top >= 4
      && box.left + box.width <= width - 4 && box.top + box.height <= height - 4);
    const free = inside.find((box) => ![...taken, ...arranged].some((other) => meet(box, other)) && !dots.some((dot) => covers(box, dot)));
    if (free) arranged.push({ ...name, ...free });
    else if (n === 0 && inside.length) arranged.push({ ...name, ...least(inside, dots, name) });
  }
  return arranged;
}

function beside({ x, y, radius, width, height }, [right, below], gap) {
  const far = radius + gap;
  const side = (way, length) => (way < 0 ? -length - far : way > 0 ? far : -length / 2);
  return { left: x + side(right, width), top: y + side(below, height), width, height };
}

const meet = (one, other) =>
  one.left < other.left + other.width && other.left < one.left + one.width
  && one.top < other.top + other.height && other.top < one.top + one.height;

export function covers(box, { x, y, radius }) {
  const across = Math.max(box.left - x, 0, x - box.left - box.width);
  const down = Math.max(box.top - y, 0, y - box.top - box.height);
  return Math.hypot(across, down) < radius;
}

// The chosen node is always named: where it is crowded, over as few others as can be, not over itself.
function least(boxes, dots, own) {
  const cost = (box) => dots.filter((dot) => covers(box, dot)).length + (covers(box, own) ? 1000 : 0);
  return boxes.reduce((best, box) => (cost(box) < cost(best) ? box : best));
}

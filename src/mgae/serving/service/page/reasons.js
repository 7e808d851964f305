// Why two nodes may be joined: a sentence, and what adds up to the score.
import { element, hashOf } from "./api.js";
import { swatch } from "./looks.js";

export function reason(why, score) {
  const sums = new Map();
  for (const part of why.contributions) sums.set(part.about, (sums.get(part.about) ?? 0) + part.value);
  const ordered = [...sums].sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]));
  const text = ordered.map(([about, value]) => `${about} ${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`);
  return [
    element("p", {}, why.sentence),
    element("p", { class: "soft" }, `${score.toFixed(2)} = ${text.join(", ")}`),
  ];
}

export function chips(map, label, name, nodes) {
  const items = nodes.map(({ id, title }) => element("li", {},
    element("a", { href: hashOf(id), title: title ? id : null }, swatch(map.group(id), id), title ?? String(id))));
  return element("ul", { class: "chips", "data-list": name, "aria-label": label }, ...items);
}

// The legend on the map: what colors mean, and which groups are shown.
import { element } from "./api.js";
import { OTHER, swatch } from "./looks.js";

const KINDS = { class: "class", community: "community", cluster: "cluster" };

export class Legend {
  // `changed` is called when other groups are shown.
  constructor(home, map, changed) {
    Object.assign(this, { home, map, changed });
    home.open = matchMedia("(min-width: 761px)").matches;
  }

  load(data) {
    this.data = data;
    const ways = [KINDS[data.grouping] ?? "group", ...Object.keys(data.attributes)];
    const options = ways.map((name, n) => element("option", { value: n }, name));
    this.select = element("select", { "aria-label": "Color by" }, ...options);
    this.select.addEventListener("change", () => this.color(Number(this.select.value)));
    this.items = element("ul", { "aria-label": "Show these groups only" });
    this.rest = element("button", { type: "button", class: "plain", hidden: "", click: () => this.show(new Set()) }, "Show all");
    const by = options.length > 1 ? element("p", {}, "Color by ", this.select) : null;
    this.home.replaceChildren(
      element("summary", {}, "Legend"),
      element("div", { class: "body" }, by, this.items, this.rest),
    );
    this.home.hidden = false;
    this.select.value = this.telling(data);
    this.color(Number(this.select.value));
  }

  // Classes tell most; where there are none, an attribute of a few values that somebody has chosen.
  telling({ grouping, attributes }) {
    const few = (values) => { const { size } = new Set(values.filter((one) => one !== null)); return size > 1 && size <= OTHER; };
    return grouping === "class" ? 0 : 1 + Object.values(attributes).findIndex(few);
  }

  // The map's own groups first, then an attribute's most frequent values.
  color(way) {
    if (way === 0) this.map.color(this.data.group, this.data.groups);
    else this.map.color(...frequent(Object.values(this.data.attributes)[way - 1]));
    const counts = new Array(OTHER + 1).fill(0);
    for (const group of this.map.groups) counts[group] += 1;
    const names = this.map.names.map((name, n) => [n, name]);
    if (counts[OTHER]) names.push([OTHER, "other"]);
    this.items.replaceChildren(...names.map(([n, name]) => element("li", {}, element("button",
      { type: "button", "aria-pressed": "false", "data-group": n, click: () => this.toggle(n) },
      swatch(n), element("span", { class: "name" }, name),
      element("span", { class: "soft" }, counts[n].toLocaleString("en"))))));
    this.show(new Set());
  }

  toggle(group) {
    const chosen = new Set(this.map.filter);
    if (!chosen.delete(group)) chosen.add(group);
    this.show(chosen);
  }

  show(chosen) {
    this.map.show(chosen);
    for (const item of this.items.querySelectorAll("button")) {
      item.setAttribute("aria-pressed", chosen.has(Number(item.dataset.group)));
    }
    this.rest.hidden = !chosen.size;
    this.changed();
  }
}

// The group of each value, -1 for rare ones, and the names of the groups.
function frequent(values) {
  const counts = new Map();
  for (const value of values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  const names = [...counts].sort((one, other) => other[1] - one[1]).slice(0, OTHER).map(([name]) => name);
  const group = new Map(names.map((name, n) => [name, n]));
  return [values.map((value) => group.get(value) ?? -1), names];
}

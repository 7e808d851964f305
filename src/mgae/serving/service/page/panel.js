// What stands beside the map: the run, or the chosen node.
import { element, hashOf, pathOf } from "./api.js";

const HEADINGS = { auc: "AUC", ap: "AP", mrr: "MRR" };
const count = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

export function percent(share) {
  if (share > 0.999) return "> 99.9%";
  return `${(100 * share).toFixed(1)}%`;
}

export class Panel {
  constructor(home, map) {
    Object.assign(this, { home, map });
  }

  // New content, seen from its beginning and read from there by those who listen.
  fill(...children) {
    this.home.replaceChildren(...children.filter(Boolean));
    this.home.scrollTop = 0;
    scrollTo({ top: 0 });
    this.home.focus({ preventScroll: true });
  }

  swatch(id) {
    const group = this.map.group(id);
    return element("span", { class: "swatch", "aria-hidden": "true", style: { background: `var(--g${group < 0 ? 9 : group})` } });
  }

  overview(info) {
    const facts = [count(info.nodes, "node"), count(info.edges, "edge")];
    if (info.features) facts.push(count(info.features, "feature"));
    this.home.replaceChildren(
      element("h1", {}, info.graph),
      element("p", { class: "soft" }, facts.join(" · ")),
      element("p", { class: "soft" }, `${info.method}, ${info.task === "links" ? "link prediction" : "node classification"}, protocol ${info.protocol}`),
      this.figures(info.test),
      ...info.notes.map((note) => element("p", { class: "problem small" }, note)),
      ...this.key(),
      ...this.help(),
    );
  }

  figures(test) {
    const tiles = Object.entries(test).map(([name, value]) =>
      element("div", {}, element("dt", {}, HEADINGS[name] ?? name.replace("_", " ")), element("dd", {}, value.toFixed(2))));
    if (!tiles.length) return "";
    return element("dl", { class: "figures", "aria-label": "Test figures in percent" }, ...tiles);
  }

  key() {
    const data = this.map.data;
    if (!data) return [];
    const titles = { class: "Classes", community: "Communities", cluster: "Clusters" };
    const items = data.groups.map((name, n) => [name, n]);
    if (data.group.includes(-1)) items.push(["other", 9]);
    return [
      element("h2", {}, titles[data.grouping] ?? "Groups"),
      element("ul", { class: "key" }, ...items.map(([name, n]) =>
        element("li", {}, element("span", { class: "swatch", style: { background: `var(--g${n})` } }), name))),
    ];
  }

  help() {
    const keys = [["/", "search"], ["← ↑ → ↓", "move the map"], ["+ −", "zoom"], ["0", "show everything"]];
    return [
      element("h2", { class: "keys" }, "Keys"),
      element("ul", { class: "key small soft keys" }, ...keys.map(([key, text]) =>
        element("li", {}, element("kbd", {}, key), ` \u00a0${text}`))),
    ];
  }

  waiting(id) {
    this.home.replaceChildren(element("h1", {}, String(id)), element("p", { class: "soft" }, "One moment…"));
  }

  failed(id, error) {
    this.fill(
      element("h1", {}, String(id)),
      element("p", { class: "problem", role: "alert" }, error.message),
      element("p", {}, element("a", { href: "#" }, "Back to the overview")),
    );
  }

  node(node, recommended, similar) {
    const shown = this.map.place(node.node) >= 0;
    this.fill(
      element("h1", {}, String(node.node)),
      element("p", { class: "soft" }, this.swatch(node.node), this.kind(node.node), count(node.degree, "neighbor")),
      shown || !this.map.data ? null : element("p", { class: "soft small" }, "Not among the nodes on the map."),
      ...this.recommended(node.node, recommended),
      ...this.similar(node.node, similar),
      ...this.neighbors(node),
    );
  }

  kind(id) {
    const name = this.map.data?.groups[this.map.group(id)];
    return name ? `${name} · ` : "";
  }

  recommended(id, links) {
    const known = links.every((link) => link.probability !== null);
    const rows = links.map((link) => this.row(link.node, link.score.toFixed(2),
      known ? percent(link.probability) : ""));
    const columns = ["score", known ? "probability" : ""];
    return this.list("Recommended links", "recommended", columns, rows, pathOf(id, "/recommendations"), "It is joined to all others.");
  }

  similar(id, near) {
    if (near === null) return [];
    const rows = near.map((other) => this.row(other.node, this.meter(other.cosine), other.cosine.toFixed(3)));
    return this.list("Similar nodes", "similar", ["", "cosine"], rows, pathOf(id, "/similar"), "There are no others.");
  }

  meter(share) {
    const bar = element("i", { style: { width: `${100 * Math.max(0, share)}%` } });
    return element("span", { class: "meter", "aria-hidden": "true" }, bar);
  }

  row(id, first, second) {
    return element("li", {}, element("a", { href: hashOf(id) },
      this.swatch(id), element("span", { class: "id" }, String(id)),
      element("span", { class: "value" }, first), element("span", { class: "value" }, second)));
  }

  list(title, name, columns, rows, path, nothing) {
    if (!rows.length) return [this.title(title, path), element("p", { class: "soft small" }, nothing)];
    const heads = columns.map((text) => element("span", {}, text));
    return [
      this.title(title, path),
      element("div", { class: "columns", "aria-hidden": "true" }, ...heads),
      element("ol", { class: "links", "data-list": name, "aria-label": `${title}: ${columns.filter(Boolean).join(" and ")}` }, ...rows),
    ];
  }

  title(text, path) {
    return element("h2", {}, text, element("a", { href: path, target: "_blank", "aria-label": `${text} as JSON` }, "JSON"));
  }

  neighbors(node) {
    const chips = node.neighbors.map((id) =>
      element("li", {}, element("a", { href: hashOf(id) }, this.swatch(id), String(id))));
    const more = node.degree - node.neighbors.length;
    return [
      this.title("Neighbors", pathOf(node.node)),
      element("ul", { class: "chips", "data-list": "neighbors", "aria-label": "Neighbors" }, ...chips),
      more > 0 ? element("p", { class: "soft small" }, `and ${more.toLocaleString("en")} more`) : null,
    ].filter(Boolean);
  }
}

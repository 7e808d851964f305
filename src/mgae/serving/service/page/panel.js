// What stands beside the map: the run, or the chosen node.
import { element, get, hashOf, named, pathOf } from "./api.js";

const HEADINGS = { auc: "AUC", ap: "AP", mrr: "MRR" };
const count = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

export function percent(share) {
  if (share > 0.999) return "> 99.9%";
  return `${(100 * share).toFixed(1)}%`;
}

export class Panel {
  constructor(home, map) {
    Object.assign(this, { home, map, worth: null });
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
      this.verdict(info.verdict),
      this.figures(info.verdict?.warning ? {} : info.test),
      ...info.notes.filter((note) => note !== `verdict: ${info.verdict?.text}`).map((note) => element("p", { class: "problem small" }, note)),
      ...this.key(),
      ...this.help(),
    );
  }

  // Said first: large figures say nothing if a heuristic does as well.
  verdict(verdict) {
    if (!verdict) return "";
    return element("p", { class: `verdict ${verdict.kind}`, role: verdict.warning ? "alert" : null }, this.sentence(verdict.text));
  }

  sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

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
      element("h1", {}, node.title ?? String(node.node)),
      this.facts(node),
      element("p", { class: "soft" }, this.swatch(node.node), this.kind(node.node), count(node.degree, "neighbor")),
      shown || !this.map.data ? null : element("p", { class: "soft small" }, "Not among the nodes on the map."),
      this.worth?.warning ? this.verdict(this.worth) : null,
      ...this.recommended(node.node, recommended),
      ...this.similar(node.node, similar),
      ...this.neighbors(node),
    );
  }

  // The id, which is the key, where the heading has the title; and the chosen attributes.
  facts(node) {
    const facts = Object.entries(node.attributes).map(([name, value]) => `${name}: ${value}`);
    if (node.title) facts.unshift(String(node.node));
    return facts.length ? element("p", { class: "soft small", "data-name": "facts" }, facts.join(" · ")) : null;
  }

  kind(id) {
    const name = this.map.data?.groups[this.map.group(id)];
    return name ? `${name} · ` : "";
  }

  recommended(id, answer) {
    const { recommendations: links, rank_precision: precision } = answer;
    const known = links.every((link) => link.probability !== null);
    const rows = links.map((link) => this.row(link.node, link.title, link.score.toFixed(2),
      known ? percent(link.probability) : ""));
    const columns = ["score", known ? "probability" : ""];
    const list = this.list("Recommended links", "recommended", columns, rows, pathOf(id, "/recommendations"), "It is joined to all others.");
    if (links.length) list.push(this.why(id, links.length));
    if (!known || !links.length || !precision.length) return list;
    const last = precision.length;
    const worth = `Probability: that the two are joined in truth, if a tenth of the edges is missing from the graph. Of all nodes’ first links ${percent(precision[0])} are then missing edges${last > 1 ? `, at rank ${last} ${percent(precision[last - 1])}` : ""}.`;
    return [...list, element("p", { class: "soft small" }, worth)];
  }

  // Reasons are asked for on demand: they take longer than the links.
  why(id, k) {
    const button = element("button", { type: "button", class: "why" }, "Why these?");
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        const answer = await get(pathOf(id, `/recommendations?k=${k}&why=true`));
        const items = this.home.querySelectorAll("[data-list=recommended] > li");
        answer.recommendations.forEach((link, n) => items[n]?.append(this.reason(link)));
        button.remove();
      } catch (error) {
        button.disabled = false;
        button.after(element("p", { class: "problem small", role: "alert" }, error.message));
      }
    });
    return button;
  }

  reason(link) {
    const sums = new Map();
    for (const part of link.why.contributions) sums.set(part.about, (sums.get(part.about) ?? 0) + part.value);
    const ordered = [...sums].sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]));
    const text = ordered.map(([about, value]) => `${about} ${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`);
    return element("div", { class: "reason small" },
      element("p", {}, link.why.sentence),
      element("p", { class: "soft" }, `${link.score.toFixed(2)} = ${text.join(", ")}`));
  }

  similar(id, near) {
    if (near === null) return [];
    const rows = near.map((other) => this.row(other.node, other.title, this.meter(other.cosine), other.cosine.toFixed(3)));
    return this.list("Similar nodes", "similar", ["", "cosine"], rows, pathOf(id, "/similar"), "There are no others.");
  }

  meter(share) {
    const bar = element("i", { style: { width: `${100 * Math.max(0, share)}%` } });
    return element("span", { class: "meter", "aria-hidden": "true" }, bar);
  }

  row(id, title, first, second) {
    return element("li", {}, element("a", { href: hashOf(id) },
      this.swatch(id), element("span", { class: "id" }, ...named(id, title)),
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
    const chips = node.neighbors.map((id, n) => element("li", {},
      element("a", { href: hashOf(id), title: id }, this.swatch(id), node.neighbor_titles[n] ?? String(id))));
    const more = node.degree - node.neighbors.length;
    return [
      this.title("Neighbors", pathOf(node.node)),
      element("ul", { class: "chips", "data-list": "neighbors", "aria-label": "Neighbors" }, ...chips),
      more > 0 ? element("p", { class: "soft small" }, `and ${more.toLocaleString("en")} more`) : null,
    ].filter(Boolean);
  }
}

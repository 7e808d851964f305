// The chosen node: what it is, its likeliest new links, its like, and its neighbors.
import { button, count, element, get, ofRun, pairHash, pathOf, percent, problem } from "./api.js";
import { NodeList } from "./lists.js";
import { swatch } from "./looks.js";
import { verdict } from "./overview.js";
import { chips, reason } from "./reasons.js";

export const SCORE = { key: "score", name: "score", text: (row) => row.values.score.toFixed(2) };
export const PROBABILITY = { key: "probability", name: "probability", text: (row) => percent(row.values.probability) };
const COSINE = { key: "cosine", name: "cosine", text: (row) => row.values.cosine.toFixed(3) };

export const linkRow = (link) => ({ id: link.node, title: link.title, values: { score: link.score, probability: link.probability } });
export const columnsOf = (links) => (links.some((link) => link.probability === null) ? [SCORE] : [SCORE, PROBABILITY]);

export class NodePage {
  // `k` is how long its lists are, and stays from node to node.
  constructor(map, info, k) {
    Object.assign(this, { map, info, k, lists: [] });
  }

  async load(id) {
    this.id = id;
    const [node, recommended, similar] = await Promise.all([
      get(pathOf(id)),
      get(pathOf(id, `/recommendations?k=${this.k.recommended}`)),
      this.info.embedding_width === null ? null : get(pathOf(id, `/similar?k=${this.k.similar}`)),
    ]);
    Object.assign(this, { node, recommended, similar });
  }

  draw() {
    this.map.select(this.node.node, this.node.neighbors, this.recommended.recommendations.map((link) => link.node));
  }

  get children() {
    const { node, map } = this;
    const shown = map.indexOf(node.node) >= 0;
    const facts = Object.entries(node.attributes).map(([name, value]) => `${name}: ${value}`);
    // The id, which is the key, where the heading has the title.
    if (node.title) facts.unshift(String(node.node));
    return [
      element("h1", {}, node.title ?? String(node.node)),
      facts.length ? element("p", { class: "soft small", "data-name": "facts" }, facts.join(" · ")) : null,
      element("p", { class: "soft" }, ...this.group(), count(node.degree, "neighbor")),
      shown || !map.count ? null : element("p", { class: "soft small" }, "Not among the nodes on the map."),
      element("p", { class: "buttons" },
        shown ? button("Zoom to its neighborhood", () => map.neighborhood()) : null,
        element("a", { class: "plain", href: pairHash(node.node, "") }, "Compare with…")),
      this.info.verdict?.warning ? verdict(this.info.verdict) : null,
      ...this.recommendations(),
      this.alike(),
      ...this.neighbors(),
    ];
  }

  group() {
    const { map, node: { node } } = this;
    if (map.indexOf(node) < 0) return [];
    return [swatch(map.group(node), node), element("span", { "data-group-of": node }, map.groupName(node)), " · "];
  }

  recommendations() {
    const path = pathOf(this.id, "/recommendations");
    const list = new NodeList(this.map, {
      title: "Recommended links", name: "recommended", path, nothing: "It is joined to all others.",
      file: `recommended-${this.node.node}`, k: this.k.recommended,
      columns: columnsOf(this.recommended.recommendations),
      rows: this.recommended.recommendations.map(linkRow),
      ask: async (k) => {
        this.recommended = await get(`${path}${path.includes("?") ? "&" : "?"}k=${k}`);
        this.k.recommended = k;
        return this.recommended.recommendations.map(linkRow);
      },
      changed: () => this.draw(),
    });
    this.lists.push(list);
    return list.rows.length ? [list.home, this.why(list), this.worth()] : [list.home];
  }

  worth() {
    const precision = this.recommended.rank_precision;
    if (!precision.length || columnsOf(this.recommended.recommendations).length < 2) return null;
    const last = precision.length;
    const text = `Probability: that the link is a missing edge, if a tenth of the graph’s edges are missing. Of all nodes’ links at rank 1, ${percent(precision[0])} are then missing edges${last > 1 ? `; at rank ${last}, ${percent(precision[last - 1])}` : ""}.`;
    return element("p", { class: "soft small" }, text);
  }

  // Reasons are asked for on demand: they take longer than the links.
  why(list) {
    const asking = button("Why these?", async () => {
      asking.disabled = true;
      try {
        const answer = await get(pathOf(this.id, `/recommendations?k=${list.k}&why=true`));
        list.rows = answer.recommendations.map((link) => ({
          ...linkRow(link), reason: link.why.sentence, below: () => reason(link.why, link.score),
        }));
        list.render();
      } catch (error) {
        asking.after(problem(error));
      }
      asking.disabled = false;
    });
    return asking;
  }

  alike() {
    if (this.similar === null) return null;
    const rows = (answer) => answer.similar.map(({ node, title, cosine }) => ({ id: node, title, values: { cosine } }));
    const path = pathOf(this.id, "/similar");
    const list = new NodeList(this.map, {
      title: "Similar nodes", name: "similar", path, nothing: "There are no others.",
      file: `similar-${this.node.node}`, k: this.k.similar, columns: [COSINE], rows: rows(this.similar),
      ask: async (k) => {
        const answer = await get(`${path}${path.includes("?") ? "&" : "?"}k=${k}`);
        this.k.similar = k;
        return rows(answer);
      },
    });
    this.lists.push(list);
    return list.home;
  }

  neighbors() {
    const { node } = this;
    const more = node.degree - node.neighbors.length;
    const named = node.neighbors.map((id, n) => ({ id, title: node.neighbor_titles[n] }));
    return [
      element("h2", {}, "Neighbors", element("a", { href: ofRun(pathOf(node.node)), target: "_blank", "aria-label": "Neighbors as JSON" }, "JSON")),
      chips(this.map, "Neighbors", "neighbors", named),
      more > 0 ? element("p", { class: "soft small" }, `and ${more.toLocaleString("en")} more`) : null,
    ];
  }
}

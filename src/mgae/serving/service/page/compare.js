// Two nodes beside each other: whether they are joined, how likely that is, and what they share.
import { button, element, get, hashOf, pairHash, pathOf, percent, post } from "./api.js";
import { swatch } from "./looks.js";
import { chips, reason } from "./reasons.js";
import { picker } from "./search.js";

export class ComparePage {
  constructor(map, go) {
    Object.assign(this, { map, go, lists: [] });
  }

  async load(one = "", other = "") {
    this.ids = [one, other];
    this.nodes = await Promise.all(this.ids.map((id) => (id === "" ? null : get(pathOf(id, "?limit=1000")))));
    if (this.nodes.includes(null)) return;
    const pairs = [this.nodes.map((node) => node.node)];
    [this.scored] = (await post("/score", { pairs, why: true })).scores;
  }

  draw() {
    const [one, other] = this.nodes;
    if (!this.scored) return this.map.select(one?.node ?? null, one?.neighbors ?? []);
    const theirs = new Set(other.neighbors.map(String));
    this.common = one.neighbors.map((id, n) => ({ id, title: one.neighbor_titles[n] })).filter(({ id }) => theirs.has(String(id)));
    return this.map.select(one.node, this.common.map(({ id }) => id), [other.node], other.node);
  }

  get children() {
    return [
      element("h1", {}, "Two nodes"),
      this.form(),
      ...(this.scored ? this.answer() : [element("p", { class: "soft" }, "Choose two nodes to see how likely a link between them is, and what they have in common.")]),
    ];
  }

  form() {
    const boxes = ["One node", "The other node"].map((label, n) => {
      const choose = (id) => this.go(pairHash(...(n ? [this.ids[0], id] : [id, this.ids[1]])));
      const box = picker(`pair-${n}`, label, choose);
      const node = this.nodes[n];
      if (node) box.querySelector("input").placeholder = node.title ?? String(node.node);
      return box;
    });
    const swap = button("Swap the two", () => this.go(pairHash(...this.ids.toReversed())));
    return element("form", { class: "pair", "aria-label": "Two nodes" }, ...boxes, this.scored ? swap : null);
  }

  answer() {
    const { score, balanced_probability: chance, comparison } = this.scored;
    const shown = chance === null ? "–" : percent(chance);
    const facts = [
      ["score", score.toFixed(2)], ["balanced probability", shown],
      ["edge in the graph", comparison.joined ? "yes" : "no"],
      ["cosine", comparison.cosine === null ? "–" : comparison.cosine.toFixed(3)],
      ["steps apart", comparison.why.distance ?? "no path"],
      ["neighbors in common", comparison.why.num_common.toLocaleString("en")],
    ];
    return [
      element("dl", { class: "tiles", "aria-label": "The pair" }, ...facts.map(([name, value]) =>
        element("div", {}, element("dt", {}, name), element("dd", {}, String(value))))),
      element("p", { class: "soft small" }, "Balanced probability: that of an edge where edges and other pairs are equally many."),
      element("h2", {}, "Why"),
      element("div", { class: "reason small" }, ...reason(comparison.why, score)),
      element("h2", {}, "Beside each other"),
      this.table(),
      this.common.length ? element("h2", {}, "Neighbors in common") : null,
      this.common.length ? chips(this.map, "Neighbors in common", "common", this.common) : null,
    ];
  }

  table() {
    const names = [...new Set(this.nodes.flatMap((node) => Object.keys(node.attributes)))];
    const row = (name, values) => element("tr", {}, element("th", { scope: "row" }, name), ...values.map((value) => element("td", {}, ...value)));
    const group = ({ node }) => [swatch(this.map.group(node), node), element("span", { "data-group-of": node }, this.map.groupName(node))];
    const heads = this.nodes.map((node) => element("th", { scope: "col" }, element("a", { href: hashOf(node.node) }, node.title ?? String(node.node))));
    return element("table", { class: "beside" },
      element("caption", { class: "unseen" }, "The two nodes beside each other"),
      element("thead", {}, element("tr", {}, element("td", {}), ...heads)),
      element("tbody", {},
        row("id", this.nodes.map((node) => [String(node.node)])),
        row("neighbors", this.nodes.map((node) => [node.degree.toLocaleString("en")])),
        this.map.count ? row("group", this.nodes.map(group)) : null,
        ...names.map((name) => row(name, this.nodes.map((node) => [node.attributes[name] ?? "–"])))));
  }
}

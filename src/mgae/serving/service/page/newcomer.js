// A node that is not in the graph: its edges and features, and the links that the model recommends.
import { button, element, post, problem } from "./api.js";
import { NodeList } from "./lists.js";
import { columnsOf, linkRow } from "./node.js";
import { picker } from "./search.js";

const LENGTH = 10;

export class NewcomerPage {
  constructor(map, info) {
    Object.assign(this, { map, info, lists: [], edges: new Map(), k: LENGTH });
  }

  async load() {}

  draw() {
    this.map.select(null);
  }

  get children() {
    const heading = element("h1", {}, "A new node");
    if (!this.info.new_nodes) {
      return [heading, element("p", { class: "problem" }, "This model has learned a row for each node of its graph, so it knows no others. Train on a graph with features, or with the default method.")];
    }
    this.answer = element("div", { "aria-live": "polite" });
    return [heading, element("p", { class: "soft" }, "Say whom it is joined to; the model is not trained again."), this.form(), this.answer];
  }

  form() {
    const name = element("input", { id: "new-id", value: "new node", autocomplete: "off", maxlength: this.info.limits.id_length ?? 1000 });
    this.chosen = element("ul", { class: "chips", "aria-label": "Its neighbors" });
    const add = picker("new-neighbor", "Add a neighbor", (id, title) => this.join(id, title));
    const { columns, sides } = this.info.new_nodes;
    const inputs = columns.map((column, n) => [column, element("input", { id: `new-column-${n}`, autocomplete: "off", inputmode: column.text ? null : "decimal" })]);
    const side = element("select", { id: "new-side" }, ...sides.map((one) => element("option", {}, one)));
    const form = element("form", { class: "new", "aria-label": "A new node" },
      field("new-id", "Its id", name), add, this.chosen,
      sides.length ? field("new-side", "Its side", side) : null,
      ...this.features(inputs),
      element("button", { type: "submit", class: "plain strong" }, "Recommend links"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask(name.value.trim(), inputs, sides.length ? side.value : null);
    });
    return form;
  }

  features(inputs) {
    if (!this.info.features) return [];
    const absent = element("p", { class: "soft small" }, "Without features it has those of a mean node.");
    if (!inputs.length) return [absent];
    const fields = inputs.map(([column, input]) => field(input.id, column.name, input));
    return [element("fieldset", {}, element("legend", {}, "Its features"), absent, ...fields)];
  }

  join(id, title) {
    this.edges.set(String(id), id);
    const name = title ?? String(id);
    const chip = element("li", {}, button(`${name} ×`, () => { this.edges.delete(String(id)); chip.remove(); }, { "aria-label": `Remove ${name}` }));
    if (this.chosen.childElementCount < this.edges.size) this.chosen.append(chip);
  }

  async ask(node, inputs, side) {
    try {
      const edges = [...this.edges.values()].map((id) => [node, id]);
      const body = { nodes: [{ node, features: cells(inputs) }], edges, k: this.k, side };
      const links = (await post("/embed", body)).nodes[0].recommendations;
      const list = new NodeList(this.map, {
        title: "Recommended links", name: "recommended", path: null, nothing: "There is nothing to recommend.",
        file: `recommended-${node}`, columns: columnsOf(links), rows: links.map(linkRow), k: this.k,
        ask: async (k) => (await post("/embed", { ...body, k })).nodes[0].recommendations.map(linkRow),
        changed: (changed) => { this.k = changed.k; },
      });
      this.lists = [list];
      this.answer.replaceChildren(list.home);
      this.map.selectNew([...this.edges.values()], links.map((link) => link.node));
    } catch (error) {
      this.answer.replaceChildren(problem(error));
    }
  }
}

const field = (id, label, input) => element("div", { class: "field" }, element("label", { for: id }, label), input);

// The cells by column; null if none is filled in.
function cells(inputs) {
  const filled = inputs.filter(([, input]) => input.value.trim() !== "");
  if (!filled.length) return null;
  return Object.fromEntries(inputs.map(([column, input]) => {
    const text = input.value.trim();
    return [column.name, text === "" ? null : column.text || Number.isNaN(Number(text)) ? text : Number(text)];
  }));
}

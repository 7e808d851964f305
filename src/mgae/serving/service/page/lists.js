// A list of nodes with figures: sorted by any column, filtered as the map is, as long as wanted.
import { button, csv, download, element, hashOf, named, ofRun, problem } from "./api.js";
import { swatch } from "./looks.js";

const LENGTHS = [5, 10, 25, 50, 100];

export class NodeList {
  // Rows are {id, title, values, below}; columns are {key, name, text(row)}; `ask(k)` gives rows anew.
  constructor(map, { title, name, columns, rows, path, nothing, file, k = null, ask = null, changed = () => {} }) {
    Object.assign(this, { map, title, name, columns, rows, path, nothing, file, k, ask, changed });
    this.sorted = null;
    this.home = element("section", { class: "list", "aria-label": title });
    this.body = element("div");
    this.home.append(this.heading(), this.body);
    this.render();
  }

  heading() {
    const links = element("span", { class: "links" },
      button("CSV", () => this.download(), { "aria-label": `${this.title} as CSV` }),
      this.path && element("a", { href: ofRun(this.path), target: "_blank", "aria-label": `${this.title} as JSON` }, "JSON"));
    return element("h2", {}, this.title, this.ask && this.lengths(), links);
  }

  lengths() {
    const options = LENGTHS.map((k) => element("option", { value: k, selected: k === this.k ? "" : null }, String(k)));
    const select = element("select", { "aria-label": `How many: ${this.title}` }, ...options);
    select.addEventListener("change", () => this.lengthen(Number(select.value)));
    return select;
  }

  async lengthen(k) {
    try {
      this.rows = await this.ask(k);
      this.k = k;
      this.render();
      this.changed(this);
    } catch (error) {
      this.body.prepend(problem(error));
    }
  }

  // What is shown: the rows of the groups that the legend shows, in the chosen order.
  get shown() {
    const kept = this.rows.filter((row) => this.map.shows(this.map.group(row.id)));
    if (!this.sorted) return kept;
    const { key, down } = this.sorted;
    const value = (row) => (key === "node" ? row.title ?? String(row.id) : row.values[key]);
    const compare = (one, other) => (typeof one === "string" ? one.localeCompare(other, "en", { numeric: true }) : one - other);
    return kept.toSorted((one, other) => (down ? -1 : 1) * compare(value(one), value(other)));
  }

  // Figures begin with the largest, names with A; again turns it round, a third time gives the ranks.
  sort(key) {
    const first = key !== "node";
    if (this.sorted?.key !== key) this.sorted = { key, down: first };
    else this.sorted = this.sorted.down === first ? { key, down: !first } : null;
    this.render();
    this.body.querySelector(`button[data-key="${key}"]`)?.focus();
  }

  render() {
    const rows = this.shown;
    const hidden = this.rows.length - rows.length;
    this.body.replaceChildren(...[
      rows.length ? this.table(rows) : element("p", { class: "soft small" }, this.rows.length ? "None of these is in the groups that are shown." : this.nothing),
      hidden && rows.length ? element("p", { class: "soft small" }, `${rows.length} of ${this.rows.length}: the others are not in the groups that are shown.`) : null,
    ].filter(Boolean));
  }

  table(rows) {
    const heads = [{ key: "node", name: "node" }, ...this.columns].map(({ key, name }) => {
      const order = this.sorted?.key === key ? (this.sorted.down ? "descending" : "ascending") : null;
      return element("th", { scope: "col", "aria-sort": order },
        element("button", { type: "button", "data-key": key, click: () => this.sort(key) }, name));
    });
    return element("table", { "data-list": this.name },
      element("caption", { class: "unseen" }, this.title),
      element("thead", {}, element("tr", {}, ...heads)),
      element("tbody", {}, ...rows.flatMap((row) => this.row(row))));
  }

  row(row) {
    const cells = this.columns.map((column) => element("td", {}, column.text(row)));
    const link = element("a", { href: hashOf(row.id) }, swatch(this.map.group(row.id), row.id), element("span", { class: "id" }, ...named(row.id, row.title)));
    const main = element("tr", {}, element("th", { scope: "row" }, link), ...cells);
    if (!row.below) return [main];
    return [main, element("tr", { class: "reason" }, element("td", { colspan: cells.length + 1 }, ...row.below()))];
  }

  download() {
    const keys = this.columns.map((column) => column.key);
    const withReasons = this.rows.some((row) => row.reason);
    const rows = this.shown.map((row) => [row.id, row.title, ...keys.map((key) => row.values[key]), ...(withReasons ? [row.reason] : [])]);
    download(`${this.file}.csv`, csv([["node", "title", ...keys, ...(withReasons ? ["reason"] : [])], ...rows]));
  }
}

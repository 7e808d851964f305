// A box that finds nodes: a combobox as the ARIA practices describe it.
import { element, get, named } from "./api.js";

const WAIT = 100;

export class Search {
  // `choose` gets the id, and the title if the node was chosen from the suggestions.
  constructor(input, list, choose) {
    Object.assign(this, { input, list, choose, matches: [], titles: [], active: -1, asked: null });
    input.addEventListener("input", () => this.later());
    input.addEventListener("focus", () => input.value && this.later());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    list.addEventListener("pointerdown", (event) => event.preventDefault());
    list.addEventListener("click", (event) => this.click(event));
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), WAIT);
  }

  async ask() {
    const query = this.input.value.trim();
    this.asked?.abort();
    if (!query) return this.close();
    this.asked = new AbortController();
    try {
      const path = `/nodes?query=${encodeURIComponent(query)}&limit=12`;
      const answer = await get(path, { signal: this.asked.signal });
      this.show(answer.nodes, answer.titles);
    } catch (error) {
      if (error.name !== "AbortError") this.say(error.message);
    }
  }

  show(nodes, titles) {
    Object.assign(this, { matches: nodes, titles });
    this.active = nodes.length ? 0 : -1;
    if (!nodes.length) return this.say("No node has that in its id or title.");
    const option = (n) => ({ role: "option", id: `${this.list.id}-${n}` });
    this.list.replaceChildren(...nodes.map((id, n) => element("li", option(n), ...named(id, titles[n]))));
    this.open();
  }

  say(text) {
    this.matches = [];
    this.active = -1;
    this.list.replaceChildren(element("li", { class: "none", role: "option", "aria-disabled": "true" }, text));
    this.open();
  }

  open() {
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.mark();
  }

  close() {
    clearTimeout(this.timer);
    this.asked?.abort();
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  mark() {
    [...this.list.children].forEach((item, n) => item.setAttribute("aria-selected", n === this.active));
    const item = this.list.children[this.active];
    if (!item || this.active < 0) return this.input.removeAttribute("aria-activedescendant");
    this.input.setAttribute("aria-activedescendant", item.id);
    item.scrollIntoView({ block: "nearest" });
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.matches.length) {
      if (this.list.hidden) this.open();
      else this.active = (this.active + step + this.matches.length) % this.matches.length;
      this.mark();
      event.preventDefault();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (this.list.hidden || this.active < 0) this.take(this.input.value.trim(), null);
      else this.take(this.matches[this.active], this.titles[this.active]);
    } else if (event.key === "Escape") {
      this.close();
    }
  }

  click(event) {
    const index = [...this.list.children].indexOf(event.target.closest("li"));
    if (this.matches[index] !== undefined) this.take(this.matches[index], this.titles[index]);
  }

  take(id, title) {
    if (id === "") return;
    this.input.value = "";
    this.close();
    this.choose(id, title);
  }
}

// A labeled box of its own; `choose` gets the id, the title and the input.
export function picker(id, label, choose) {
  const list = element("ul", { id: `${id}-options`, class: "suggestions", role: "listbox", "aria-label": `${label}: suggestions`, hidden: "" });
  const input = element("input", {
    id, type: "search", autocomplete: "off", spellcheck: "false", role: "combobox",
    "aria-expanded": "false", "aria-controls": list.id, "aria-autocomplete": "list",
  });
  new Search(input, list, (node, title) => choose(node, title, input));
  const box = element("div", { class: "search" }, input, list);
  return element("div", { class: "field" }, element("label", { for: id }, label), box);
}

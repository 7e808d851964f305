// The search box with its suggestions: a combobox as the ARIA practices describe it.
import { element, get, named } from "./api.js";

const WAIT = 100;

export class Search {
  constructor(input, list, choose) {
    Object.assign(this, { input, list, choose, found: [], active: -1, asked: null });
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
    this.found = nodes;
    this.active = nodes.length ? 0 : -1;
    if (!nodes.length) return this.say("No node has that in its id or title.");
    this.list.replaceChildren(
      ...nodes.map((id, n) => element("li", { role: "option", id: `option-${n}` }, ...named(id, titles[n]))),
    );
    this.open();
  }

  say(text) {
    this.found = [];
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
    if (step && this.found.length) {
      if (this.list.hidden) this.open();
      else this.active = (this.active + step + this.found.length) % this.found.length;
      this.mark();
      event.preventDefault();
    } else if (event.key === "Enter") {
      this.take(this.list.hidden || this.active < 0 ? this.input.value.trim() : this.found[this.active]);
    } else if (event.key === "Escape") {
      this.close();
    }
  }

  click(event) {
    const place = [...this.list.children].indexOf(event.target.closest("li"));
    if (this.found[place] !== undefined) this.take(this.found[place]);
  }

  take(id) {
    if (id === "") return;
    this.input.value = "";
    this.close();
    this.input.blur();
    this.choose(id);
  }
}

// What is served: the run with its verdict, and its figures beside those that cost nothing.
import { NEW, count, element, pairHash } from "./api.js";

export function overview(info) {
  const facts = [count(info.nodes, "node"), count(info.edges, "edge")];
  if (info.features) facts.push(count(info.features, "feature"));
  return [
    element("h1", {}, info.graph),
    element("p", { class: "soft" }, facts.join(" · ")),
    element("p", { class: "soft" }, `${info.method}, ${info.task === "links" ? "link prediction" : "node classification"}, protocol ${info.protocol}`),
    verdict(info.verdict),
    ...figures(info.figures),
    ...info.notes.filter((note) => note !== `verdict: ${info.verdict?.text}`).map((note) => element("p", { class: "problem small" }, note)),
    element("h2", {}, "Ask"),
    element("ul", { class: "actions" },
      element("li", {}, element("a", { href: pairHash("", "") }, "Score or compare two nodes")),
      element("li", {}, element("a", { href: NEW }, "Add a new node"))),
    ...help(),
  ];
}

// Said first: large figures say nothing if a heuristic does as well.
export function verdict(worth) {
  if (!worth) return null;
  const text = `${worth.text[0].toUpperCase()}${worth.text.slice(1)}.`;
  return element("p", { class: `verdict ${worth.kind}`, role: worth.warning ? "alert" : null }, text);
}

const two = (value) => value.toFixed(2);

// Each figure with its meaning, beside the best of what learns nothing; the better one is bold.
function figures(all) {
  if (!all.length) return [];
  const rows = all.map((figure) => {
    const best = Object.entries(figure.heuristics).sort((one, other) => other[1] - one[1])[0];
    const ahead = best && best[1] > figure.value;
    const ends = figure.interval && element("small", { class: "interval" }, `${figure.interval[0].toFixed(1)}–${figure.interval[1].toFixed(1)}`);
    return element("tr", {},
      element("th", { scope: "row" }, figure.heading, element("small", {}, figure.meaning)),
      element("td", { class: ahead ? null : "best" }, two(figure.value), ends),
      best ? element("td", { class: ahead ? "best" : null }, two(best[1]), element("small", {}, best[0])) : element("td", {}, "–"));
  });
  const heads = ["", "this run", "best heuristic"].map((text) => (text ? element("th", { scope: "col" }, text) : element("td", {})));
  return [
    element("h2", {}, "Test figures, percent"),
    element("table", { class: "figures" },
      element("caption", { class: "unseen" }, "Test figures in percent, with 95% intervals"),
      element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows)),
    everyHeuristic(all),
  ];
}

function everyHeuristic(all) {
  const names = Object.keys(all[0].heuristics);
  if (names.length < 2) return null;
  const head = element("tr", {}, element("td", {}), ...all.map((figure) => element("th", { scope: "col" }, figure.heading)));
  const rows = names.map((name) => element("tr", {}, element("th", { scope: "row" }, name),
    ...all.map((figure) => element("td", {}, name in figure.heuristics ? two(figure.heuristics[name]) : "–"))));
  const table = element("table", { class: "figures" }, element("caption", { class: "unseen" }, "Heuristics, percent"),
    element("thead", {}, head), element("tbody", {}, ...rows));
  return element("details", {}, element("summary", {}, "All heuristics"),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "All heuristics" }, table));
}

function help() {
  const keys = [["/", "search"], ["← ↑ → ↓", "move the map"], ["+ −", "zoom"], ["n", "the chosen node’s neighborhood"], ["0", "show everything"]];
  return [
    element("h2", { class: "keys" }, "Keys"),
    element("ul", { class: "key small soft keys" }, ...keys.map(([key, text]) =>
      element("li", {}, element("kbd", {}, key), ` \u00a0${text}`))),
  ];
}

// Ties the map, the search and the panel together; the address says what is looked at.
import { element, get, hashOf, lookedAt, ofRun, run } from "./api.js";
import { ComparePage } from "./compare.js";
import { Legend } from "./legend.js";
import { repaint } from "./looks.js";
import { NodeMap } from "./map.js";
import { NewcomerPage } from "./newcomer.js";
import { NodePage } from "./node.js";
import { overview } from "./overview.js";
import { Search } from "./search.js";

const at = (id) => document.getElementById(id);
const go = (hash) => { location.hash = hash; };
const chooseNode = (id) => go(hashOf(id));

const map = new NodeMap(at("map"), at("tip"), chooseNode);
const legend = new Legend(at("legend"), map, () => {
  page?.lists.forEach((list) => list.render());
  repaint(map);
});
new Search(at("search"), at("suggestions"), chooseNode);
window.mgae = { map }; // for the tests, and for the curious
const k = { recommended: 10, similar: 10 };
let info;
let page = null;
let about = "";
let latest = 0;

// New content, looked at from its beginning and read from there by those who listen.
function fill(...children) {
  at("panel").replaceChildren(...children.filter(Boolean));
  at("panel").scrollTop = 0;
  scrollTo({ top: 0 });
  at("panel").focus({ preventScroll: true });
}

function failed(title, error) {
  map.select(null);
  fill(
    element("h1", {}, title),
    element("p", { class: "problem", role: "alert" }, error.message),
    element("p", {}, element("a", { href: "#" }, "Back to the overview")),
  );
}

const pages = {
  node: () => new NodePage(map, info, k),
  pair: () => new ComparePage(map, go),
  new: () => new NewcomerPage(map, info),
};

const notes = {
  node: "solid: neighbors · dashed: recommended",
  pair: "solid: neighbors in common · dashed: the pair",
  new: "",
};

async function show() {
  const { kind, ids } = lookedAt(location.hash);
  const turn = ++latest;
  document.title = `${kind === "node" ? ids[0] : info.graph} · mgae`;
  if (kind === "overview") {
    page = null;
    map.select(null);
    at("map-note").textContent = about;
    at("panel").replaceChildren(...overview(info).filter(Boolean));
    return;
  }
  const title = ids.filter(Boolean).join(" and ") || "A new node";
  const wait = () => at("panel").replaceChildren(element("h1", {}, title), element("p", { class: "soft" }, "One moment…"));
  const waiting = setTimeout(wait, 200);
  const next = pages[kind]();
  try {
    await next.load(...ids);
    clearTimeout(waiting);
    if (turn !== latest) return; // something else was chosen meanwhile
    page = next;
    page.draw();
    fill(...page.children);
    if (map.count) at("map-note").textContent = notes[kind];
  } catch (error) {
    clearTimeout(waiting);
    if (turn === latest) failed(title, error);
  }
}

async function loadMap() {
  if (info.embedding_width === null) {
    document.querySelector("main").classList.add("no-map"); // there are no embeddings
    return;
  }
  const data = await get("/map");
  map.load(data);
  legend.load(data);
  const shown = data.nodes.length;
  const sampled = shown < data.total ? ` of ${data.total.toLocaleString("en")}, evenly taken` : "";
  about = `${shown.toLocaleString("en")} nodes${sampled}, by ${data.projection.toUpperCase()} of their embeddings`;
  at("map").setAttribute("aria-label", `Map of ${about}`);
  for (const tool of document.querySelectorAll(".tools button")) tool.disabled = false;
}

// Several runs of one service: each has its own address, so that it can be kept.
async function loadRuns() {
  const { runs } = await get("/runs");
  if (runs.length < 2) return;
  const current = run ?? runs[0].run;
  const options = runs.map((one) => element("option", { value: one.run, selected: one.run === current ? "" : null }, `${one.run} (${one.method})`));
  const select = element("select", { id: "run", "aria-label": "Run" }, ...options);
  select.addEventListener("change", () => { location.href = `/?run=${encodeURIComponent(select.value)}`; });
  at("runs").append(select);
}

async function start() {
  try {
    info = await get("/info");
    at("graph-name").textContent = info.graph;
    at("docs-link").href = ofRun("/docs");
    await Promise.all([loadMap(), loadRuns()]);
  } catch (error) {
    return failed("Not available", error);
  }
  addEventListener("hashchange", show);
  return show();
}

at("zoom-in").addEventListener("click", () => map.zoom(1.5));
at("zoom-out").addEventListener("click", () => map.zoom(1 / 1.5));
at("zoom-all").addEventListener("click", () => map.all());
at("zoom-near").addEventListener("click", () => map.neighborhood());
addEventListener("keydown", (event) => {
  const typing = document.activeElement?.matches("input, select, textarea");
  if (event.key === "/" && !typing) {
    event.preventDefault();
    at("search").focus();
  }
});
start();

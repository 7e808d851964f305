// Ties the map, the search and the panel together; the address says which node is chosen.
import { get, hashOf, idIn, pathOf } from "./api.js";
import { NodeMap } from "./map.js";
import { Panel } from "./panel.js";
import { Search } from "./search.js";

const at = (id) => document.getElementById(id);
const go = (id) => { location.hash = hashOf(id); };

const map = new NodeMap(at("map"), at("tip"), go);
const panel = new Panel(at("panel"), map);
new Search(at("search"), at("suggestions"), go);
window.mgae = { map }; // for the tests, and for the curious
let info;
let about = "This method has no embeddings, so there is no map.";
let latest = 0;

async function show() {
  const id = idIn(location.hash);
  const turn = ++latest;
  document.title = `${id ?? info.graph} · mgae`;
  if (id === null) {
    map.select(null);
    at("map-note").textContent = about;
    return panel.overview(info);
  }
  const waiting = setTimeout(() => panel.waiting(id), 200);
  try {
    const [node, recommended, similar] = await Promise.all([
      get(pathOf(id)),
      get(pathOf(id, "/recommendations?k=10")),
      info.embedding_width === null ? null : get(pathOf(id, "/similar?k=10")),
    ]);
    clearTimeout(waiting);
    if (turn !== latest) return; // another node was chosen meanwhile
    panel.node(node, recommended, similar && similar.similar);
    map.select(node.node, node.neighbors, recommended.recommendations.map((link) => link.node));
    if (map.count) at("map-note").textContent = "solid: neighbors · dashed: recommended";
  } catch (error) {
    clearTimeout(waiting);
    if (turn !== latest) return;
    map.select(null);
    panel.failed(id, error);
  }
}

async function loadMap() {
  if (info.embedding_width === null) return;
  const data = await get("/map");
  map.load(data);
  const shown = data.nodes.length;
  const sampled = shown < data.total ? ` of ${data.total.toLocaleString("en")}, evenly taken` : "";
  about = `${shown.toLocaleString("en")} nodes${sampled}, by ${data.projection.toUpperCase()} of their embeddings`;
  at("map").setAttribute("aria-label", `Map of ${about}`);
}

async function start() {
  try {
    info = await get("/info");
    panel.worth = info.verdict;
    at("graph-name").textContent = info.graph;
    await loadMap();
  } catch (error) {
    return panel.failed("Not available", error);
  }
  addEventListener("hashchange", show);
  return show();
}

at("zoom-in").addEventListener("click", () => map.zoom(1.5));
at("zoom-out").addEventListener("click", () => map.zoom(1 / 1.5));
at("zoom-all").addEventListener("click", () => map.all());
addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== at("search")) {
    event.preventDefault();
    at("search").focus();
  }
});
start();

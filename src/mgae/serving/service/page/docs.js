// The OpenAPI description for people, with a form to try each route; drawn here, since the usual
// viewers come from a CDN.
import { element, get, run } from "./api.js";

const home = document.getElementById("docs");

function limits(schema) {
  const kinds = (schema.anyOf ?? [schema]).map((one) => one.type).filter((type) => type && type !== "null");
  const bounds = [["minimum", "≥ "], ["maximum", "≤ "], ["maxLength", "length ≤ "], ["default", "default "]]
    .filter(([name]) => schema[name] !== undefined && schema[name] !== "")
    .map(([name, text]) => `${text}${schema[name]}`);
  return [kinds.join(" or "), ...bounds].join(", ");
}

function parameters(list) {
  if (!list?.length) return null;
  const rows = list.map((one) => element("tr", {},
    element("th", { scope: "row" }, one.name), element("td", { class: "soft" }, one.in),
    element("td", {}, one.description ?? ""), element("td", { class: "soft" }, limits(one.schema))));
  return element("table", {}, element("tbody", {}, ...rows));
}

function example(schema, schemas, depth = 0) {
  const own = schema.$ref ? schemas[schema.$ref.split("/").pop()] : schema;
  if (depth > 6) return null;
  if (own.anyOf) return example(own.anyOf[0], schemas, depth + 1);
  if (own.prefixItems) return own.prefixItems.map((item) => example(item, schemas, depth + 1));
  if (own.type === "array") return [example(own.items ?? {}, schemas, depth + 1)];
  if (own.properties) {
    return Object.fromEntries(Object.entries(own.properties).map(([name, part]) =>
      [name, part.default ?? example(part, schemas, depth + 1)]));
  }
  return { integer: 1, number: 0.5, string: "text", boolean: true, object: {} }[own.type] ?? null;
}

function block(title, schema, schemas) {
  if (!schema || !Object.keys(schema).length) return [];
  const text = JSON.stringify(example(schema, schemas), null, 1);
  return [element("details", {}, element("summary", {}, title), element("pre", { tabindex: "0", "aria-label": title }, text))];
}

// What is asked of this very graph: a request that is answered.
function sample(path, node) {
  if (path === "/score") return { pairs: [[node.node, node.neighbors[0] ?? node.node]], why: false };
  if (path === "/embed") return { nodes: [{ node: "new node" }], edges: [["new node", node.node]], k: 5 };
  return null;
}

function fields(path, list, node) {
  const given = { id: node.node, query: String(node.node).slice(0, 2), run: run ?? "", k: 5 };
  return list.map((one) => {
    const id = `${path}-${one.name}`;
    const kinds = (one.schema.anyOf ?? [one.schema]).map((kind) => kind.type);
    const choices = ["", "true", "false"].map((value) => element("option", { value }, value));
    const value = given[one.name] ?? one.schema.default ?? "";
    const input = kinds.includes("boolean")
      ? element("select", { id, name: one.name }, ...choices)
      : element("input", { id, name: one.name, value, autocomplete: "off", inputmode: kinds.includes("integer") ? "numeric" : null });
    return [one, input, element("div", { class: "field" }, element("label", { for: id }, one.name), input)];
  });
}

// The address that the fields make. A path drops the segments "." and "..": these go as a query.
function address(path, inputs) {
  const query = new URLSearchParams();
  let whole = path;
  for (const [one, input] of inputs) {
    if (one.in === "query" && input.value !== "") query.set(one.name, input.value);
    if (one.in !== "path") continue;
    if ([".", ".."].includes(input.value)) {
      whole = whole.replace(`/nodes/{${one.name}}`, "/node");
      query.set("id", input.value);
    } else {
      whole = whole.replace(`{${one.name}}`, encodeURIComponent(input.value));
    }
  }
  return query.size ? `${whole}?${query}` : whole;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function trial(path, method, operation, node) {
  const inputs = fields(path, operation.parameters ?? [], node);
  const content = sample(path, node);
  const body = content && element("textarea", { "aria-label": `Body of ${path}`, spellcheck: "false" });
  if (body) body.value = JSON.stringify(content, null, 1);
  const output = element("div", { "aria-live": "polite" });
  const form = element("form", { "aria-label": `Try ${method.toUpperCase()} ${path}` },
    element("div", { class: "inputs" }, ...inputs.map(([, , field]) => field)), body,
    element("button", { type: "submit", class: "plain" }, "Try it"), output);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const where = address(path, inputs);
    const headers = body ? { "Content-Type": "application/json" } : {};
    const started = performance.now();
    try {
      const answer = await fetch(where, { method: method.toUpperCase(), headers, body: body?.value });
      const text = await answer.text();
      const spent = Math.round(performance.now() - started);
      const curl = ["curl", ...(body ? ["-H 'Content-Type: application/json'", `-d ${quoted(body.value.replaceAll(/\s*\n\s*/g, " "))}`] : []), quoted(location.origin + where)].join(" ");
      output.replaceChildren(
        element("p", { class: "soft small" }, `${answer.status} ${answer.statusText} in ${spent} ms`),
        element("pre", { tabindex: "0", "aria-label": "The same by curl" }, curl),
        element("pre", { class: "answer", tabindex: "0", "aria-label": "The answer" }, readable(text)));
    } catch (error) {
      output.replaceChildren(element("p", { class: "problem", role: "alert" }, error.message));
    }
  });
  return form;
}

const MOST_SHOWN = 20_000;

function readable(text) {
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 1);
  } catch {
    // figures for Prometheus are text
  }
  return shown.length > MOST_SHOWN ? `${shown.slice(0, MOST_SHOWN)}\n… ${shown.length.toLocaleString("en")} characters in all` : shown;
}

function route(path, method, operation, schemas, node) {
  const taken = operation.requestBody?.content["application/json"]?.schema;
  const given = operation.responses["200"]?.content?.["application/json"]?.schema;
  return element("section", { class: "route", "aria-label": `${method.toUpperCase()} ${path}` },
    element("h2", {}, element("b", {}, method.toUpperCase()), path),
    element("p", {}, operation.summary ?? ""),
    parameters(operation.parameters),
    ...block("What it takes", taken, schemas), ...block("What it gives", given, schemas),
    trial(path, method, operation, node));
}

try {
  const [description, first] = await Promise.all([get("/openapi.json"), get("/nodes?query=&limit=1")]);
  const id = first.nodes[0];
  const { schemas } = description.components;
  const node = await get(`/node?id=${encodeURIComponent(id)}`);
  const routes = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => route(path, method, operation, schemas, node)));
  home.append(
    element("h1", {}, description.info.title),
    element("p", { class: "soft" }, `${description.info.description} Errors are application/problem+json (RFC 9457).`),
    element("p", { class: "soft" }, "With a token: the header Authorization: Bearer TOKEN. The slash of an id is written %2F."),
    ...routes);
} catch (error) {
  home.append(element("p", { class: "problem", role: "alert" }, error.message));
}

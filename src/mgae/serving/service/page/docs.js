// The OpenAPI description for people; drawn here, since the usual viewers come from a CDN.
import { element, get } from "./api.js";

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
    element("th", {}, one.name), element("td", { class: "soft" }, one.in),
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
  return [element("p", { class: "soft small" }, title),
    element("pre", {}, JSON.stringify(example(schema, schemas), null, 1))];
}

function route(path, method, operation, schemas) {
  const taken = operation.requestBody?.content["application/json"]?.schema;
  const given = operation.responses["200"]?.content?.["application/json"]?.schema;
  return element("section", { class: "route" },
    element("h2", {}, element("b", {}, method.toUpperCase()), path),
    element("p", {}, operation.summary ?? ""),
    parameters(operation.parameters),
    ...block("takes", taken, schemas), ...block("gives", given, schemas));
}

try {
  const description = await get("/openapi.json");
  const { schemas } = description.components;
  const routes = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => route(path, method, operation, schemas)));
  home.append(
    element("h1", {}, description.info.title),
    element("p", { class: "soft" }, `${description.info.description} Errors are application/problem+json (RFC 9457).`),
    element("p", { class: "soft" }, "With a token: the header Authorization: Bearer TOKEN. The slash of an id is written %2F."),
    ...routes);
} catch (error) {
  home.append(element("p", { class: "problem", role: "alert" }, error.message));
}

// Questions to the service, and the page's own addresses.

// The run stands in the query of the page's address, what is looked at in its hash.
export const run = new URLSearchParams(location.search).get("run");

// The path of a question about this page's run.
export const ofRun = (path) =>
  run === null ? path : `${path}${path.includes("?") ? "&" : "?"}run=${encodeURIComponent(run)}`;

// An answer that is a problem is thrown with its detail.
export async function get(path, options = {}) {
  const answer = await fetch(ofRun(path), { headers: { Accept: "application/json" }, ...options });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.detail ?? answer.statusText);
  return body;
}

export const post = (path, body) => get(path, {
  method: "POST",
  headers: { Accept: "application/json", "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

// A path drops the segments "." and "..": such an id goes into the query.
export const pathOf = (id, rest = "") => {
  if (id !== "." && id !== "..") return `/nodes/${encodeURIComponent(id)}${rest}`;
  const [steps, query] = rest.split("?");
  return `/node${steps}?id=${id}${query ? `&${query}` : ""}`;
};

// What is looked at stands in the address, so that the browser's own back and forward walk along.
export const hashOf = (id) => `#node=${encodeURIComponent(id)}`;
export const pairHash = (...ids) => `#pair=${ids.map(encodeURIComponent).join("&")}`;
export const NEW = "#new";

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // written by hand, with a lone percent sign
  }
}

export function lookedAt(hash) {
  const match = /^#(node|pair)=(.*)$/s.exec(hash);
  if (match?.[1] === "node") return { kind: "node", ids: [decoded(match[2])] };
  if (match) return { kind: "pair", ids: match[2].split("&").slice(0, 2).map(decoded) };
  return { kind: hash === NEW ? "new" : "overview", ids: [] };
}

// Text as a file, without asking the service again.
export function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = element("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// Rows of values as RFC 4180 has them.
export function csv(rows) {
  const field = (value) => {
    const text = String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

// An element with attributes and children; a text is always text and never markup.
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") Object.assign(made.style, value);
    else if (name === "click") made.addEventListener("click", value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

export const button = (text, click, attributes = {}) =>
  element("button", { type: "button", class: "plain", click, ...attributes }, text);

export const problem = (error) => element("p", { class: "problem", role: "alert" }, error.message);

// A node as people read it: its title with the id behind it, or the id alone.
export const named = (id, title) =>
  title ? [title, element("span", { class: "key-id soft" }, String(id))] : [String(id)];

export const count = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

export function percent(share) {
  if (share > 0.999) return "> 99.9%";
  return `${(100 * share).toFixed(1)}%`;
}

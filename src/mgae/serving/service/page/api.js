// Questions to the service. An answer that is a problem is thrown with its detail.

export async function get(path, options = {}) {
  const answer = await fetch(path, { headers: { Accept: "application/json" }, ...options });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.detail ?? answer.statusText);
  return body;
}

// A path drops the segments "." and "..": such an id goes into the query.
export const pathOf = (id, rest = "") => {
  if (id !== "." && id !== "..") return `/nodes/${encodeURIComponent(id)}${rest}`;
  const [steps, query] = rest.split("?");
  return `/node${steps}?id=${id}${query ? `&${query}` : ""}`;
};

// A node's place in the page's address, so that the browser's own back and forward walk along.
export const hashOf = (id) => `#node=${encodeURIComponent(id)}`;

export function idIn(hash) {
  const match = /^#node=(.*)$/s.exec(hash);
  if (!match) return null;
  try {
    return decodeURIComponent(match[1]);
  } catch {
    return match[1]; // written by hand, with a lone percent sign
  }
}

// An element with attributes and children; a text is always text and never markup.
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") Object.assign(made.style, value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

// A node as people read it: its title with the id behind it, or the id alone.
export const named = (id, title) =>
  title ? [title, element("span", { class: "key-id soft" }, String(id))] : [String(id)];

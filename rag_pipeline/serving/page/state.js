// The view as a link: everything after "#", which a browser sends to no server and no server logs.

export function readState() {
  const found = new URLSearchParams(location.hash.slice(1));
  return {
    query: found.get("q") || "",
    collection: found.get("c") || "",
    count: Number(found.get("k")) || 5,
    strategies: found.getAll("s"),
    filters: found.getAll("f").map(parseFilter).filter(Boolean),
    open: parseOpen(found.get("open")),
  };
}

export function writeState(state) {
  const out = new URLSearchParams();
  if (state.query) out.set("q", state.query);
  if (state.collection) out.set("c", state.collection);
  out.set("k", String(state.count));
  for (const name of state.strategies) out.append("s", name);
  for (const filter of state.filters) out.append("f", JSON.stringify([filter.key, filter.operator, filter.value]));
  if (state.open) out.set("open", JSON.stringify([state.open.document, state.open.start, state.open.end]));
  const hash = `#${out}`;
  if (hash !== location.hash) history.replaceState(null, "", hash);
}

function parseFilter(text) {
  const parts = parse(text);
  if (!Array.isArray(parts) || parts.length !== 3 || !parts.every((part) => typeof part === "string")) return null;
  return { key: parts[0], operator: parts[1], value: parts[2] };
}

function parseOpen(text) {
  const parts = text ? parse(text) : null;
  if (!Array.isArray(parts) || parts.length !== 3) return null;
  return { document: String(parts[0]), start: Number(parts[1]) || 0, end: Number(parts[2]) || 0 };
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// What the API takes: {"category": {"in": ["a", "b"]}, "updated": {"gte": "2026-01-01"}}.
export function apiFilters(filters) {
  const out = {};
  for (const { key, operator, value } of filters) {
    if (!value.trim()) continue;
    const operand = operator === "in" ? value.split(",").map((part) => part.trim()).filter(Boolean) : value.trim();
    out[key] = { ...(out[key] || {}), [operator]: operand };
  }
  return out;
}

// The API as the page uses it: the key goes into a header and stays in this tab.

const STORE = "rag_pipeline.access";

export const access = load();

function load() {
  try {
    return { key: "", user: "", groups: "", ...JSON.parse(sessionStorage.getItem(STORE) || "{}") };
  } catch {
    return { key: "", user: "", groups: "" };
  }
}

export function remember() {
  sessionStorage.setItem(STORE, JSON.stringify(access));
}

function headers() {
  const out = {};
  if (access.key) out["Authorization"] = `Bearer ${access.key}`;
  if (access.user) {
    out["X-Act-As"] = encodeURIComponent(access.user);
    const groups = access.groups.split(",").map((group) => group.trim()).filter(Boolean);
    if (groups.length) out["X-Act-As-Groups"] = groups.map(encodeURIComponent).join(",");
  }
  return out;
}

async function answer(response) {
  const body = await response.json().catch(() => null);
  if (response.ok && body) return body;
  const error = body && body.error;
  throw new Error(error ? `${error.type}: ${error.message}` : `the server answered ${response.status}`);
}

export async function about() {
  return answer(await fetch("/api/about", { headers: headers() }));
}

export async function retrieve(request, signal) {
  return answer(await fetch("/api/rag/retrieve", {
    method: "POST",
    headers: { ...headers(), "Content-Type": "application/json" },
    body: JSON.stringify(request),
    signal,
  }));
}

export async function giveFeedback(said) {
  return answer(await fetch("/api/rag/feedback", {
    method: "POST",
    headers: { ...headers(), "Content-Type": "application/json" },
    body: JSON.stringify(said),
  }));
}

export async function readDocument(parameters) {
  return answer(await fetch(`/api/document?${new URLSearchParams(parameters)}`, { headers: headers() }));
}

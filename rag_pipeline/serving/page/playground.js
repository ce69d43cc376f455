// The page: what the form says becomes one request a strategy, and the view's state becomes its link.

import { about, access, giveFeedback, remember, retrieve } from "/page/api.js";
import { onClose, showDocument } from "/page/document.js";
import { element, failedColumn, resultColumn, waitingColumn } from "/page/results.js";
import { apiFilters, readState, writeState } from "/page/state.js";

const OPERATORS = ["in", "contains", "gte", "gt", "lte", "lt"];
const byId = (id) => document.getElementById(id);
let state = readState();
let known = null;
let running = null;

async function connect() {
  try {
    known = await about();
  } catch (error) {
    known = null;
    byId("about").textContent = error.message;
    byId("access").open = true;
    return false;
  }
  const who = known.identity === null ? "public documents only" : `as ${known.identity}`;
  const recorded = known.query_log ? ", questions are recorded" : "";
  byId("about").textContent = `${known.key}, ${who}${recorded}`;
  const names = known.collections.map((collection) => collection.name);
  if (!names.includes(state.collection)) {
    state.collection = names.includes(known.default_collection) ? known.default_collection : names[0] || "";
  }
  byId("collection").replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  byId("collection").value = state.collection;
  byId("count").max = known.max_chunks;
  showStrategies();
  showFilters();
  return true;
}

function showStrategies() {
  const found = known.collections.find((collection) => collection.name === state.collection);
  const names = found ? found.strategies : [];
  const chosen = state.strategies.filter((name) => names.includes(name));
  state.strategies = chosen.length ? chosen : names.filter((name) => [found.default_strategy, "bm25"].includes(name));
  const boxes = names.map((name) => {
    const box = element("input", { type: "checkbox", name: "strategy", value: name });
    box.checked = state.strategies.includes(name);
    return element("label", {}, box, name);
  });
  byId("strategies").replaceChildren(byId("strategies").firstElementChild, ...boxes);
}

function showFilters() {
  byId("filter-list").replaceChildren(...state.filters.map((filter, place) => {
    const choice = (what, values) => {
      const select = element("select", { "aria-label": `${what} of filter ${place + 1}`,
        onchange: (event) => { filter[what] = event.target.value; } },
      ...values.map((value) => element("option", { value }, value)));
      select.value = filter[what];
      return select;
    };
    const value = element("input", { "aria-label": `value of filter ${place + 1}`, placeholder: "value, or a, b",
      oninput: (event) => { filter.value = event.target.value; } });
    value.value = filter.value;
    const remove = element("button", { type: "button", "aria-label": `Remove filter ${place + 1}`,
      onclick: () => { state.filters.splice(place, 1); showFilters(); byId("add-filter").focus(); } }, "✕");
    return element("li", {}, choice("key", known.filters), choice("operator", OPERATORS), value, remove);
  }));
}

function readForm() {
  state.query = byId("query").value;
  state.collection = byId("collection").value;
  state.count = Number(byId("count").value) || 5;
  state.strategies = Array.from(document.querySelectorAll("input[name=strategy]:checked"), (box) => box.value);
}

async function search() {
  if (running) running.abort();
  running = new AbortController();
  const { signal } = running;
  const strategies = [...state.strategies];
  writeState(state);
  byId("copy").hidden = false;
  byId("status").textContent = "Searching…";
  byId("columns").replaceChildren(...strategies.map(waitingColumn));
  const request = { query: state.query, collection: state.collection, max_chunks: state.count,
    filters: apiFilters(state.filters), return_formatted: false, explain: true };
  const outcomes = await Promise.all(strategies.map((strategy) =>
    retrieve({ ...request, strategy }, signal).then((reply) => ({ strategy, reply }), (error) => ({ strategy, error }))));
  if (signal.aborted) return;
  const answered = outcomes.filter((outcome) => outcome.reply);
  byId("columns").replaceChildren(...outcomes.map(({ strategy, reply, error }) => (reply
    ? resultColumn(strategy, reply, answered.filter((other) => other.strategy !== strategy), { open, rate })
    : failedColumn(strategy, error))));
  byId("status").textContent = `${answered.length} of ${strategies.length} strategies answered`;
}

function open(chunk, reply) {
  state.open = { document: chunk.document, start: chunk.offsets.start, end: chunk.offsets.end };
  writeState(state);
  showDocument({ ...state.open, collection: reply.collection, release: reply.release });
}

// True once it is stored.
async function rate(reply, said) {
  try {
    await giveFeedback({ query_id: reply.query_id, ...said });
    byId("status").textContent = "Thank you, noted";
    return true;
  } catch (error) {
    byId("status").textContent = error.message;
    return false;
  }
}

function fill() {
  byId("query").value = state.query;
  byId("count").value = state.count;
  byId("key").value = access.key;
  byId("act-as").value = access.user;
  byId("act-as-groups").value = access.groups;
}

async function start() {
  fill();
  if (!(await connect()) || !state.query) return;
  await search();
  if (state.open) showDocument({ ...state.open, collection: state.collection });
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!known) return;
  readForm();
  state.open = null;
  search();
});
byId("collection").addEventListener("change", () => { readForm(); showStrategies(); });
byId("add-filter").addEventListener("click", () => {
  if (!known) return;
  state.filters.push({ key: known.filters[0], operator: "in", value: "" });
  showFilters();
  byId("filter-list").lastElementChild.querySelector("select").focus();
});
byId("connect").addEventListener("click", async () => {
  Object.assign(access, { key: byId("key").value.trim(), user: byId("act-as").value.trim(), groups: byId("act-as-groups").value });
  remember();
  if (await connect()) byId("query").focus();
});
byId("access").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
  event.preventDefault();
  byId("connect").click();
});
byId("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(location.href);
    byId("status").textContent = "Link copied";
  } catch {
    byId("status").textContent = "The browser keeps the clipboard closed; copy the address instead";
  }
});
onClose(() => { state.open = null; writeState(state); });
window.addEventListener("hashchange", () => { state = readState(); start(); });
start();

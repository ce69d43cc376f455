// One column a strategy: times by stage, results, and for each why it stands where it does.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export function waitingColumn(strategy) {
  return column(strategy, element("p", { class: "quiet" }, "Searching…"));
}

export function failedColumn(strategy, error) {
  return column(strategy, element("p", { class: "problem", role: "alert" }, error.message));
}

export function resultColumn(strategy, reply, others, { open, rate }) {
  const chunks = reply.result.chunks;
  const found = chunks.length ? `${chunks.length} results` : `nothing found (${reply.empty_reason})`;
  return column(
    strategy,
    element("p", {}, `${found} in ${ms(reply.metrics.stages_ms.total)} · release ${reply.release.slice(0, 8)}`),
    ...(reply.metrics.markers.length ? [element("p", { class: "quiet" }, reply.metrics.markers.join(", "))] : []),
    timings(reply.metrics),
    element("ol", {}, ...chunks.map((chunk) => hit(chunk, reply, others, { open, rate }))),
    ...(reply.query_id && chunks.length ? [rating("None of these", { rating: "not_useful" }, reply, rate)] : []),
  );
}

function column(strategy, ...children) {
  return element("section", { class: "column", "aria-label": strategy, "data-strategy": strategy },
    element("h2", {}, strategy), ...children);
}

function timings(metrics) {
  const stages = Object.entries(metrics.stages_ms).filter(([stage]) => stage !== "total");
  const total = metrics.stages_ms.total || 1;
  const rows = stages.map(([stage, value]) => element("tr", {},
    element("th", { scope: "row" }, stage),
    element("td", { class: "number" }, ms(value)),
    element("td", {}, element("meter", { min: 0, max: total, value: Math.min(value, total), title: `${stage} ${ms(value)}` })),
  ));
  const counts = Object.entries(metrics.candidates).map(([stage, count]) => `${stage} ${count}`).join(", ");
  return element("details", { class: "timings" },
    element("summary", {}, "Timings by stage"),
    element("table", {}, element("tbody", {}, ...rows)),
    element("p", { class: "quiet" }, counts ? `Candidates: ${counts}` : "No candidates"));
}

function hit(chunk, reply, others, { open, rate }) {
  const path = Object.values(chunk.headers).join(" › ");
  const relevance = chunk.relevance_score === null ? "" : ` · relevance ${Math.round(chunk.relevance_score * 100)} %`;
  return element("li", { class: "hit", "data-document": chunk.document, "data-start": chunk.offsets.start },
    element("h3", {}, `${chunk.rank}. `, element("button", {
      type: "button", onclick: () => open(chunk, reply),
    }, chunk.document)),
    element("p", { class: "path" }, `${path}${chunk.locator ? ` · ${chunk.locator}` : ""}${relevance}`),
    element("p", { class: "excerpt" }, chunk.content),
    element("p", { class: "elsewhere" }, elsewhere(chunk, others)),
    ...(reply.query_id ? [rating("This answers it", { rating: "useful", rank: chunk.rank }, reply, rate)] : []),
    why(chunk));
}

// Only where the question was recorded. Once said, the button stays where it is, so that the focus does not get lost.
function rating(text, said, reply, rate) {
  const name = said.rank ? `${text}: result ${said.rank} of ${reply.strategy}` : `${text}: ${reply.strategy}`;
  const button = element("button", { type: "button", class: "rate", "aria-pressed": "false", "aria-label": name,
    onclick: async () => {
      if (button.getAttribute("aria-pressed") === "false" && await rate(reply, said)) {
        button.setAttribute("aria-pressed", "true");
      }
    } }, text);
  return button;
}

// Where the same chunk stands in the other columns.
function elsewhere(chunk, others) {
  return others.map(({ strategy, reply }) => {
    const same = reply.result.chunks.find((other) => key(other) === key(chunk));
    return `${strategy}: ${same ? `rank ${same.rank}` : "not among the results"}`;
  }).join(" · ");
}

function why(chunk) {
  const rows = Object.entries(chunk.scores || {}).map(([stage, score]) => {
    return element("tr", {},
      element("th", { scope: "row" }, stage),
      element("td", { class: "number" }, score === null ? "none" : score.toFixed(4)),
      element("td", { class: "number" }, stage in chunk.ranks ? `${chunk.ranks[stage]}` : "not found"));
  });
  return element("details", { class: "why" },
    element("summary", {}, "Why here?"),
    element("table", {},
      element("thead", {}, element("tr", {},
        element("th", { scope: "col" }, "Stage"),
        element("th", { scope: "col", class: "number" }, "Score"),
        element("th", { scope: "col", class: "number" }, "Place there"))),
      element("tbody", {}, ...rows)));
}

function key(chunk) {
  return `${chunk.document} ${chunk.offsets.start} ${chunk.offsets.end}`;
}

function ms(value) {
  return value === undefined ? "?" : `${value.toFixed(1)} ms`;
}

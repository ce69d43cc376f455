// A document with the hit marked in it. Offsets are code points, so the text is cut as code points too.

import { readDocument } from "/page/api.js";

const dialog = document.getElementById("document");
const title = document.getElementById("document-title");
const facts = document.getElementById("document-facts");
const text = document.getElementById("document-text");

export function onClose(then) {
  document.getElementById("document-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", then);
}

export async function showDocument({ document: id, start, end, collection, release }) {
  title.textContent = id;
  facts.textContent = "Loading…";
  text.textContent = "";
  if (!dialog.open) dialog.showModal();
  try {
    const parameters = { id, around: start, ...(collection && { collection }), ...(release && { release }) };
    render(await readDocument(parameters), start, end);
  } catch (error) {
    facts.textContent = error.message;
  }
}

function render(found, start, end) {
  title.textContent = found.title;
  facts.textContent = [found.source, found.category, found.language, found.updated && `updated ${found.updated.slice(0, 10)}`]
    .filter(Boolean).join(" · ");
  const points = Array.from(found.text);
  const from = Math.max(0, start - found.offset);
  const to = Math.max(from, Math.min(points.length, end - found.offset));
  const mark = document.createElement("mark");
  mark.textContent = points.slice(from, to).join("");
  text.replaceChildren(points.slice(0, from).join(""), mark, points.slice(to).join(""));
  mark.scrollIntoView({ block: "center" });
  text.focus({ preventScroll: true });
}

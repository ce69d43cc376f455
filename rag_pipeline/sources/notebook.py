"""Jupyter notebooks to Markdown: text cells as they are, code cells in fences, outputs as text and cut.

Offsets can't lead back into JSON, so every cell has a locator, counted from 1 as people do.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rag_pipeline.sources.derive import first_heading
from rag_pipeline.sources.plain import with_front_matter
from rag_pipeline.sources.reader import Reading, Refusal
from rag_pipeline.text.decode import decode
from rag_pipeline.text.repair import repair_text

MAX_OUTPUT = 2000
"""Code points of one output that are kept."""
_LANGUAGE = re.compile(r"[\w+#-]{1,30}")
_BACKTICKS = re.compile(r"^[ \t]*(`{3,})", re.M)


class NotebookReader:
    format = "notebook"

    def read(self, data: bytes) -> Reading | Refusal:
        decoded = decode(data)
        if decoded is None:
            return Refusal("skipped", "binary", "the bytes are no text in any encoding")
        try:
            notebook = json.loads(decoded.text.removeprefix("\ufeff"))
        except (ValueError, RecursionError) as error:
            return Refusal("failed", "malformed", f"not a notebook: {error}"[:300])
        cells = _cells(notebook)
        if cells is None:
            return Refusal("failed", "malformed", "not a notebook: no list of cells")
        language = _language(notebook)
        parts: list[str] = []
        locators: list[tuple[int, str]] = []
        length = 0
        for number, cell in enumerate(cells, 1):
            text = "\n\n".join(_blocks(cell, language))
            if text.strip():
                locators.append((length, f"cell {number}"))
                parts.append(text)
                length += len(text) + 2
        text = "\n\n".join(parts)
        reading = Reading(text, locators=tuple(locators), repairs=decoded.repairs)
        if cells and cells[0].get("cell_type") == "raw":
            return with_front_matter(reading, "markdown")
        # Only a raw first cell can be front matter; a text cell that begins with a rule is text.
        return replace(reading, title=first_heading(text))


def fenced(code: str, language: str = "") -> str:
    """A code block whose fence is longer than any inside it."""
    longest = max((len(m[1]) for m in _BACKTICKS.finditer(code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{code.rstrip()}\n{fence}"


def _cells(notebook: Any) -> list[dict[str, Any]] | None:
    if not isinstance(notebook, dict):
        return None
    cells = notebook.get("cells")
    if cells is None and isinstance(notebook.get("worksheets"), list):
        sheets = [s for s in notebook["worksheets"] if isinstance(s, dict)]
        cells = [c for s in sheets for c in (s.get("cells") or [])]
    return [c for c in cells if isinstance(c, dict)] if isinstance(cells, list) else None


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    for table, key in (("language_info", "name"), ("kernelspec", "language")):
        found = metadata.get(table) if isinstance(metadata, dict) else None
        name = found.get(key) if isinstance(found, dict) else None
        if isinstance(name, str) and _LANGUAGE.fullmatch(name):
            return name
    return "python"


def _blocks(cell: dict[str, Any], language: str) -> Iterator[str]:
    source = _text(cell.get("source", cell.get("input")))
    kind = cell.get("cell_type")
    if kind == "heading":
        level = cell.get("level")
        yield f"{'#' * (level if isinstance(level, int) and 1 <= level <= 6 else 1)} {source}"
    elif kind != "code":
        yield source.strip("\n")
    elif source.strip():
        yield fenced(source, language)
    outputs = cell.get("outputs")
    for output in outputs if kind == "code" and isinstance(outputs, list) else ():
        text = _output(output) if isinstance(output, dict) else ""
        if text.strip():
            cut = text[:MAX_OUTPUT].rstrip() + ("\n[output cut]" if len(text) > MAX_OUTPUT else "")
            yield fenced(cut, "text")


def _output(output: dict[str, Any]) -> str:
    if output.get("output_type") == "error":
        return f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
    data = output.get("data")
    if isinstance(data, dict):
        return _text(data.get("text/markdown") or data.get("text/plain"))
    return _text(output.get("text"))


def _text(value: Any) -> str:
    """A string or a list of lines."""
    lines = value if isinstance(value, list) else [value]
    return repair_text("".join(line for line in lines if isinstance(line, str)))

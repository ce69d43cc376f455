"""Results on the terminal: tables for people, one JSON object for programs."""

import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rag_pipeline.schema import Hit, RetrievalResult, headers_json

SHORT = 20
STAGES = ("vector", "bm25", "original", "fused", "evidence", "exact", "rerank", "blended")
"""Of an explanation, in the order they ran."""
WIDE = 160
"""Columns where output goes to a file or another program."""


def console() -> Console:
    return Console(highlight=False, soft_wrap=True, emoji=False)


def verbatim(text: str, style: str = "") -> Text:
    """Text that is not ours, as it stands: rich would read `[1]`, `\\[` and `:key:` in a string as markup."""
    return Text("\n".join(visible(line) for line in text.split("\n")), style)


def print_json(value: Any) -> None:
    click.echo(json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False))


def print_table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    table = Table(title=title, title_justify="left", title_style="bold", show_edge=False, pad_edge=False)
    for name in rows[0] if rows else ():
        numeric = all(isinstance(r[name], int | float) and not isinstance(r[name], bool) for r in rows)
        # Ids and numbers are copied from the terminal: they stay on one line, and prose gives way.
        short = all(len(_cell(r[name])) <= SHORT for r in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold", no_wrap=short)
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    Console(highlight=False, width=None if sys.stdout.isatty() else WIDE).print(table)


def result_json(result: RetrievalResult) -> dict[str, Any]:
    """The documented object of `query --json`: `chunks` from first to last."""
    return {
        "query": result.query,
        "collection": result.collection,
        "strategy": result.strategy,
        "release": result.release_id,
        "build_key": result.build_key,
        "read_filters": dict(result.read_filters),
        "context": result.context,
        "formatted_context": result.formatted_context,
        "total_tokens": result.total_tokens,
        "citations": [{"number": c.number, "document": c.doc_id, "section": c.section_id} for c in result.citations],
        "sources": [
            {"document": s.doc_id, "source": s.source, "title": s.title, "citations": list(s.citations)}
            for s in result.sources
        ],
        "chunks": [hit_json(hit) for hit in result.hits],
        "empty_reason": result.empty_reason,
        "candidates": dict(result.candidates),
        "timings_ms": dict(result.timings_ms),
        "markers": list(result.markers),
    }


def hit_json(hit: Hit) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "content": hit.content,
        "lead": hit.lead,
        "source": hit.source,
        "document": hit.doc_id,
        "title": hit.title,
        "headers": headers_json(hit.headers),
        "offsets": {"start": hit.start, "end": hit.end},
        "section": {
            "id": hit.section_id,
            "start": hit.section_start,
            "end": hit.section_end,
            "content": hit.section_content,
        },
        "chunk_id": hit.chunk_id,
        "kind": hit.kind,
        "score": hit.score,
        "scores": dict(hit.scores),
        "ranks": dict(hit.ranks),
        "relevance_score": hit.relevance_score,
        "also_in": list(hit.also_in),
        "locator": hit.locator,
    }


def explanation_rows(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """`rank (score)` by stage for each hit; stages that ranked none of them are left out."""
    stages = [stage for stage in STAGES if any(stage in hit.ranks for hit in hits)]
    return [
        {
            "#": hit.rank,
            "document": hit.doc_id,
            **{s: f"{hit.ranks[s]} ({hit.scores[s]:.3f})" if s in hit.ranks else None for s in stages},
            "relevance": None if hit.relevance_score is None else f"{hit.relevance_score:.2f}",
        }
        for hit in hits
    ]


def header_path(hit: Hit) -> str:
    return visible(" > ".join(title for _, title in hit.headers))


def visible(text: str) -> str:
    """Control characters as `\\x1b`: a file's name or text must not steer the terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return "\n".join(visible(line) for line in str(value).split("\n"))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, Path) else value

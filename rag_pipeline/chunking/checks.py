"""Properties every chunking must have, as pure functions over rows; Dagster and the command line convert them."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from rag_pipeline.checks import CheckResult
from rag_pipeline.chunking.garbage import has_visible
from rag_pipeline.chunking.search_text import SPECIAL_TOKENS
from rag_pipeline.chunking.sectioner_markdown import is_headings_only
from rag_pipeline.chunking.split import LONG_HEADING
from rag_pipeline.schema import Chunk, Section

_SHOWN = 3


def check_no_empty_chunks(chunks: Iterable[Chunk]) -> CheckResult:
    """No chunk without visible text, and none that is only headings, unless these are all its document has.

    A heading, or a run of them, of more than `LONG_HEADING` code points counts as text.
    """
    rows = list(chunks)
    empty = [c.chunk_id for c in rows if not has_visible(c.text)]
    bare = [c.chunk_id for c in rows if c.kind == "prose" and len(c.text) <= LONG_HEADING and is_headings_only(c.text)]
    return _result(
        not empty and not bare,
        good=f"{len(rows)} chunks, each with text of its own",
        bad=f"{len(empty)} empty and {len(bare)} header-only chunks{_named([*empty, *bare])}; look at garbage.py",
        numbers={"chunks": len(rows), "empty": len(empty), "header_only": len(bare)},
    )


def check_parents(chunks: Iterable[Chunk], sections: Iterable[Section]) -> CheckResult:
    """Every chunk lies inside a section of its own document, and every section has a header path."""
    parents = {s.section_id: s for s in sections}
    rows = list(chunks)
    orphans = [c.chunk_id for c in rows if not _inside(c, parents.get(c.section_id))]
    pathless = [s.section_id for s in parents.values() if not s.headers]
    return _result(
        not orphans and not pathless,
        good=f"{len(rows)} chunks in {len(parents)} sections, each with a header path",
        bad=f"{len(orphans)} chunks outside a section and {len(pathless)} sections without header path"
        f"{_named([*orphans, *pathless])}; the chunker is at fault, chunk again after mending it",
        numbers={"chunks": len(rows), "sections": len(parents), "orphans": len(orphans), "pathless": len(pathless)},
    )


def check_limit(chunks: Iterable[Chunk], count: Callable[[Sequence[str]], Sequence[int]], *, limit: int) -> CheckResult:
    """No search text over the model's limit, special tokens included; `count` counts the tokens of texts without them,
    and nothing is taken from the chunker."""
    rows = list(chunks)
    counts = [n + SPECIAL_TOKENS for n in count([c.search_text for c in rows])]
    over = [c.chunk_id for c, n in zip(rows, counts, strict=True) if n > limit]
    longest = max(counts, default=0)
    return _result(
        not over,
        good=f"{len(rows)} search texts, the longest {longest} of {limit} tokens",
        bad=f"{len(over)} search texts over {limit} tokens{_named(over)}; the model would not read their ends",
        numbers={"chunks": len(rows), "over": len(over), "longest": longest, "limit": limit},
    )


def check_spans(chunks: Iterable[Chunk], texts: Mapping[str, str]) -> CheckResult:
    """Each chunk's text is the document's own text at its offsets, code point by code point."""
    rows = list(chunks)
    wrong = [c.chunk_id for c in rows if c.end <= c.start or texts.get(c.doc_id, "")[c.start : c.end] != c.text]
    return _result(
        not wrong,
        good=f"{len(rows)} chunks equal their source spans",
        bad=f"{len(wrong)} of {len(rows)} chunks differ from their source{_named(wrong)}; chunk this snapshot again",
        numbers={"chunks": len(rows), "wrong": len(wrong)},
    )


def _inside(chunk: Chunk, section: Section | None) -> bool:
    return (
        section is not None
        and section.doc_id == chunk.doc_id
        and section.start <= chunk.start
        and chunk.end <= section.end
    )


def _named(ids: Sequence[str]) -> str:
    return f" (first: {', '.join(ids[:_SHOWN])})" if ids else ""


def _result(passed: bool, *, good: str, bad: str, numbers: Mapping[str, int | float | str]) -> CheckResult:
    return CheckResult(passed, good if passed else bad, numbers)

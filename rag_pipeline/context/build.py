"""Passages in rank order to one context that fits its token budget; only what is presented is numbered."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from rag_pipeline.context.budget import shares, windows
from rag_pipeline.context.escape import escape
from rag_pipeline.context.forms import FORMS, Form, by_document
from rag_pipeline.context.passage import Parent, Presented, Span
from rag_pipeline.settings.base import pick
from rag_pipeline.text.tokenizer import Tokenizer, count_many

CUT = "context=cut"
LEFT_OUT = "context=left_out"
TOO_SMALL = "context=budget_too_small"

LEAST_TOKENS = 32
"""A passage that can have no more than this is left out, so that those before it keep enough to be understood."""

GAP = "…"


@dataclass(frozen=True, slots=True)
class Context:
    text: str
    """"" where not even the head fits."""
    tokens: int
    """Of the whole text, by the tokenizer named."""
    passages: tuple[Presented, ...]
    """By number, from 1."""
    documents: int
    left_out: tuple[str, ...]
    """Ids of the sections that found no room."""
    markers: tuple[str, ...]
    tokenizer: str
    """Its fingerprint."""


def build_context(
    query: str,
    parents: Sequence[Parent],
    *,
    budget: int,
    tokenizer: Tokenizer,
    form: str = "markdown",
    least: int = LEAST_TOKENS,
) -> Context:
    """`parents` in rank order. The text never has more than `budget` tokens. Raises UnknownName for another form.

    Passages are grouped by document, documents and the passages within them in rank order; the numbers follow that.
    """
    render = pick(FORMS, form, "context form")
    parts = _measured(query, parents, render, tokenizer)
    room, tries = budget, 0
    while room > 0:
        presented = _presented(parts, room=room, least=least)
        text = render(query, presented)
        tokens = tokenizer.count(text)
        if tokens <= budget:
            return _context(text, tokens, presented, parents, tokenizer)
        # Escapes, cut marks and tokens that span borders cost more than the parts did; give that back and try again.
        tries += 1
        room = room - (tokens - budget) * tries if presented else 0
    return Context("", 0, (), 0, tuple(parent.section_id for parent in parents), (TOO_SMALL,), tokenizer.fingerprint)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Tokens of everything that may be presented, counted once."""

    parents: Sequence[Parent]
    head: int
    frames: Sequence[int]
    """What each passage costs besides its text, as if it were alone in its document."""
    texts: Sequence[int]
    """The escaped texts."""
    gap: int
    """One gap mark."""
    spans: Callable[[int], Sequence[Span]]
    """By place, of the tokens of a source text; found when a passage has to be cut."""


def _measured(query: str, parents: Sequence[Parent], render: Form, tokenizer: Tokenizer) -> _Parts:
    framed = [render(query, (Presented(number, parent, (), ""),)) for number, parent in enumerate(parents, start=1)]
    escaped = [escape(parent.text) for parent in parents]
    gap, head, *rest = count_many(tokenizer, [GAP, render(query, ()), *framed, *escaped])
    frames, texts = rest[: len(parents)], rest[len(parents) :]
    spans = cache(lambda place: tokenizer.spans(parents[place].text))
    return _Parts(parents, head, [max(0, frame - head) for frame in frames], texts, gap, spans)


def _presented(parts: _Parts, *, room: int, least: int) -> tuple[Presented, ...]:
    needs = [frame + text for frame, text in zip(parts.frames, parts.texts, strict=True)]
    floor = max(parts.frames, default=0) + least
    given = shares(needs, budget=room - parts.head, least=floor)
    chosen: list[tuple[Parent, tuple[Span, ...]]] = []
    for place, (parent, share) in enumerate(zip(parts.parents, given, strict=True)):
        shown = _fitting(parts, place, tokens=share - parts.frames[place])
        if shown:
            chosen.append((parent, shown))
    return _numbered(chosen)


def _fitting(parts: _Parts, place: int, *, tokens: int) -> tuple[Span, ...]:
    parent = parts.parents[place]
    if tokens <= 0:
        return ()
    if parts.texts[place] <= tokens:
        return ((0, len(parent.text)),) if parent.text else ()
    marks = (len(parent.hits) + 1) * parts.gap  # at most: one at each end, and one between any two hits
    return windows(parent.text, parent.hits, parts.spans(place), tokens=max(1, tokens - marks))


def _numbered(chosen: Sequence[tuple[Parent, tuple[Span, ...]]]) -> tuple[Presented, ...]:
    unnumbered = [Presented(0, parent, spans, escape(_shown(parent.text, spans))) for parent, spans in chosen]
    grouped = [passage for passages in by_document(unnumbered).values() for passage in passages]
    return tuple(replace(passage, number=number) for number, passage in enumerate(grouped, start=1))


def _shown(text: str, spans: Sequence[Span]) -> str:
    """The spans joined by a gap mark, with one at each end that is cut."""
    shown = f" {GAP} ".join(text[start:end].strip() for start, end in spans)
    before = f"{GAP} " if text[: spans[0][0]].strip() else ""
    behind = f" {GAP}" if text[spans[-1][1] :].strip() else ""
    return f"{before}{shown}{behind}"


def _context(
    text: str, tokens: int, presented: tuple[Presented, ...], parents: Sequence[Parent], tokenizer: Tokenizer
) -> Context:
    shown = {passage.parent.section_id for passage in presented}
    left_out = tuple(parent.section_id for parent in parents if parent.section_id not in shown)
    markers = [CUT] if any(passage.is_cut for passage in presented) else []
    markers += [LEFT_OUT] if left_out else []
    documents = len(by_document(presented))
    return Context(text, tokens, presented, documents, left_out, tuple(markers), tokenizer.fingerprint)

"""The default chunker: sections by structure, children packed evenly within them, nothing lost without a record."""

from collections.abc import Sequence

from rag_pipeline.chunking.assemble import DocumentChunks, PlannedPiece, PlannedSection, assemble
from rag_pipeline.chunking.blocks import CODE_KINDS
from rag_pipeline.chunking.garbage import body_text, find_blobs, find_holes, section_rule, without, word_count
from rag_pipeline.chunking.outline import outline
from rag_pipeline.chunking.overlap import overlapped
from rag_pipeline.chunking.request import Request
from rag_pipeline.chunking.search_text import Prefixes
from rag_pipeline.chunking.sectioners import sectioner_for
from rag_pipeline.chunking.sections import Draft, make_drafts, section_headers
from rag_pipeline.chunking.sizes import Sizes
from rag_pipeline.chunking.split import kind_of, pieces
from rag_pipeline.schema import LedgerEntry


def chunk_sections(request: Request) -> DocumentChunks:
    document, settings = request.document, request.settings
    text = document.text
    prefixes = request.prefixes()
    blobs = find_blobs(text, start=document.body_start)
    sizes = Sizes(without(text, blobs), request.tokenizer, unit=settings.unit)
    cap = sizes.section_measure(size=settings.section_tokens)
    parsed = sectioner_for(document.format)(document, size=cap.span, cap=cap.budget)
    holes = find_holes(
        text,
        parsed.parts,
        blobs,
        drop_comments=settings.html_comments == "drop",
        boilerplate=request.boilerplate,
    )
    ledger = [*parsed.notices, *(request.entry("filtered", h.rule, h.start, h.end) for h in holes)]
    drafts = make_drafts(
        text, parsed.parts, holes, min_chars=settings.min_chars, least=settings.section_min_tokens, measure=cap
    )
    kept, rejected = _judged(request, drafts)
    ledger += rejected
    if not kept:
        return outline(request, parsed.parts, holes, sizes=sizes, prefixes=prefixes, ledger=_in_order(ledger))
    # A reader of a capped parent sees a part of the section: that is said, not left to be noticed.
    ledger += [
        request.entry("notice", "section_capped", p.start, p.end)
        for p in parsed.parts
        if cap.span(p.start, p.end) > cap.budget and any(p.start < d.start < p.end for d in kept)
    ]
    plan = [_planned(request, draft, sizes=sizes, prefixes=prefixes) for draft in kept]
    return assemble(
        document,
        plan,
        tokenizer=request.tokenizer,
        limit=request.limit,
        prefixes=prefixes,
        measure=request.child_measure(sizes, prefix_tokens=request.prefix_cap),
        ledger=_in_order(ledger),
    )


def _judged(request: Request, drafts: Sequence[Draft]) -> tuple[list[Draft], list[LedgerEntry]]:
    """What stays, and what goes with its rule. A document that is short as a whole keeps what has a real word in it."""
    text = request.document.text
    rules = [
        section_rule(text, d.blocks, min_chars=request.settings.min_chars, beside_hole=d.beside_hole) for d in drafts
    ]
    if all(rule is not None for rule in rules):
        rules = [
            None if rule == "too_short" and word_count(body_text(text, d.blocks)) else rule
            for rule, d in zip(rules, drafts, strict=True)
        ]
    kept = [d for d, rule in zip(drafts, rules, strict=True) if rule is None]
    rejected = [
        request.entry("filtered", rule, d.start, d.end)
        for d, rule in zip(drafts, rules, strict=True)
        if rule is not None
    ]
    return kept, rejected


def _planned(request: Request, draft: Draft, *, sizes: Sizes, prefixes: Prefixes) -> PlannedSection:
    text, title = request.document.text, request.document.title
    longest = max(prefixes.of(p.headers)[1] for p in draft.parts)
    measure = request.child_measure(sizes, prefix_tokens=longest)
    found = pieces(text, draft.blocks, measure)
    found = overlapped(text, found, sizes.units, units=request.settings.child_overlap_tokens)
    headers = draft.headers_of([(p.start, p.end) for p in found])
    planned = tuple(PlannedPiece(p, path) for p, path in zip(found, headers, strict=True))
    body = [b for b in draft.blocks if b.kind != "heading"]
    kind = kind_of(
        "code" if b.kind in CODE_KINDS else "table" if b.kind == "table" else "prose" for b in body or draft.blocks
    )
    return PlannedSection(draft.start, draft.end, section_headers(text, draft, title=title), kind, planned)


def _in_order(ledger: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    return sorted(ledger, key=lambda e: (e.start or 0, e.end or 0, e.rule))

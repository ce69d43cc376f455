"""Markdown to parts: block borders come from a CommonMark parser's line numbers, never from regular expressions.

Only headings of the outermost level open a part; those in quotes and lists are text. Admonitions, MDX imports and
directives are what CommonMark makes of them: paragraphs, lists and indented code.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from rag_pipeline.chunking.blocks import Block, Kind, Parsed, fill_gaps, parts_by_heading
from rag_pipeline.chunking.lines import line_starts
from rag_pipeline.chunking.sizes import SpanSize
from rag_pipeline.schema import Document, LedgerEntry

_ANCHOR = re.compile(r"(?<!\{)\{:?\s*(?:[#.]|[\w-]{1,40}=)[^{}]*\}\s*$")
_KINDS: dict[str, Kind] = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "fence": "fence",
    "code_block": "indented_code",
    "table_open": "table",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "list_item_open": "list",
    "blockquote_open": "blockquote",
    "html_block": "html",
    "hr": "rule",
}
_CONTAINERS = frozenset({"bullet_list_open", "ordered_list_open", "list_item_open", "blockquote_open"})
_FENCE_MARKS = ("```", "~~~")


def parse_markdown(document: Document, *, size: SpanSize, cap: int) -> Parsed:
    """Parts in document order; together they hold every code point of the body that is not white space."""
    text, start = document.text, document.body_start
    reader = _Reader(document)
    blocks = fill_gaps(text, reader.blocks(text[start:], line_starts(text, start=start)), start=start, end=len(text))
    return Parsed(parts_by_heading(blocks), tuple(reader.notices))


class _Reader:
    """One document's tokens as blocks; collects notices on the way."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.notices: list[LedgerEntry] = []

    def blocks(self, source: str, starts: Sequence[int], *, nested: bool = False) -> list[Block]:
        """Blocks of `source`, whose line i begins at `starts[i]` of the document."""
        env: dict[str, Any] = {}
        tokens = _block_parser().parse(source, env)
        return list(self._siblings(tokens, starts, env, nested=nested))

    def _siblings(
        self, tokens: Sequence[Token], starts: Sequence[int], env: dict[str, Any], *, nested: bool
    ) -> Iterator[Block]:
        for first, last in _ranges(tokens):
            token = tokens[first]
            kind = _KINDS.get(token.type)
            if kind is None or token.map is None:
                continue
            start, end = starts[min(token.map[0], len(starts) - 1)], starts[min(token.map[1], len(starts) - 1)]
            if start == end:
                continue
            inside = tokens[first + 1 : last]
            if kind == "heading":
                title = plain_title(inside[0].content, env)
                yield Block(start, end, "heading", level=int(token.tag[1:]), title=title)
            elif kind == "fence":
                self._check_closed(token, start, end)
                yield Block(start, end, "fence", language=(token.info.split() or [""])[0].lower())
            elif kind == "html":
                yield Block(start, end, self._html_kind(start, end))
            elif kind == "table":
                head_end = starts[min(token.map[0] + 2, len(starts) - 1)]
                yield Block(start, end, "table", head=(start, head_end))
            elif kind == "indented_code":
                yield Block(start, end, kind, children=() if nested else self._indented(token, starts))
            elif token.type in _CONTAINERS:
                children = _covering(list(self._siblings(inside, starts, env, nested=nested)), start, end)
                yield Block(start, end, kind, children=children)
            else:
                yield Block(start, end, kind)

    def _indented(self, token: Token, starts: Sequence[int]) -> tuple[Block, ...]:
        """What stands indented under an admonition is Markdown again: fences in it must be known to stay whole."""
        if not any(mark in token.content for mark in _FENCE_MARKS) or token.map is None:
            return ()
        first, last = token.map
        inner = list(starts[first : last + 1])
        start, end = inner[0], inner[-1]
        return _covering(_Reader(self._document).blocks(token.content, inner, nested=True), start, end)

    def _check_closed(self, token: Token, start: int, end: int) -> None:
        """A closed fence spans its content and two more lines."""
        content = token.content.count("\n") + (1 if token.content and not token.content.endswith("\n") else 0)
        if token.map is not None and token.map[1] - token.map[0] < content + 2:
            detail = "the fence runs to the end of its container; close it in the source"
            self.notices.append(
                LedgerEntry(
                    self._document.doc_id, "chunk", "notice", "unclosed_fence", detail, start, end, size=end - start
                )
            )

    def _html_kind(self, start: int, end: int) -> Kind:
        html = self._document.text[start:end].strip()
        if not html.startswith("<!--"):
            return "html"
        closed = html.find("-->", 4)
        if closed >= 0:
            return "comment" if closed + 3 == len(html) else "html"
        detail = "the comment never ends; its text is kept, close it in the source"
        self.notices.append(
            LedgerEntry(
                self._document.doc_id, "chunk", "notice", "unclosed_comment", detail, start, end, size=end - start
            )
        )
        return "html"


def plain_title(content: str, env: dict[str, Any] | None = None) -> str:
    """The text a reader sees of a heading's inline source: no markup, no `{#anchor}`."""
    tokens = _inline_parser().parseInline(_ANCHOR.sub("", content).rstrip(), env if env is not None else {})
    return " ".join("".join(_plain(tokens[0].children or [])).split()) if tokens else ""


def _plain(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("text", "code_inline", "text_special"):
            yield token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type == "image":
            yield from _plain(token.children or [])


def _ranges(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Index of each sibling's first and last token."""
    depth, first = 0, 0
    for i, token in enumerate(tokens):
        if depth == 0:
            first = i
        depth += token.nesting
        if depth == 0:
            yield first, i


def _covering(children: list[Block], start: int, end: int) -> tuple[Block, ...]:
    """Children stretched to cover `[start, end)`: list markers and quote signs go with the block they introduce."""
    kept: list[Block] = []
    for child in children:
        if not kept or child.start > kept[-1].start:
            kept.append(child)
    if not kept:
        return ()
    borders = [start, *(child.start for child in kept[1:]), end]
    return tuple(
        Block(low, high, c.kind, c.level, c.title, c.language, c.head, c.children)
        for c, (low, high) in zip(kept, pairwise(borders), strict=True)
    )


@cache
def _block_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


@cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


def is_headings_only(text: str) -> bool:
    """Whether a text read as Markdown holds nothing but headings and rules; link definitions count as text."""
    env: dict[str, Any] = {}
    tokens = _block_parser().parse(text, env)
    if env.get("references"):
        return False
    kinds = [_KINDS.get(tokens[first].type) for first, _ in _ranges(tokens)]
    return "heading" in kinds and all(kind in ("heading", "rule") for kind in kinds)

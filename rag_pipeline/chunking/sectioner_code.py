"""Source code to parts, split by definition: a function, a class that fits or else its methods, a CREATE statement.

Comments and decorators directly above a definition go with it. What stands between definitions is a part under the
file's own title. Which nodes are definitions is said in code_grammars.py.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_pipeline.chunking.blocks import Block, Headers, Parsed, Part, fill_gaps
from rag_pipeline.chunking.code_grammars import GRAMMARS, Grammar, code_parser
from rag_pipeline.chunking.lines import line_start
from rag_pipeline.chunking.sizes import SpanSize
from rag_pipeline.schema import Document

if TYPE_CHECKING:
    from tree_sitter import Node

_DEEPEST = 6
_COMMENTS = ("comment", "marginalia")


def code_sectioner(language: str) -> Callable[..., Parsed]:
    """The sectioner of one language of GRAMMARS."""

    def parse_code(document: Document, *, size: SpanSize, cap: int) -> Parsed:
        text, start = document.text, document.body_start
        source = _Source(text, start)
        root = code_parser(language).parse(source.data).root_node
        cutter = _Cutter(GRAMMARS[language], language, source, size=size, cap=cap)
        items = cutter.items(root, ((1, document.title),), depth=0)
        return Parsed(_parts(text, items, start=start, end=len(text), language=language, title=document.title))

    return parse_code


class _Source:
    """UTF-8 for the parser, and its byte offsets back to code points of the document."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self._start = start
        body = text[start:]
        self.data = body.encode("utf-8", "replace")
        self._plain = len(self.data) == len(body)
        self._bytes, self._points = [0], [0]
        if not self._plain:
            for line in self.data.splitlines(keepends=True):
                self._bytes.append(self._bytes[-1] + len(line))
                self._points.append(self._points[-1] + len(line.decode("utf-8")))

    def at(self, offset: int) -> int:
        if self._plain:
            return self._start + offset
        line = bisect_right(self._bytes, offset) - 1
        within = self.data[self._bytes[line] : offset].decode("utf-8", "replace")
        return self._start + self._points[line] + len(within)


@dataclass(frozen=True, slots=True)
class _Item:
    """A definition or a statement that is none, by where it starts."""

    start: int
    headers: Headers
    is_definition: bool


class _Cutter:
    def __init__(self, grammar: Grammar, language: str, source: _Source, *, size: SpanSize, cap: int) -> None:
        self._grammar = grammar
        self._source = source
        self._size = size
        self._cap = cap

    def items(self, parent: "Node", headers: Headers, *, depth: int) -> list[_Item]:
        out: list[_Item] = []
        comment_start: int | None = None
        comment_end = 0
        for node in self._flat(parent):
            start, end = self._span(node)
            if node.type in _COMMENTS:
                if comment_start is None or not self._touch(comment_end, start):
                    comment_start = start
                    out.append(_Item(start, headers, is_definition=False))
                comment_end = end
                continue
            definition = self._definition(node)
            name = self._grammar.name(definition) if definition is not None else ""
            if definition is None or not name:
                out.append(_Item(start, headers, is_definition=False))
            else:
                if comment_start is not None and self._touch(comment_end, start):
                    out.pop()
                    start = comment_start
                own = (*headers, (len(headers) + 1, " ".join(name.split())[:120]))
                out += self._defined(definition, start, end, own, depth=depth)
            comment_start = None
        return out

    def _defined(self, node: "Node", start: int, end: int, headers: Headers, *, depth: int) -> list[_Item]:
        """A container that does not fit is its own head, then its members."""
        own = _Item(start, headers, is_definition=True)
        body = node.child_by_field_name("body")
        fits = self._size(start, end) <= self._cap
        if fits or body is None or node.type not in self._grammar.containers or depth >= _DEEPEST:
            return [own]
        members = self.items(body, headers, depth=depth + 1)
        first = next((i for i, m in enumerate(members) if m.is_definition), len(members))
        return [own, *members[first:]]

    def _flat(self, parent: "Node") -> Iterable["Node"]:
        """Children, seen through nodes that are only a way to the next level."""
        stack = [parent]
        while stack:
            node = stack.pop()
            if node is parent or node.type in self._grammar.passages:
                stack.extend(reversed(node.named_children))
            else:
                yield node

    def _definition(self, node: "Node") -> "Node | None":
        while node.type in self._grammar.wrappers:
            inner = [c for c in node.named_children if c.type not in (*_COMMENTS, "decorator")]
            if not inner:
                return None
            node = inner[-1]
        if node.type == "lexical_declaration":
            values = [c.child_by_field_name("value") for c in node.named_children]
            if not any(v is not None and v.type in ("arrow_function", "function_expression", "class") for v in values):
                return None
        return node if node.type in self._grammar.definitions else None

    def _span(self, node: "Node") -> tuple[int, int]:
        """From the first column of its line where only white space stands before it."""
        start, end = self._source.at(node.start_byte), self._source.at(node.end_byte)
        first = line_start(self._source.text, start)
        return (start if self._source.text[first:start].strip() else first), end

    def _touch(self, end: int, start: int) -> bool:
        """No blank line between the two."""
        return self._source.text.count("\n", end, start) <= 1


def _parts(text: str, items: Sequence[_Item], *, start: int, end: int, language: str, title: str) -> tuple[Part, ...]:
    borders = [_Item(start, ((1, title),), is_definition=False)]
    for item in items:
        if item.start > borders[-1].start:
            borders.append(item)
        elif item.is_definition:
            borders[-1] = item
    ends = [*(b.start for b in borders[1:]), end]
    blocks = [
        Block(b.start, stop, "code", language=language) for b, stop in zip(borders, ends, strict=True) if stop > b.start
    ]
    by_start = {b.start: b for b in borders}
    parts: list[Part] = []
    for block in fill_gaps(text, blocks, start=start, end=end):
        if not text[block.start : block.end].strip():
            continue
        item = by_start.get(block.start, borders[0])
        if parts and not item.is_definition and parts[-1].headers == item.headers:
            parts[-1] = Part(item.headers, (*parts[-1].blocks, block))
        else:
            parts.append(Part(item.headers, (block,)))
    return tuple(parts)

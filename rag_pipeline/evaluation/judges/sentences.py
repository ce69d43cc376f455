"""Cutting an answer into the sentences that are judged, with exact offsets. What a sentence claims is terms.py's.

What a fence holds is one unit; a heading, a table row and a line that ends in a citation mark end at their line, a
list item at the next; wrapped lines of a paragraph belong together. Inside these units text/sentences.py decides. A
mark such as `[2]` behind a full stop stays with the sentence it supports, and a full stop inside `inline code` ends
nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from rag_pipeline.context.escape import MARK_BODY
from rag_pipeline.text.sentences import sentence_spans


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    """Equals `answer[start:end]`; holds at least one letter or digit."""
    start: int
    end: int


_LINE_START = re.compile(r"[ \t]*(?:[-*+•][ \t]+|\d{1,3}[.)][ \t]+|#{1,6}[ \t]+|>[ \t]*|\|)")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?:(?!\1).)+?\1")
_MARKS = regex.compile(MARK_BODY)
_LEADING_MARKS = regex.compile(rf"(?:\s*+{MARK_BODY})++[.,;]?")
_ENDS_IN_MARK = regex.compile(rf"{MARK_BODY}\s*+$")


def sentences(text: str) -> tuple[Sentence, ...]:
    """In order, never overlapping; what lies between them is white space and list, table or heading marks."""
    found = []
    for start, end, is_code in _units(text):
        for a, b in [(start, end)] if is_code else _within(text, start, end):
            piece = text[a:b]
            if any(c.isalnum() for c in _MARKS.sub("", piece)):
                a += len(piece) - len(piece.lstrip(" \t\r\n|"))
                b -= len(piece) - len(piece.rstrip(" \t\r\n|"))
                found.append(Sentence(text[a:b], a, b))
    return tuple(found)


def _units(text: str) -> Iterator[tuple[int, int, bool]]:
    """Spans that no sentence crosses, and whether each is a fenced block."""
    began: int | None = None
    fence: str | None = None
    at = 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        mark = _FENCE.match(line)
        if fence is not None:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                yield began or 0, start, True
                began = fence = None
            continue
        lead = _LINE_START.match(line)
        if began is not None and (mark or lead or not line.strip()):
            yield began, start, False
            began = None
        if mark:
            fence, began = mark[1], at
        elif lead and line.lstrip().startswith(("#", "|")):
            yield start + lead.end(), at, False
        elif line.strip():
            began = start + lead.end() if lead else (start if began is None else began)
            if _ENDS_IN_MARK.search(line):
                yield began, at, False
                began = None
    if began is not None:
        yield began, len(text), fence is not None


def _within(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    code = [match.span() for match in _CODE.finditer(piece)]
    began: int | None = None
    ended = 0
    for a, b in sentence_spans(piece):
        if began is not None:
            marks = _LEADING_MARKS.match(piece, ended, b)
            if marks:  # they belong to what was said before them
                ended = marks.end()
                if ended == b:
                    continue
                a = ended + len(piece[ended:b]) - len(piece[ended:b].lstrip())
            if any(x < ended < y for x, y in code):
                ended = b
                continue
            yield start + began, start + ended
        began, ended = a, b
    if began is not None:
        yield start + began, start + ended

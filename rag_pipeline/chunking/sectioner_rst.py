"""reStructuredText to parts: docutils finds the section titles, blank lines the blocks between them.

Nothing in the text may reach a file or pass raw output through: both are switched off. Directives docutils does not
know stay text.
"""

import re
from bisect import bisect_right

from rag_pipeline.chunking.blocks import Block, Kind, Parsed, Part, fill_gaps, parts_by_heading
from rag_pipeline.chunking.lines import trimmed
from rag_pipeline.chunking.sectioner_text import paragraphs
from rag_pipeline.chunking.sizes import SpanSize
from rag_pipeline.schema import Document, LedgerEntry

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*\s*")


def parse_rst(document: Document, *, size: SpanSize, cap: int) -> Parsed:
    """Where docutils gives up, the text is kept whole with a notice."""
    text, start = document.text, document.body_start
    try:
        titles = _titles(text[start:])
    except Exception as error:  # noqa: BLE001 - docutils raises anything on odd input; the notice is the record
        detail = f"docutils: {type(error).__name__}: {error}"[:200]
        notice = LedgerEntry(document.doc_id, "chunk", "notice", "unparsed_rst", detail, start, len(text))
        blocks = paragraphs(text, start, len(text))
        return Parsed((Part((), tuple(blocks)),) if blocks else (), (notice,))
    headings = _headings(text, start, titles)
    out: list[Block] = []
    cursor = start
    for heading in headings:
        out += _indented_joined(text, paragraphs(text, cursor, heading.start))
        out.append(heading)
        cursor = heading.end
    out += _indented_joined(text, paragraphs(text, cursor, len(text)))
    return Parsed(parts_by_heading(fill_gaps(text, out, start=start, end=len(text))))


def _titles(source: str) -> list[tuple[int, int, str]]:
    """(line number of the underline from 1, level, title), in document order."""
    from docutils import nodes
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser
    from docutils.utils import new_document

    settings = get_default_settings(Parser)
    settings.file_insertion_enabled = False
    settings.raw_enabled = False
    settings.report_level = 5
    settings.halt_level = 6
    settings.warning_stream = False
    settings.syntax_highlight = "none"
    tree = new_document("", settings)
    Parser().parse(source, tree)
    found = []
    for section in tree.findall(nodes.section):
        depth, parent = 1, section.parent
        while parent is not None and not isinstance(parent, nodes.document):
            depth += isinstance(parent, nodes.section)
            parent = parent.parent
        title = " ".join(section[0].astext().split()) if len(section) else ""
        if section.line:
            found.append((section.line, depth, title))
    return sorted(found)


def _headings(text: str, start: int, titles: list[tuple[int, int, str]]) -> list[Block]:
    """docutils breaks lines as str.splitlines does, after turning vertical tabs and form feeds into spaces."""
    lines = text[start:].replace("\v", " ").replace("\f", " ").splitlines(keepends=True)
    starts = [start]
    for line in lines:
        starts.append(starts[-1] + len(line))
    out: list[Block] = []
    for underline, level, title in titles:
        first = underline - 2
        if first < 0 or underline > len(lines):
            continue
        if first > 0 and _ADORNMENT.fullmatch(lines[first - 1]) and _same_mark(lines[first - 1], lines[underline - 1]):
            first -= 1
        block = Block(starts[first], starts[underline], "heading", level=level, title=title)
        if not out or block.start >= out[-1].end:
            out.append(block)
    return out


def _same_mark(above: str, below: str) -> bool:
    return above.rstrip() == below.rstrip()


def _indented_joined(text: str, blocks: list[Block]) -> list[Block]:
    """An indented run goes with the line that introduces it: a literal block, a directive's content."""
    out: list[Block] = []
    opening = [b.start for b in blocks if not text[b.start].isspace()]
    for block in blocks:
        if out and text[block.start].isspace() and bisect_right(opening, block.start):
            first = out.pop()
            introduced = text[slice(*trimmed(text, first.start, first.end))]
            literal = introduced.endswith("::") or introduced.lstrip().startswith(".. code")
            kind: Kind = "fence" if first.kind == "fence" or literal else "paragraph"
            out.append(Block(first.start, block.end, kind))
        else:
            out.append(block)
    return out

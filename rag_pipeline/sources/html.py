"""HTML to Markdown. Scripts, styles and navigation are dropped; headings with an id become locators.

Words are not escaped: `create_agent` must stay one identifier for search. Only a text line that would read as a
heading, rule or fence is.
"""

import re
from typing import Any

from bs4 import BeautifulSoup, Tag
from bs4.exceptions import ParserRejectedMarkup
from markdownify import MarkdownConverter

from rag_pipeline.sources.metadata import Metadata, one_line, read_metadata
from rag_pipeline.sources.notebook import fenced
from rag_pipeline.sources.reader import Reading, Refusal
from rag_pipeline.text.decode import decode
from rag_pipeline.text.repair import repair_text

# Not <head>: where its end is missing, the parser puts the whole page inside it.
DROPPED = ("script", "style", "nav", "template", "noscript", "svg", "iframe", "title")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
# Noncharacters: no text to be exchanged may hold them, so they can mark a place through the conversion.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
_MARK = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_BLOCK_LIKE = re.compile(r"^([ \t]*)(#{1,6}(?=\s|$)|`{3}|~{3}|[-=]{3,}[ \t]*$)", re.M)
_CODE_LANGUAGE = re.compile(r"(?:language|lang|highlight(?:-source)?|brush:)[-:\s]?([A-Za-z][\w+#-]{0,29})")
# What documentation generators put behind headings to link to them.
_PERMALINKS = ("¶", "#", "§", "🔗", "\uf0c1")
_META = {"author": "author", "description": "description", "keywords": "tags", "date": "created"}


class HtmlReader:
    format = "html"

    def read(self, data: bytes) -> Reading | Refusal:
        decoded = decode(data)
        if decoded is None:
            return Refusal("skipped", "binary", "the bytes are no text in any encoding")
        source = repair_text(decoded.text).replace(_OPEN, "").replace(_CLOSE, "")
        try:
            soup = BeautifulSoup(source, "html.parser")
            title, metadata = _title(soup), _metadata(soup)
            for tag in soup.find_all(DROPPED):
                tag.decompose()
            anchors = _mark_anchors(soup)
            marked, repairs = _to_markdown(soup)
        except ParserRejectedMarkup as error:
            # A few malformed declarations.
            return Refusal("failed", "malformed", f"not readable as HTML: {one_line(str(error))}")
        text, locators = _unmark(repair_text(marked), anchors)
        return Reading(text, title=title, metadata=metadata, locators=locators, repairs=(*decoded.repairs, *repairs))


class _Converter(MarkdownConverter):
    def escape(self, text: str, parent_tags: Any) -> str:
        return _BLOCK_LIKE.sub(r"\1\\\2", text)

    def convert_td(self, el: Tag, text: str, parent_tags: Any) -> str:
        cell: str = super().convert_td(el, text.replace("|", r"\|"), parent_tags)  # type: ignore[misc]
        return cell

    def convert_th(self, el: Tag, text: str, parent_tags: Any) -> str:
        cell: str = super().convert_th(el, text.replace("|", r"\|"), parent_tags)  # type: ignore[misc]
        return cell

    def convert_pre(self, el: Tag, text: str, parent_tags: Any) -> str:
        return f"\n\n{fenced(text.strip(chr(10)), _code_language(el))}\n\n" if text.strip() else ""


def _to_markdown(soup: BeautifulSoup) -> tuple[str, tuple[str, ...]]:
    try:
        converter = _Converter(heading_style="ATX", bullets="-", table_infer_header=True)
        return str(converter.convert_soup(soup)), ()
    except RecursionError:
        return soup.get_text("\n"), ("nested too deeply for Markdown: read as plain text",)


def _title(soup: BeautifulSoup) -> str | None:
    for name in ("title", "h1"):
        for tag in soup.find_all(name):
            # Drawings have a <title> of their own.
            if tag.find_parent("svg") is None and (words := one_line(tag.get_text())):
                return words
    return None


def _metadata(soup: BeautifulSoup) -> Metadata:
    found: dict[str, str] = {}
    for tag in soup.find_all("meta"):
        key = _META.get(str(tag.get("name", "")).lower())
        if key and str(tag.get("content", "")).strip():
            found.setdefault(key, str(tag["content"]))
    html = soup.find("html")
    if isinstance(html, Tag) and html.get("lang"):
        found["language"] = str(html["lang"])
    return read_metadata(found)


def _mark_anchors(soup: BeautifulSoup) -> list[str]:
    anchors: list[str] = []
    for heading in soup.find_all(HEADINGS):
        anchor = _anchor(heading)
        for link in heading.find_all("a"):
            if link.get_text().strip() in _PERMALINKS:
                link.decompose()
        if anchor:
            heading.insert(0, f"{_OPEN}{len(anchors)}{_CLOSE}")
            anchors.append(anchor)
    return anchors


def _anchor(heading: Tag) -> str | None:
    """Its own id, that of an anchor inside it, or that of the section it opens."""
    if heading.get("id"):
        return str(heading["id"])
    for inner in heading.find_all(True):
        if name := inner.get("id") or inner.get("name"):
            return str(name)
    parent = heading.parent
    if parent is not None and parent.name in ("section", "div", "article") and parent.get("id"):
        return str(parent["id"]) if heading.find_previous_sibling() is None else None
    return None


def _unmark(marked: str, anchors: list[str]) -> tuple[str, tuple[tuple[int, str], ...]]:
    """Text without marks, and the offset of every anchored heading's line."""
    locators: list[tuple[int, str]] = []
    parts: list[str] = []
    copied = length = 0
    for match in _MARK.finditer(marked):
        parts.append(marked[copied : match.start()])
        length += match.start() - copied
        copied = match.end()
        hashes = len(parts[-1]) - len(parts[-1].rstrip("# "))
        locators.append((length - hashes, f"#{anchors[int(match[1])]}"))
    parts.append(marked[copied:])
    text = "".join(parts)
    return text.rstrip() + "\n" if text.strip() else "", tuple(locators)


def _code_language(pre: Tag) -> str:
    code = pre.find("code")
    for tag in (code, pre, pre.parent, pre.parent.parent if pre.parent else None):
        classes = tag.get("class") if isinstance(tag, Tag) else None
        if classes and (match := _CODE_LANGUAGE.search(" ".join(classes))):
            return match[1]
    return ""

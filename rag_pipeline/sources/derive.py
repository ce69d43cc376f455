"""What a document's path and first heading say about it, where its metadata says nothing.

Lives here: title, language and category. A file's time says nothing: copying a file must not change its document.
"""

import re
from pathlib import PurePosixPath

from rag_pipeline.text.repair import repair_text

MAX_TITLE = 200
_SCAN = 20_000
_ATX = re.compile(r" {0,3}#[ \t]+(.*)")
_SETEXT = re.compile(r" {0,3}=+[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BLOCK_START = re.compile(r" {0,3}(?:[>|<#]|[-*+][ \t]|\d{1,9}[.)][ \t]|:::|!!!)")
_LANGUAGE = re.compile(r"([a-z]{2})(?:[-_]([a-z]{2}|[a-z]{4}))?", re.I)
# Not "it", "is", "no", "id", "hr", "cs", "ml", "ga": those are names of departments and things far more often.
_LANGUAGES = frozenset(
    "ar bg bn da de el en es fa fi fr he hi hu ja ko lt lv nl pl pt ro ru sk sv th tr uk vi zh".split()  # noqa: SIM905
)
_REGIONAL = _LANGUAGES | frozenset(
    "az ca cs et ga gl hr id is it ka kk lb mk mn ms mt nb nn no sl sq sr sw ta te ur".split()  # noqa: SIM905
)


def first_heading(text: str, *, start: int = 0) -> str | None:
    """The first level-1 heading of Markdown text, as plain words; fences, comments and indented code hold none."""
    fence = ""
    in_comment = False
    previous = ""
    for line in text[start : start + _SCAN].split("\n"):
        if in_comment:
            in_comment = "-->" not in line
            previous = ""
            continue
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if mark:
            fence, previous = mark[1], ""
            continue
        if line.lstrip().startswith("<!--"):
            in_comment = "-->" not in line
            previous = ""
            continue
        atx = _ATX.fullmatch(line)
        found = atx[1] if atx else previous if _SETEXT.fullmatch(line) else ""
        if title := plain(found):
            return title
        # A paragraph of one line can be underlined; anything that begins another block can't.
        indented = line.startswith(("    ", "\t"))
        previous = "" if indented or not line.strip() or _BLOCK_START.match(line) else line
    return None


def plain(heading: str) -> str:
    """A heading's words: no closing hashes, `{#anchor}`, links, emphasis or code marks."""
    text = heading[: 4 * MAX_TITLE]
    text = re.sub(r"[ \t]+#+[ \t]*$", "", text)
    text = re.sub(r"[ \t]*\{[^{}]*\}[ \t]*$", "", text)
    text = re.sub(r"<!--.*?-->|</?[A-Za-z][^<>]*>", "", text)
    text = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", text)
    text = re.sub(r"\[([^\[\]]*)\]\[[^\[\]]*\]", r"\1", text)
    text = re.sub(r"(?<!\\)(\*\*|__|\*|`+)(\S(?:.*?\S)?)\1", r"\2", text)
    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)
    return " ".join(text.split())[:MAX_TITLE]


def title_from_path(path: str, *, keep_name: bool = False) -> str:
    """ "getting-started.md" -> "Getting started"; an index page is named by its folder; code keeps its file name."""
    file = PurePosixPath(path)
    if keep_name:
        return file.name[:MAX_TITLE]
    stem = file.stem
    if stem.lower() in ("index", "_index", "readme") and file.parent.name:
        stem = file.parent.name
    words = " ".join(re.sub(r"[-_+]+|%20", " ", stem).split())
    return (words[:1].upper() + words[1:])[:MAX_TITLE] or file.name[:MAX_TITLE]


def language_from_path(path: str) -> str | None:
    """The first folder named by a language: "docs/en/x.md", "pt-br/x.md"."""
    return next((found for part in path.split("/")[:-1] if (found := _language(part))), None)


def category_from_path(path: str) -> str | None:
    """The top folder that isn't a language."""
    found = next((part for part in path.split("/")[:-1] if not _language(part)), "")
    return " ".join(repair_text(found).split()) or None


def _language(folder: str) -> str | None:
    match = _LANGUAGE.fullmatch(folder)
    if match is None:
        return None
    code, region = match[1].lower(), match[2]
    if region:
        return f"{code}-{region.lower()}" if code in _REGIONAL else None
    return code if code in _LANGUAGES else None

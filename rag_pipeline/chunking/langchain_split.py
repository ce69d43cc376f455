"""One span cut by langchain's recursive splitter, with the pieces' exact offsets."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate, pairwise

from rag_pipeline.chunking.graphemes import safe_cut

PROSE = (r"\n\s*\n", r"\n", r"(?<=[.!?;:])\s+", r"(?<=[。！？；、])", r"\s", "")
"""Regular expressions: paragraph, line, sentence, word, code point."""
LINES = (r"\n\s*\n", r"\n", r"\s", "")

# langchain's names; the package itself takes a fifth of a second to import, which a run with nothing to split saves.
_LANGUAGES = {
    "python": "python",
    "py": "python",
    "javascript": "js",
    "js": "js",
    "jsx": "js",
    "typescript": "ts",
    "ts": "ts",
    "tsx": "ts",
    "go": "go",
    "java": "java",
    "kotlin": "kotlin",
    "rust": "rust",
    "ruby": "ruby",
    "php": "php",
    "scala": "scala",
    "swift": "swift",
    "c": "c",
    "cpp": "cpp",
    "c++": "cpp",
    "csharp": "csharp",
    "html": "html",
    "lua": "lua",
    "proto": "proto",
    "haskell": "haskell",
    "elixir": "elixir",
    "powershell": "powershell",
}


def separators(language: str) -> tuple[str, ...]:
    """langchain's separators of a code language; lines where it has none."""
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

    known = _LANGUAGES.get(language)
    if known is None:
        return LINES
    return tuple(RecursiveCharacterTextSplitter.get_separators_for_language(Language(known)))


def split_span(
    text: str, start: int, end: int, *, size: int, length: Callable[[str], int], by: Sequence[str]
) -> list[tuple[int, int]]:
    """Spans that cover `[start, end)` in order, each at most `size` by `length` as far as separators allow.

    Sizes are evened out: 450 units at a size of 200 make three of about 150, not two of 200 and a rest of 50.
    """
    piece = text[start:end]
    total = length(piece)
    if total <= size:
        return [(start, end)]
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    count = -(-total // size)
    even = min(size, int(total / count * 1.15) + 1)
    splitter = RecursiveCharacterTextSplitter(
        separators=list(_usable(tuple(by))),
        is_separator_regex=True,
        chunk_size=max(even, 1),
        chunk_overlap=0,
        length_function=length,
        keep_separator=True,
        strip_whitespace=False,
    )
    cuts = [start + offset for offset in accumulate(len(p) for p in splitter.split_text(piece))]
    borders = [start]
    for cut in cuts[:-1]:
        cut = safe_cut(text, cut, low=borders[-1], high=end)
        if cut > borders[-1]:
            borders.append(cut)
    return list(pairwise([*borders, end]))


@cache
def _usable(by: tuple[str, ...]) -> tuple[str, ...]:
    """A separator with a capture group would make re.split repeat text."""
    return tuple(s for s in by if re.compile(s).groups == 0)

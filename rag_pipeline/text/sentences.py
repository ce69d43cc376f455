"""Where the sentences of a text stand: spans of the text itself, never a changed copy.

A sentence ends at a full stop, question or exclamation mark (with the quotes and brackets behind it) before white space
and something that begins one, or at a blank line. What ends in an abbreviation, an initial or a list number goes on.
"""

from collections.abc import Iterator

import regex

# Endings of scripts without spaces end a sentence wherever they stand.
_END = regex.compile(
    r"""(?:(?<![.!?…])[.!?…]++["'”’»)\]*_`]{0,4}+(?=\s++["'“‘«(\[*_`¿¡#-]{0,4}+[\p{Lu}\p{Lt}\p{Lo}\p{N}])|[。！？]++[」』）]?+)"""
)
_BLANK = regex.compile(r"\n[^\S\n]*+\n\s*+")
_GOES_ON = regex.compile(
    r"(?:(?<!\p{L})(?:\p{L}|\d{1,3}|e\.\s?g|i\.\s?e|z\.\s?B|d\.\s?h|u\.\s?a|p\.\s?ex|[Dd]r|[Mm]rs?|[Mm]s|[Pp]rof|[Ss]t"
    r"|[Nn]o|[Nn]r|[Vv]s|[Cc]f|[Ff]ig|[Ss]ec|[Aa]pprox|[Cc]a|[Bb]zw|[Aa]bs|[Aa]rt|[Vv]gl|[Ss]og)\.|\betc\.\))$"
)
LOOK_BACK = 12


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Half-open spans without the white space around them; together they hold everything else of the text."""
    start = 0
    for end in _borders(text):
        yield from _trimmed(text, start, end)
        start = end
    yield from _trimmed(text, start, len(text))


def _borders(text: str) -> Iterator[int]:
    blanks = [match.end() for match in _BLANK.finditer(text)]
    ends = [
        match.end()
        for match in _END.finditer(text)
        if not _GOES_ON.search(text, max(0, match.end() - LOOK_BACK), match.end())
    ]
    yield from sorted({*blanks, *ends})


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    if piece.strip():
        yield start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())

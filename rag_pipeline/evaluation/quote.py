"""Finding a quoted passage in a text."""

import re

_SPACE = re.compile(r"\s+")


def occurrences(text: str, quote: str) -> tuple[tuple[int, int], ...]:
    """Half-open spans of `quote` in `text`: exact ones, else those that differ in white space only.

    Overlapping occurrences count; a quote of white space alone occurs nowhere.
    """
    words = _SPACE.split(quote.strip())
    if not words[0]:
        return ()
    exact = tuple((m.start(), m.start() + len(quote)) for m in re.finditer(f"(?={re.escape(quote)})", text))
    if exact:
        return exact
    pattern = r"\s+".join(re.escape(word) for word in words)
    return tuple(m.span(1) for m in re.finditer(f"(?=({pattern}))", text))

"""Cuts moved to the border of a grapheme cluster, so that no emoji family or combining mark is taken apart."""

import regex

_CLUSTER = regex.compile(r"\X")
REACH = 64
"""A cluster longer than this (stacked marks without end) may be cut: a limit must hold."""


def safe_cut(text: str, position: int, *, low: int, high: int) -> int:
    """The border nearest before `position` that is above `low`, else the next one below `high`, else `position`."""
    if not low < position < high:
        return position
    before, after = text[position - 1], text[position]
    if before.isascii() and after.isascii():
        return position - 1 if before == "\r" and after == "\n" and position - 1 > low else position
    start = max(0, position - 2 * REACH)
    anchor = position - 1
    while anchor > start and not (text[anchor].isascii() and text[anchor - 1].isascii()):
        anchor -= 1
    for match in _CLUSTER.finditer(text, anchor, min(len(text), position + REACH)):
        if match.end() < position:
            continue
        if match.end() == position:
            return position
        if match.end() - match.start() > REACH:
            return position
        if match.start() > low:
            return int(match.start())
        return int(match.end()) if match.end() < high else position
    return position

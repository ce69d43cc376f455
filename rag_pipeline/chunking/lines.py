"""Where lines begin, in code points."""

import re

_BREAK = re.compile(r"\r\n|\n|\r")


def line_starts(text: str, *, start: int = 0, end: int | None = None) -> list[int]:
    """Offset of every line from `start` on, then the offset of the end; lines end as in CommonMark: LF, CR or CRLF."""
    end = len(text) if end is None else end
    starts = [start, *(m.end() for m in _BREAK.finditer(text, start, end))]
    if starts[-1] != end:
        starts.append(end)
    return starts


def line_start(text: str, position: int, *, low: int = 0) -> int:
    """Start of the line that holds `position`, or `low` where that is later."""
    return max(text.rfind("\n", low, position), text.rfind("\r", low, position), low - 1) + 1


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without blank lines at its ends; the indentation of its first line stays."""
    piece = text[start:end]
    end = start + len(piece.rstrip())
    first = end - len(piece.strip()) if end > start else start
    begins_line = start == 0 or text[start - 1] in "\r\n"
    lead = text[start:first]
    if not begins_line and "\n" not in lead and "\r" not in lead:
        return first, end
    return line_start(text, first, low=start), end

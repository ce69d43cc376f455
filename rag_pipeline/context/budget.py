"""Sharing a token budget between passages in rank order, and what part of a text fits a share. Pure."""

import bisect
from collections.abc import Sequence

from rag_pipeline.context.passage import Span


def shares(needs: Sequence[int], *, budget: int, least: int) -> tuple[int, ...]:
    """Tokens for each, at most what it needs, in all at most `budget`.

    First, as many of the best ranked take part as can have `least` tokens (one at least), or all they need. Then each
    in rank order gets its fair part of what is left: at most (what is left) / (how many are left), so that what one
    leaves over goes to those behind it. What the last leaves over is handed out once more in rank order. 0 = does not
    take part.
    """
    wanted = [max(0, need) for need in needs]
    floors = [min(need, max(1, least)) for need in wanted]
    taking, floor = 0, 0
    while taking < len(wanted) and floor + floors[taking] <= budget:
        floor += floors[taking]
        taking += 1
    left = max(0, budget)
    given = [0] * len(wanted)
    for place in range(taking):
        # Nobody behind may fall below its floor.
        kept = sum(floors[place + 1 : taking])
        given[place] = min(wanted[place], max(floors[place], min(left - kept, left // (taking - place))))
        left -= given[place]
    for place in range(taking):
        more = min(left, wanted[place] - given[place])
        given[place] += more
        left -= more
    return tuple(given)


def windows(text: str, hits: Sequence[Span], spans: Sequence[Span], *, tokens: int) -> tuple[Span, ...]:
    """Spans of `text` of at most `tokens` tokens in all: the hits, best first, and as much around each as fits.

    `spans` are the offsets of the text's tokens.

    In the order of the text, none touching another; the whole text where it fits; nothing for 0 tokens. The best hit
    is cut at its end where it does not fit by itself. Borders outside the hits fall between words.
    """
    if len(spans) <= tokens:
        return ((0, len(text)),) if text else ()
    if tokens <= 0:
        return ()
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    kept: list[Span] = []
    for start, end in hits:
        first = min(bisect.bisect_right(ends, start), len(spans) - 1)
        found = (first, max(first + 1, bisect.bisect_left(starts, end)))
        if _size(_union([*kept, found])) <= tokens:
            kept.append(found)
        elif not kept:
            kept.append((first, first + tokens))
    grown = _grown(kept or [(0, 0)], len(spans), tokens)
    anchors = _union(kept)
    return tuple(
        span
        for first, last in grown
        for span in [_between_words(text, starts, ends, (first, last), anchors)]
        if span[0] < span[1]
    )


def _grown(kept: list[Span], count: int, tokens: int) -> list[Span]:
    """Every range widened by the same number of tokens on both sides, as far as `tokens` allows."""

    def widened(by: int) -> list[Span]:
        return _union([(max(0, first - by), min(count, last + by)) for first, last in kept])

    low, high = 0, count
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _size(widened(middle)) <= tokens else (low, middle - 1)
    return widened(low)


def _between_words(
    text: str, starts: list[int], ends: list[int], grown: Span, anchors: Sequence[Span]
) -> tuple[int, int]:
    """Code points of a token range, without half words at borders that are not a hit's own."""
    first, last = grown
    inside = [anchor for anchor in anchors if first <= anchor[0] and anchor[1] <= last]
    inner_first = inside[0][0] if inside else last - 1
    inner_last = inside[-1][1] if inside else first + 1
    while first < inner_first and starts[first] > 0 and _is_inside_word(text, starts[first]):
        first += 1
    while last > inner_last and ends[last - 1] < len(text) and _is_inside_word(text, ends[last - 1]):
        last -= 1
    return (0 if first == 0 else starts[first]), (len(text) if last == len(starts) else ends[last - 1])


def _is_inside_word(text: str, at: int) -> bool:
    return text[at - 1].isalnum() and text[at].isalnum()


def _union(ranges: Sequence[Span]) -> list[Span]:
    out: list[Span] = []
    for start, end in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def _size(ranges: Sequence[Span]) -> int:
    return sum(end - start for start, end in ranges)

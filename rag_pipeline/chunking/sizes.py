"""How large a piece is, for planning: model tokens or words, with long ones counted more than once.

A word of 100,000 letters is one unknown token to a model; as one unit it would make a chunk of any length. So a token
longer than 32 code points counts once per 8, so does what a tokenizer drops (zero-width signs, stacked marks), and
white space between tokens once per 64.
"""

import bisect
import math
from collections.abc import Callable, Sequence

from rag_pipeline.text.tokenizer import Tokenizer, WordTokenizer

LONG_TOKEN = 32
STEP = 8
SPACE_STEP = 64
SLACK = 8
"""A child may be this fraction larger than its size, rather than leave a rest of a few words behind."""
_MEMO = 50_000
_NEVER_BINDS = 1000


def unit_starts(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Where each unit begins: one per token, more in long tokens and in long gaps between them."""
    starts: list[int] = []
    cursor = 0
    for start, end in spans:
        if start - cursor > STEP:
            starts.extend(_in_gap(text, cursor, start))
        if end - start > LONG_TOKEN:
            starts.extend(range(start, end, STEP))
        else:
            starts.append(start)
        if end > cursor:
            cursor = end
    starts.extend(_in_gap(text, cursor, len(text)))
    return starts


def _in_gap(text: str, start: int, end: int) -> range:
    step = SPACE_STEP if text[start:end].isspace() else STEP
    return range(start + step, end, step)


class Scale:
    """Units of one tokenizer, over one document (a single pass) and over loose strings."""

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.starts = unit_starts(text, tokenizer.spans(text))
        self._memo: dict[str, int] = {}

    def span(self, start: int, end: int) -> int:
        return bisect.bisect_left(self.starts, end) - bisect.bisect_left(self.starts, start)

    def string(self, text: str) -> int:
        known = self._memo.get(text)
        if known is None:
            if len(self._memo) >= _MEMO:
                self._memo.clear()
            known = self._memo[text] = len(unit_starts(text, self._tokenizer.spans(text)))
        return known


class Sizes:
    """`unit` is what the settings count ("tokens" or "words"); the model's limit always counts tokens."""

    def __init__(self, text: str, tokenizer: Tokenizer, *, unit: str) -> None:
        self.tokens = Scale(text, tokenizer)
        self.units = self.tokens if unit == "tokens" else Scale(text, WordTokenizer())

    def section_measure(self, *, size: int) -> "Measure":
        """A cap without slack; the model's limit does not bear on sections."""
        return Measure(self, size=size, token_room=size * _NEVER_BINDS, slack=0)

    def child_measure(self, *, size: int, token_room: int) -> "Measure":
        return Measure(self, size=size, token_room=token_room, slack=size // SLACK)


class Measure:
    """A size of `size` units that must also stay within `token_room` model tokens, as one number: `budget` is full.

    Where units are words, tokens are scaled so that `token_room` of them weigh as much as `size` words.
    """

    def __init__(self, sizes: Sizes, *, size: int, token_room: int, slack: int) -> None:
        self._sizes = sizes
        self._words = sizes.units is not sizes.tokens
        self._scale = size / token_room
        self.budget = size if self._words else min(size, token_room)
        most = size + slack
        self.most = most if self._words else max(min(most, token_room), self.budget)
        """What the last piece may have rather than leave a small rest behind."""

    def span(self, start: int, end: int) -> int:
        units = self._sizes.units.span(start, end)
        return max(units, math.ceil(self._sizes.tokens.span(start, end) * self._scale)) if self._words else units

    def string(self, text: str) -> int:
        """At least 1 for any text, so that a splitter's running sum can't stand still."""
        units = self._sizes.units.string(text)
        if self._words:
            units = max(units, math.ceil(self._sizes.tokens.string(text) * self._scale))
        return max(units, 1) if text else 0


SpanSize = Callable[[int, int], int]

"""Which passages an answer cites, and which of its marks name no passage that was presented. Pure."""

from dataclasses import dataclass

import regex

from rag_pipeline.context.escape import MARK_BODY

_MARKS = regex.compile(MARK_BODY)
_NUMBERS = regex.compile(r"(\d+)(?:\s{0,3}[–-]\s{0,3}(\d+))?")
_CODE = regex.compile(r"(?ms)^[ \t]{0,3}(`{3,}|~{3,}).*?(?:^[ \t]{0,3}\1|\Z)|(?<!`)`[^`\n]{1,500}`(?!`)")
MOST_RANGE = 50
"""Of `[3-9]`; a wider one counts as its two ends."""

MOST_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Citations:
    cited: tuple[int, ...]
    """Valid numbers, each once, in order of first use."""
    invalid: tuple[str, ...]
    """Every number that names no presented passage, as often as it occurs."""
    uncited: tuple[int, ...]
    """Presented passages that the answer does not cite."""

    @property
    def invalid_count(self) -> int:
        return len(self.invalid)


def check_citations(answer: str, *, presented: int) -> Citations:
    """`[n]`, `[1, 3]` and `[2-4]` against passages 1 to `presented`; code and escaped marks are no citations."""
    cited: dict[int, None] = {}
    invalid: list[str] = []
    for mark in _MARKS.finditer(_CODE.sub(" ", answer)):
        for low, high in _NUMBERS.findall(mark[1]):
            for number in _range(low, high or low):
                if len(number) <= MOST_DIGITS and 1 <= int(number) <= presented:
                    cited[int(number)] = None
                else:
                    invalid.append(number)
    uncited = tuple(number for number in range(1, presented + 1) if number not in cited)
    return Citations(tuple(cited), tuple(invalid), uncited)


def _range(low: str, high: str) -> list[str]:
    if low == high:
        return [low]
    if max(len(low), len(high)) > MOST_DIGITS or not 0 < int(high) - int(low) <= MOST_RANGE:
        return [low, high]
    return [str(number) for number in range(int(low), int(high) + 1)]

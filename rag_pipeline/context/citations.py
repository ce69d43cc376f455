"""Which passages an answer cites, and which of its marks name no passage that was presented. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

import regex

from rag_pipeline.context.escape import MARK_BODY

_MARKS = regex.compile(MARK_BODY)
_SPACED_MARKS = regex.compile(r"([ \t]?)" + MARK_BODY)
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
    for mark in _MARKS.finditer(_CODE.sub("\n", answer)):
        for low, high in _NUMBERS.findall(mark[1]):
            for number in _range(low, high or low):
                if len(number) <= MOST_DIGITS and 1 <= int(number) <= presented:
                    cited[int(number)] = None
                else:
                    invalid.append(number)
    uncited = tuple(number for number in range(1, presented + 1) if number not in cited)
    return Citations(tuple(cited), tuple(invalid), uncited)


def without_invalid(answer: str, *, presented: int) -> str:
    """The answer with every number taken out that names no presented passage; an empty mark goes with its space."""
    once = _each_mark(answer, presented, lambda space, valid: f"{space}[{', '.join(valid)}]" if valid else "")
    # What is left by "[[9]9]" is a mark again; that one is escaped, which can't make another.
    return _each_mark(once, presented, lambda space, valid: f"{space}\\[{', '.join(valid) or '?'}]")


def _each_mark(answer: str, presented: int, written: Callable[[str, list[str]], str]) -> str:
    """Marks with an invalid number, outside code, written from the space before them and their valid numbers."""
    code = [match.span() for match in _CODE.finditer(answer)]

    def kept(mark: "regex.Match[str]") -> str:
        inside = any(start < mark.end() and mark.start() < end for start, end in code)
        numbers = [n for low, high in _NUMBERS.findall(mark[2]) for n in _range(low, high or low)]
        valid = [n for n in numbers if len(n) <= MOST_DIGITS and 1 <= int(n) <= presented]
        return str(mark[0]) if inside or len(valid) == len(numbers) else written(mark[1], valid)

    return str(_SPACED_MARKS.sub(kept, answer))


def _range(low: str, high: str) -> list[str]:
    if low == high:
        return [low]
    if max(len(low), len(high)) > MOST_DIGITS or not 0 < int(high) - int(low) <= MOST_RANGE:
        return [low, high]
    return [str(number) for number in range(int(low), int(high) + 1)]

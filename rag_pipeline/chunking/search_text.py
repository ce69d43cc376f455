"""What is embedded and searched: title, header path, repeated table header, then the chunk's own text."""

from collections.abc import Sequence

from rag_pipeline.chunking.blocks import Headers
from rag_pipeline.text.tokenizer import Tokenizer

JOINT = " > "
SPECIAL_TOKENS = 2
"""[CLS] and [SEP], which the model's limit includes."""
SMALLEST_LIMIT = 16


class Prefixes:
    """Title and header path of one document as one line of at most `cap` tokens; each path is worked out once."""

    def __init__(self, title: str, tokenizer: Tokenizer, *, cap: int) -> None:
        self._title = " ".join(title.split())
        self._tokenizer = tokenizer
        self._cap = cap
        self._known: dict[Headers, tuple[str, int]] = {}

    def of(self, headers: Headers) -> tuple[str, int]:
        """The line, without line break, and its tokens."""
        if headers not in self._known:
            line = prefix_line(self._title, [title for _, title in headers], self._tokenizer, cap=self._cap)
            self._known[headers] = line, self._tokenizer.count(line)
        return self._known[headers]


def prefix_line(title: str, path: Sequence[str], tokenizer: Tokenizer, *, cap: int) -> str:
    """Levels joined, repeats left out; over the cap the middle levels go first, then the rest is cut."""
    levels: list[str] = []
    for level in (title, *path):
        if level and (not levels or level.casefold() != levels[-1].casefold()):
            levels.append(level)
    line = JOINT.join(levels)
    if tokenizer.count(line) <= cap:
        return line
    while len(levels) > 2 and tokenizer.count(JOINT.join(levels)) > cap:
        del levels[1]
    if len(levels) == 2 and tokenizer.count(JOINT.join(levels)) > cap:
        levels = [cut_tokens(levels[0], tokenizer, cap // 3), levels[1]]
    return cut_tokens(JOINT.join(level for level in levels if level), tokenizer, cap)


def cut_tokens(text: str, tokenizer: Tokenizer, most: int) -> str:
    """The longest beginning of at most `most` tokens, each token whole."""
    if most <= 0:
        return ""
    spans = tokenizer.spans(text)
    return text if len(spans) <= most else text[: spans[most - 1][1]]


def search_text(prefix: str, lead: str, text: str) -> str:
    head = f"{prefix}\n" if prefix else ""
    return f"{head}{lead}{text}"

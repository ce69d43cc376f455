"""Counting tokens the way the embedding model does, with the offset of every token in code points."""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import tokenizers


class Tokenizer(Protocol):
    """`spans` are half-open code-point offsets of the tokens, special tokens left out."""

    @property
    def fingerprint(self) -> str: ...

    def spans(self, text: str) -> Sequence[tuple[int, int]]: ...

    def count(self, text: str) -> int: ...


class ModelTokenizer:
    """A `tokenizer.json` of the tokenizers library, without truncation or padding.

    Also a single text goes through the library's calls for many: those let other threads work meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self._tokenizer = tokenizers.Tokenizer.from_file(str(path))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.fingerprint = _file_hash(str(path), path.stat().st_mtime_ns)

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        return self._tokenizer.encode_batch([text], add_special_tokens=False)[0].offsets

    def count(self, text: str) -> int:
        return self.counts([text])[0]

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [len(e) for e in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


class WordTokenizer:
    """Words and single punctuation marks; for sizes given in words, and for tests."""

    fingerprint = "words-1"
    _token = re.compile(r"\w+|[^\w\s]")

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        return [m.span() for m in self._token.finditer(text)]

    def count(self, text: str) -> int:
        return sum(1 for _ in self._token.finditer(text))


def count_many(tokenizer: Tokenizer, texts: Sequence[str]) -> list[int]:
    """`tokenizer.count` of each text, in one call where the tokenizer has one."""
    if isinstance(tokenizer, ModelTokenizer):
        return tokenizer.counts(texts)
    return [tokenizer.count(text) for text in texts]


@lru_cache(maxsize=16)
def _file_hash(path: str, _modified_ns: int) -> str:
    import hashlib

    return hashlib.sha256(Path(path).read_bytes()).hexdigest()

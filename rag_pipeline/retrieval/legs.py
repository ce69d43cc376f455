"""The two legs as one value, so that whoever asks many strategies the same question can hand in legs that remember."""

from collections.abc import Callable
from dataclasses import dataclass

from rag_pipeline.retrieval.dense import nearest
from rag_pipeline.retrieval.lexical import bm25
from rag_pipeline.retrieval.rank import Rows


@dataclass(frozen=True, slots=True)
class Legs:
    nearest: Callable[..., tuple[Rows, tuple[str, ...]]] = nearest
    """Called like `dense.nearest`."""
    bm25: Callable[..., tuple[Rows, tuple[str, ...]]] = bm25
    """Called like `lexical.bm25`."""


LEGS = Legs()

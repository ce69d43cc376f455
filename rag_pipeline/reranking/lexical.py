"""Reranking by the words themselves: which of the query's terms a passage has, in which order, how near, how early.

The baseline that every model has to beat; needs no model. Pure.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from rag_pipeline.reranking.base import Passage, Ranked, best_first
from rag_pipeline.text.analyzer import Analyzer

MAX_TOKENS = 2000
"""Of a passage; what comes later is not read."""

EARLY = 50
"""Tokens after which a first match counts half as early."""


@dataclass(frozen=True, slots=True)
class LexicalWeights:
    """Sum to 1, so a score lies in [0, 1]."""

    coverage: float = 0.6
    phrases: float = 0.2
    proximity: float = 0.1
    position: float = 0.1


DEFAULT_WEIGHTS = LexicalWeights()


class LexicalReranker:
    """Raises InvalidSettings for a language without a stemmer."""

    def __init__(self, analyzer: Analyzer, *, weights: LexicalWeights = DEFAULT_WEIGHTS) -> None:
        self.name = f"lexical:{analyzer.fingerprint}"
        self._analyzer = analyzer
        self._weights = weights

    def rerank(self, query: str, passages: Sequence[Passage], *, top_k: int | None = None) -> Ranked:
        asked = self._analyzer.tokens(query)[:MAX_TOKENS]
        read = {passage.id: self._analyzer.tokens(passage.text)[:MAX_TOKENS] for passage in passages}
        rarity = _rarity(set(asked), list(read.values()))
        pairs = set(itertools.pairwise(asked))
        scores = ((passage, self._score(tokens, rarity, pairs)) for passage, tokens in read.items())
        return best_first(scores, top_k=top_k)

    def _score(self, tokens: Sequence[str], rarity: dict[str, float], pairs: set[tuple[str, str]]) -> float:
        places = [(place, token) for place, token in enumerate(tokens) if token in rarity]
        if not places:
            return 0.0
        found = {token for _, token in places}
        coverage = sum(rarity[token] for token in sorted(found)) / sum(rarity.values())
        held = len(pairs.intersection(itertools.pairwise(tokens))) / len(pairs) if pairs else 0.0
        weights = self._weights
        return (
            weights.coverage * coverage
            + weights.phrases * held
            + weights.proximity * len(found) / _shortest_span(places, len(found))
            + weights.position * EARLY / (EARLY + places[0][0])
        )


def _rarity(terms: set[str], read: Sequence[Sequence[str]]) -> dict[str, float]:
    """BM25's inverse document frequency over the passages at hand; always above 0. In sorted order."""
    holding = [set(tokens) for tokens in read]
    counts = {term: sum(term in tokens for tokens in holding) for term in sorted(terms)}
    return {term: math.log(1 + (len(read) - n + 0.5) / (n + 0.5)) for term, n in counts.items()}


def _shortest_span(places: Sequence[tuple[int, str]], distinct: int) -> int:
    """Length in tokens of the shortest run that holds every term found, at least `distinct`."""
    counts: dict[str, int] = {}
    shortest, left = places[-1][0] - places[0][0] + 1, 0
    for place, token in places:
        counts[token] = counts.get(token, 0) + 1
        while len(counts) == distinct and counts[places[left][1]] > 1:
            counts[places[left][1]] -= 1
            left += 1
        if len(counts) == distinct:
            shortest = min(shortest, place - places[left][0] + 1)
    return shortest

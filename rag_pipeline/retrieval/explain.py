"""Why a result ranked where it did: its place in every stage that scored it, among what that stage saw. Pure."""

from rag_pipeline.retrieval.candidates import Candidates
from rag_pipeline.retrieval.rank import Scores
from rag_pipeline.retrieval.ranking import Ranking


def stage_ranks(found: Candidates, ranking: Ranking) -> dict[int, dict[str, int]]:
    """Row -> stage -> rank from 1. Legs, fusion and evidence rank chunks, the stages behind them sections."""
    ranks: dict[int, dict[str, int]] = {row: {} for row in ranking.rows}
    stages = {stage: dict(_scored(found, stage, scores)) for stage, scores in found.scores.items()}
    for stage, scores in {**stages, **ranking.said}.items():
        order = sorted(scores, key=lambda row: (-scores[row], row))
        for rank, row in enumerate(order, start=1):
            if row in ranks:
                ranks[row][stage] = rank
    return ranks


def _scored(found: Candidates, stage: str, scores: Scores) -> list[tuple[int, float]]:
    """Without the chunks that hold none of the query's words."""
    pairs = [(int(row), float(score)) for row, score in zip(found.rows, scores, strict=True)]
    return [pair for pair in pairs if pair[1] > 0] if stage == "bm25" else pairs

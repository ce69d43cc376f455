import numpy as np

from rag_pipeline.retrieval.candidates import Candidates
from rag_pipeline.retrieval.explain import stage_ranks
from rag_pipeline.retrieval.ranking import Ranking


def test_ranks_by_hand() -> None:
    """Row 4 was not found by its words, row 9 was not reranked, and equal scores go by row."""
    found = Candidates(
        np.array([2, 4, 9]),
        {"vector": np.array([0.5, 0.9, 0.5]), "bm25": np.array([3.0, 0.0, 7.0])},
        {},
        (),
        {},
    )
    ranking = Ranking((4, 2), (1.0, 0.5), said={"rerank": {2: 0.1, 4: 0.8}})
    assert stage_ranks(found, ranking) == {
        4: {"vector": 1, "rerank": 1},
        2: {"vector": 2, "bm25": 2, "rerank": 2},
    }

import math

import numpy as np
import pytest

from rag_pipeline.index.bm25 import bm25_weights


def test_the_formula_by_hand() -> None:
    """4 chunks, 1 has the term twice, length 3 where the mean is 2: ln(1 + 3.5/1.5) * 2 * 2.2 / (2 + 1.2 * 1.375)."""
    weight = bm25_weights(
        tf=np.array([2]), df=np.array([1]), length=np.array([3]), chunks=4, average=2.0, k1=1.2, b=0.75
    )
    assert weight[0] == pytest.approx(math.log(1 + 3.5 / 1.5) * 4.4 / (2 + 1.2 * (0.25 + 0.75 * 1.5)))
    assert weight[0] == pytest.approx(1.4514, abs=1e-4)


def test_a_rarer_term_and_a_shorter_chunk_weigh_more() -> None:
    tf, length = np.array([1, 1, 1]), np.array([5, 5, 2])
    weights = bm25_weights(tf=tf, df=np.array([3, 1, 1]), length=length, chunks=4, average=4.0, k1=1.2, b=0.75)
    assert 0 < weights[0] < weights[1] < weights[2]

import numpy as np
import pytest

from rag_pipeline.embedding.soundness import Rejection, rejections, unsound

SOUND = np.array([0.6, 0.8], np.float32)


@pytest.mark.parametrize(
    ("vector", "rule"),
    [
        ([np.nan, 0], "nan_vector"),
        ([np.inf, 0], "nan_vector"),
        ([-np.inf, np.nan], "nan_vector"),
        ([0, 0], "zero_vector"),
        ([1, 1], "not_unit_length"),
        ([0.5, 0], "not_unit_length"),
        ([3e38, 3e38], "not_unit_length"),
    ],
)
def test_an_unsound_vector_has_a_reason(vector: list[float], rule: str) -> None:
    vectors = np.array([SOUND, vector, SOUND], np.float32)
    assert unsound(vectors).tolist() == [False, True, False]
    (found,) = rejections(vectors, 2)
    assert (found.position, found.rule) == (1, rule)


def test_another_dimension_rejects_every_row() -> None:
    assert rejections(np.array([SOUND, SOUND]), 3) == (
        Rejection(0, "wrong_dimension", "shape (2,), expected (3,)"),
        Rejection(1, "wrong_dimension", "shape (2,), expected (3,)"),
    )


def test_sound_vectors_pass() -> None:
    assert rejections(np.array([SOUND]), 2) == ()
    assert rejections(np.zeros((0, 2), np.float32), 2) == ()

import pytest

from rag_pipeline.evaluation.experiment import QueryRun, RankedSection
from rag_pipeline.evaluation.summary import Latency, Mean, summarise

SOMETHING = (RankedSection("a#0", "a", 0, 10),)


def test_means_with_their_numbers():
    run = [
        QueryRun("1", "", ("x",), "scored", metrics={"m": 1.0, "n": 0.5}, seconds=0.010, timings_ms={"vector": 4.0}),
        QueryRun("2", "", ("x", "y"), "scored", metrics={"m": 0.0}, missing=("n",), seconds=0.030),
        QueryRun("3", "", (), "failed", error="X: y"),
        QueryRun("4", "", (), "unresolved"),
        QueryRun("5", "", ("unanswerable",), "unanswerable", ranking=SOMETHING, seconds=0.020),
        QueryRun("6", "", ("unanswerable",), "unanswerable", seconds=0.020),
        QueryRun("7", "", ("unanswerable",), "failed", error="X: y"),
    ]
    found = summarise(run)
    assert found.metrics == {"m": Mean(0.5, n=2, missing=0), "n": Mean(0.5, n=1, missing=1)}
    assert found.by_tag["y"] == {"m": Mean(0.0, n=1, missing=0), "n": Mean(None, n=0, missing=1)}
    assert (found.questions, found.scored, found.failed, found.unresolved, found.unanswerable) == (7, 2, 2, 1, 2)
    assert found.coverage == 2 / 4  # of questions 1 to 4
    assert found.empty_when_unanswerable == 0.5
    assert found.latency is not None
    assert (found.latency.n, found.latency.p50) == (4, 20.0)
    assert found.latency.p95 == pytest.approx(28.5)
    assert found.stages == {"vector": Latency(n=1, p50=4.0, p95=4.0)}


def test_a_nan_that_got_through_is_missing_and_does_not_spread():
    """One NaN in a mean makes the mean NaN, and dropping its row silently moves it."""
    run = [QueryRun(str(i), "", (), "scored", metrics={"m": value}) for i, value in enumerate((1.0, float("nan")))]
    assert summarise(run).metrics == {"m": Mean(1.0, n=1, missing=1)}


def test_nothing_was_asked():
    found = summarise([])
    assert (found.metrics, found.coverage, found.latency, found.empty_when_unanswerable) == ({}, 1.0, None, None)

import logging
import threading
from collections.abc import Sequence

import pytest

from rag_pipeline.errors import MissingExtra, ModelUnavailable, StageFailed
from rag_pipeline.reranking.base import Passage, Ranked, best_first
from rag_pipeline.reranking.guard import REOPENS, Guard, guard

PASSAGES = (Passage("a", "one"), Passage("b", "two"), Passage("c", "three"))
FIRST = (("b", 3.0), ("c", 2.0), ("a", 1.0))


class Fixed:
    name = "fixed"

    def __init__(self, *scores: tuple[str, float], error: Exception | None = None) -> None:
        self.scores = scores
        self.error = error
        self.calls = 0

    def rerank(self, query: str, passages: Sequence[Passage], *, top_k: int | None = None) -> Ranked:
        self.calls += 1
        if self.error:
            raise self.error
        return best_first(self.scores, top_k=top_k)


class Stuck:
    name = "stuck"

    def __init__(self) -> None:
        self.released = threading.Event()

    def rerank(self, query: str, passages: Sequence[Passage], *, top_k: int | None = None) -> Ranked:
        self.released.wait(30)
        return best_first((passage.id, float(n)) for n, passage in enumerate(passages))


GOOD = Fixed(("a", 0.9), ("b", 0.5), ("c", 0.1))


def test_reranked_and_blended() -> None:
    found = Guard(GOOD, seconds=5).rerank("q", PASSAGES, FIRST, weight=1, top_k=2)
    assert found.ranked == (("a", 1.0), ("b", 0.5))
    assert found.reranked == (("a", 0.9), ("b", 0.5), ("c", 0.1))
    assert (found.markers, found.skipped) == ((), False)


def test_input_stays_as_it_is() -> None:
    passages, first = list(PASSAGES), list(FIRST)
    Guard(GOOD, seconds=5).rerank("q", passages, first, weight=0.5)
    assert (passages, first) == (list(PASSAGES), list(FIRST))


FAILURES = [
    (Fixed(error=StageFailed("rerank", "http_429", "wait")), "http_429"),
    (Fixed(error=ModelUnavailable("half downloaded; fetch it again")), "unavailable"),
    (Fixed(error=MissingExtra("flashrank", "rerank")), "missing_extra"),
    (Fixed(error=RuntimeError("onnxruntime: secret path")), "error_RuntimeError"),
    (Fixed(), "no_scores"),
    (Fixed(("a", float("nan"))), "no_scores"),
    (Fixed(("a", 0.5), ("b", 0.5), ("c", 0.5)), "all_equal"),
]


@pytest.mark.parametrize(("reranker", "reason"), FAILURES, ids=[reason for _, reason in FAILURES])
def test_first_stage_order_with_a_marker(reranker: Fixed, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        found = Guard(reranker, seconds=5).rerank("q", PASSAGES, FIRST, weight=1, top_k=2)
    assert found.ranked == FIRST[:2]
    assert found.markers == (f"rerank=skipped:{reason}",)
    assert found.skipped


@pytest.mark.parametrize(("reranker", "reason"), FAILURES, ids=[reason for _, reason in FAILURES])
def test_strict_raises(reranker: Fixed, reason: str) -> None:
    with pytest.raises(StageFailed) as raised:
        Guard(reranker, seconds=5, strict=True).rerank("q", PASSAGES, FIRST, weight=1)
    assert raised.value.reason == reason


def test_a_slow_one_is_left_behind_and_not_started_again_while_it_runs() -> None:
    """A model that hangs would otherwise gather a thread with every query."""
    stuck = Stuck()
    guarded = Guard(stuck, seconds=0.05)
    asked = [guarded.rerank("q", PASSAGES, FIRST, weight=1).markers[0] for _ in range(3)]
    assert asked == ["rerank=skipped:timeout", "rerank=skipped:timeout", "rerank=skipped:busy"]
    stuck.released.set()
    patient = [found.skipped for _ in range(100) if not (found := _later(guarded)).skipped]
    assert patient, "it runs again once the earlier ones have ended"


def _later(guarded: Guard):
    threading.Event().wait(0.01)
    return guarded.rerank("q", PASSAGES, FIRST, weight=1)


def test_no_passages_is_no_failure_and_no_call() -> None:
    reranker = Fixed(error=RuntimeError("never"))
    found = Guard(reranker, seconds=5, strict=True).rerank("q", (), (), weight=1)
    assert (found.ranked, found.markers, reranker.calls) == ((), (), 0)


def test_equal_texts_may_score_alike() -> None:
    same = (Passage("a", "one"), Passage("b", "one"))
    found = Guard(Fixed(("a", 0.5), ("b", 0.5)), seconds=5, strict=True).rerank("q", same, FIRST[:1], weight=0.5)
    assert found.markers == ()


def test_a_passage_without_a_score_is_said() -> None:
    found = Guard(Fixed(("a", 0.9), ("b", 0.1)), seconds=5).rerank("q", PASSAGES, FIRST, weight=1)
    assert found.markers == ("rerank=partial",)
    assert [passage for passage, _ in found.ranked] == ["a", "b", "c"]


def test_candidates_beyond_the_reranked_stay_behind_them() -> None:
    first = (*FIRST, ("d", 0.5))
    found = Guard(GOOD, seconds=5).rerank("q", PASSAGES, first, weight=1)
    assert [passage for passage, _ in found.ranked][-1] == "d"


def test_one_that_cannot_be_opened_says_so_with_every_query() -> None:
    def missing() -> Fixed:
        raise ModelUnavailable("no such folder; fetch it")

    guarded = guard("cross_encoder", missing, seconds=5)
    assert guarded.name == "cross_encoder"
    assert guarded.rerank("q", PASSAGES, FIRST, weight=1).markers == ("rerank=skipped:unavailable", REOPENS)
    with pytest.raises(ModelUnavailable):
        guard("cross_encoder", missing, seconds=5, strict=True)


def test_one_that_fails_after_it_was_opened_promises_no_other_try() -> None:
    found = Guard(Fixed(error=ModelUnavailable("gone")), seconds=5).rerank("q", PASSAGES, FIRST, weight=1)
    assert found.markers == ("rerank=skipped:unavailable",)


def test_a_model_that_comes_later_is_found_without_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stayed skipped until the process ended, however soon the model was put in place."""
    there: list[Fixed] = []

    def open_it() -> Fixed:
        if not there:
            raise ModelUnavailable("no such folder; fetch it")
        return there[0]

    guarded = guard("late", open_it, seconds=5)
    there.append(GOOD)
    assert guarded.rerank("q", PASSAGES, FIRST, weight=1).markers == ("rerank=skipped:unavailable", REOPENS)
    monkeypatch.setattr(guarded.reranker, "_clock", lambda: float("inf"))
    found = guarded.rerank("q", PASSAGES, FIRST, weight=1)
    assert (found.markers, found.ranked[0][0], guarded.name) == ((), "a", "fixed")

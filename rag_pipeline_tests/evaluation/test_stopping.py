import pytest

from rag_pipeline.errors import InvalidQuery, InvalidSettings, MissingExtra, ModelUnavailable, StageFailed
from rag_pipeline.evaluation.stopping import AT_FIRST, LATER, Stop


def failed(reason: str) -> StageFailed:
    return StageFailed("transform", reason, "do something")


@pytest.mark.parametrize(
    "error",
    [
        failed("unconfigured"),
        failed("http_401"),
        ModelUnavailable("no model"),
        MissingExtra("flashrank", "rerank"),
        InvalidSettings("no URL"),
    ],
)
def test_what_every_question_lacks_stops_at_once(error):
    stop = Stop()
    stop.failed(error)
    assert stop.reason == str(error)


@pytest.mark.parametrize("error", [failed("refused"), failed("invalid_json"), InvalidQuery("empty"), ValueError("x")])
def test_what_is_one_questions_own_never_stops(error):
    stop = Stop()
    for _ in range(50):
        stop.failed(error)
    assert stop.reason is None


def test_time_outs_stop_after_a_few_in_a_row_and_an_answer_begins_again():
    stop = Stop()
    for _ in range(AT_FIRST):
        assert stop.reason is None
        stop.failed(failed("timeout"))
    assert stop.reason is not None and "in a row" in stop.reason and "timeout" in stop.reason

    later = Stop()
    later.answered()
    for _ in range(LATER - 1):
        later.failed(failed("timeout"))
    later.answered()
    for _ in range(LATER - 1):
        later.failed(failed("http_503"))
    assert later.reason is None
    later.failed(failed("http_503"))
    assert later.reason is not None

import pytest

from rag_pipeline.errors import StageFailed
from rag_pipeline.evaluation.eval_set import EvalSet, Judgement, Query
from rag_pipeline.evaluation.experiment import run_experiment
from rag_pipeline.evaluation.resolve import Corpus, resolve
from rag_pipeline.evaluation.split import Half, select
from rag_pipeline.schema import Principal
from rag_pipeline_tests.evaluation.builders import result, section

TEXT = "0123456789" * 3
CORPUS = Corpus.of({"a": TEXT, "b": TEXT}, [section(d, s, s + 10) for d in "ab" for s in (0, 10, 20)])
SET = EvalSet(
    "small",
    (
        Query("q1", "one", filters={"category": "x"}, principal=Principal("ann")),
        Query("q2", "two"),
        Query("q3", "three", ("unanswerable",)),
        Query("q4", "four"),
    ),
    (
        Judgement("q1", "a", start=10, end=15, grade=3),
        Judgement("q2", "a", start=0, end=5),
        Judgement("q2", "b", start=0, end=5),
        Judgement("q4", "ghost"),
    ),
)


def run(retrieve, **more):
    settings = {"half": Half.BOTH, "release_id": "r1", "build_key": "b1", "warm_up": 0, **more}
    return run_experiment(SET, resolution=resolve(SET, CORPUS), strategies={"hybrid": retrieve}, **settings)


ANSWERS = {"one": ("b#0", "a#10"), "two": ("a#0",), "three": ("b#20",)}


def answer(query):
    return result(*ANSWERS[query.text])


def test_every_question_once_with_its_state_ranking_and_scores():
    found = run(answer)
    one, two, three, four = found.runs["hybrid"]
    assert [q.state for q in found.runs["hybrid"]] == ["scored", "scored", "unanswerable", "unresolved"]
    assert one.sections == ("b#0", "a#10")
    assert one.documents == ("b", "a")
    assert one.metrics["mrr_at_10"] == one.metrics["document_mrr_at_10"] == 0.5
    assert one.metrics["overlap_recall_at_5"] == 1.0
    assert one.metrics["overlap_precision_at_5"] == 5 / 20
    assert two.metrics["recall_at_10"] == 0.5
    assert three.metrics == four.metrics == {}
    assert one.timings_ms == {"vector": 1.0}
    assert one.seconds is not None
    assert (found.eval_set_hash, found.half, found.release_id) == (SET.content_hash, Half.BOTH, "r1")


def test_an_empty_answer_is_a_miss_and_a_failure_is_not():
    """A question that returns nothing must lower the mean; one whose retrieval raised must not pass for either."""

    def retrieve(query):
        if query.text == "one":
            return result()
        raise TimeoutError("too slow")

    one, two, three, _ = run(retrieve).runs["hybrid"]
    assert (one.state, one.metrics["ndcg_at_10"], one.error) == ("scored", 0.0, None)
    assert (two.state, two.metrics, two.error) == ("failed", {}, "TimeoutError: too slow")
    assert three.state == "failed"


def test_an_answer_of_another_release_is_a_failure():
    one, *_ = run(lambda query: result("a#10", release_id="r2")).runs["hybrid"]
    assert one.error == "answered from release r2, not from r1"


def test_filters_and_principal_reach_the_retrieval():
    asked = []
    run(lambda query: asked.append(query) or result())
    assert (asked[0].filters, asked[0].principal) == ({"category": "x"}, Principal("ann"))


def test_warm_up_calls_are_counted_and_not_measured():
    calls = []
    found = run(lambda query: calls.append(query.id) or result(), warm_up=2)
    assert calls == ["q1", "q2", "q1", "q2", "q3"]
    assert found.warm_up == 2


def test_the_half_is_asked_for_by_name():
    with pytest.raises(TypeError, match="half"):
        run_experiment(SET, resolution=resolve(SET, CORPUS), strategies={}, release_id="r1", build_key="b1")
    tuning = run(answer, half=Half.TUNING)
    assert [q.query_id for q in tuning.runs["hybrid"]] == [q.id for q in select(SET, Half.TUNING).queries]
    assert tuning.half is Half.TUNING


def test_the_same_index_measured_twice_scores_the_same():
    first, second = run(answer), run(answer)
    same = [(q.ranking, q.metrics, q.state) for q in first.runs["hybrid"]]
    assert same == [(q.ranking, q.metrics, q.state) for q in second.runs["hybrid"]]


def several(**strategies):
    return run_experiment(
        SET,
        half=Half.BOTH,
        resolution=resolve(SET, CORPUS),
        strategies=strategies,
        release_id="r1",
        build_key="b1",
        warm_up=3,
    )


def test_a_strategy_that_lacks_something_is_asked_once_and_the_others_go_on():
    """A time-out a question would make the comparison of all strategies an hour long."""
    asked = []

    def lacking(query):
        asked.append(query.id)
        raise StageFailed("transform", "unconfigured", "set a URL")

    found = several(hyde=lacking, hybrid=lambda query: result())
    assert asked == ["q1"]
    assert found.could_not_run == {"hyde": "transform could not run (unconfigured); set a URL"}
    assert [q.state for q in found.runs["hyde"]] == ["failed", "failed", "failed", "unresolved"]
    assert {q.error for q in found.runs["hyde"][:3]} == {"not asked: transform could not run (unconfigured); set a URL"}
    assert [q.state for q in found.runs["hybrid"]] == ["scored", "scored", "unanswerable", "unresolved"]


def test_questions_are_asked_of_every_strategy_before_the_next_one():
    order = []
    several(
        a=lambda query: order.append(("a", query.id)) or result(),
        b=lambda query: order.append(("b", query.id)) or result(),
    )
    assert order[6:] == [("a", "q1"), ("b", "q1"), ("a", "q2"), ("b", "q2"), ("a", "q3"), ("b", "q3")]


def test_the_recall_curve_ends_at_the_recall_of_ten():
    one, two, three, _ = run(answer).runs["hybrid"]
    assert one.recall_curve == (0.0, *[1.0] * 9)
    assert two.recall_curve[-1] == two.metrics["recall_at_10"] == 0.5
    assert three.recall_curve == ()

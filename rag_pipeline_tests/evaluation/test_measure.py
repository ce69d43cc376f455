import pytest

from rag_pipeline.errors import UnknownName
from rag_pipeline.evaluation import measure
from rag_pipeline.evaluation.eval_set import EvalSet, Judgement, Query
from rag_pipeline.evaluation.measure import measure_release, stored_experiment
from rag_pipeline.evaluation.split import Half
from rag_pipeline.settings.strategy import RerankerSettings, StrategySettings
from rag_pipeline_tests.served import STRATEGIES, Served
from rag_pipeline_tests.stages import document, pumps

ASKED = EvalSet(
    "pumps",
    (
        Query("oil", "pump oil valve"),
        Query("agent", "create_agent"),
        Query("cafe", "café opens"),
        Query("nothing", "unicorns", ("unanswerable",)),
    ),
    (
        Judgement("oil", "pump.md", quote="The pump moves oil through the valve.", grade=3),
        Judgement("agent", "agents.md", quote="Call create_agent to make an agent.", grade=3),
        Judgement("cafe", "tokyo.md", quote="The café opens at 9.", grade=3),
    ),
)


@pytest.fixture
def served(tmp_path, monkeypatch):
    return Served(tmp_path / "home", monkeypatch)


def measured(served, release, **options):
    return measure_release(served.paths, release.release_id, ASKED, models=served.home.models, **options)


def test_a_release_that_is_not_in_service_is_measured_as_itself(served):
    old = served.publish(pumps())
    new = served.publish([*pumps(), document("more.md", "A pump for oil and another valve.")], name="2")
    found = measured(served, old)
    assert (found.release_id, found.build_key, found.half) == (old.release_id, old.build_key, Half.BOTH)
    assert list(found.runs) == ["hybrid"]
    assert {q.query_id: q.state for q in found.runs["hybrid"]} == {
        "oil": "scored",
        "agent": "scored",
        "cafe": "scored",
        "nothing": "unanswerable",
    }
    assert found.runs["hybrid"][1].metrics["ndcg_at_10"] == 1.0
    assert measured(served, new).release_id == new.release_id


def test_what_was_measured_is_read_again_and_only_other_strategies_are_run(served, monkeypatch):
    release = served.publish(pumps())
    first = measured(served, release)
    asked = []
    real = measure.retrieve_from
    monkeypatch.setattr(
        measure, "retrieve_from", lambda *a, **o: asked.append(o["strategy"]) or real(*a, **o)
    )  # fmt: skip
    assert measured(served, release) == first
    assert asked == []
    both = measured(served, release, strategies=("bm25", "hybrid"))
    assert set(asked) == {"bm25"}
    assert list(both.runs) == ["bm25", "hybrid"] and both.runs["hybrid"] == first.runs["hybrid"]


def test_two_measurements_agree_to_the_last_digit(served):
    """The same index must not pass at one time and fail at another."""
    release = served.publish(pumps())
    first = measured(served, release, strategies=("hybrid", "rrf", "hnsw"))
    folder = served.paths.evaluation(release.release_id, ASKED.content_hash)
    (folder / "retrieval.json").unlink()
    second = measured(served, release, strategies=("hybrid", "rrf", "hnsw"))
    for name, run in first.runs.items():
        assert [(q.query_id, q.ranking, q.metrics) for q in run] == [
            (q.query_id, q.ranking, q.metrics) for q in second.runs[name]
        ]


def test_what_other_code_measured_is_measured_again(served, monkeypatch):
    release = served.publish(pumps())
    measured(served, release)
    folder = served.paths.evaluation(release.release_id, ASKED.content_hash)
    assert stored_experiment(folder) is not None
    monkeypatch.setattr(measure, "code_fingerprint", lambda: "another")
    assert stored_experiment(folder) is None
    assert measured(served, release).code == "another"


def test_a_failed_question_is_counted_and_asked_again_next_time(served, monkeypatch):
    release = served.publish(pumps())
    real = measure.retrieve_from

    def broken(opened, query, **options):
        if query == "create_agent":
            raise TimeoutError("the reranker did not answer")
        return real(opened, query, **options)

    monkeypatch.setattr(measure, "retrieve_from", broken)
    failed = measured(served, release).runs["hybrid"][1]
    assert (failed.state, failed.error) == ("failed", "TimeoutError: the reranker did not answer")
    monkeypatch.setattr(measure, "retrieve_from", real)
    assert measured(served, release).runs["hybrid"][1].state == "scored"


def test_a_half_is_a_part_of_both(served):
    release = served.publish(pumps())
    halves = [measured(served, release, half=half).runs["hybrid"] for half in (Half.TUNING, Half.HELD_OUT)]
    assert sorted(q.query_id for run in halves for q in run) == ["agent", "cafe", "nothing", "oil"]


def test_questions_are_asked_deep_enough_and_an_unknown_strategy_is_an_error(served, monkeypatch):
    release = served.publish(pumps())
    seen = []
    real = measure.retrieve_from
    monkeypatch.setattr(measure, "retrieve_from", lambda *a, **o: seen.append(o) or real(*a, **o))
    measured(served, release)
    assert {o["top_k"] for o in seen} == {10} and all(o["strict"] for o in seen)
    with pytest.raises(UnknownName, match="hybird"):
        measured(served, release, strategies=("hybird",))


def test_progress_reaches_its_total(served):
    release = served.publish(pumps())
    reports = []
    measured(served, release, progress=reports.append)
    assert (reports[-1].stage, reports[-1].done, reports[-1].total) == ("evaluate", 4, 4)


def test_a_strategy_that_could_not_run_is_tried_again_and_then_no_longer_said_to(served, monkeypatch):
    monkeypatch.delenv("RAG_PIPELINE_LLM_URL", raising=False)
    hyde = StrategySettings(transform="hyde").model_dump(mode="json")
    served.content = {"strategies": {**STRATEGIES, "hyde": hyde}}
    release = served.publish(pumps())
    found = measured(served, release, strategies=("hyde", "hybrid"))
    assert list(found.could_not_run) == ["hyde"] and "unconfigured" in found.could_not_run["hyde"]
    assert measured(served, release, strategies=("hybrid",)).could_not_run == {}
    assert measured(served, release, strategies=("hyde", "hybrid")).runs == found.runs  # stored, and asked once more
    real = measure.retrieve_from

    def mended(opened, query, **options):
        return real(opened, query, **{**options, "transform": "none"})

    monkeypatch.setattr(measure, "retrieve_from", mended)
    again = measured(served, release, strategies=("hyde", "bm25"))
    assert again.could_not_run == {}
    assert [q.state for q in again.runs["hyde"]] == ["scored", "scored", "scored", "unanswerable"]


def test_a_reranker_has_time_to_load_and_its_own_options_otherwise(served, monkeypatch):
    """Five seconds are for a query that someone waits for; a busy machine's first call took longer, and the whole
    strategy seemed unable to run."""
    own = RerankerSettings(window=64, seconds=5)
    reranked = StrategySettings(reranker="lexical", reranker_options=own).model_dump(mode="json")
    served.content = {"strategies": {**STRATEGIES, "reranked": reranked}}
    release = served.publish(pumps())
    seen = []
    real = measure.retrieve_from
    monkeypatch.setattr(measure, "retrieve_from", lambda *a, **o: seen.append(o) or real(*a, **o))
    found = measured(served, release, strategies=("reranked", "hybrid"))
    given = [o["reranker_options"] for o in seen if "reranker_options" in o]
    assert {(g.seconds, g.window) for g in given} == {(measure.PATIENCE, 64)}
    assert found.could_not_run == {} and found.runs["reranked"][0].state == "scored"

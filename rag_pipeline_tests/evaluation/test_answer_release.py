import json
import re
from dataclasses import replace

import pytest

from rag_pipeline.answering import registry
from rag_pipeline.answering.prompt import NOT_IN_CONTEXT
from rag_pipeline.errors import InvalidSettings, UnknownName
from rag_pipeline.evaluation import answer_release
from rag_pipeline.evaluation.answer_quality import AnswerQuality
from rag_pipeline.evaluation.answer_release import (
    answer_quality,
    answers_of,
    recorded_quality,
    stored_name,
    why_not_asked,
)
from rag_pipeline.evaluation.eval_set import EvalSet, Judgement, Query
from rag_pipeline.evaluation.judges.cached import CachedJudge
from rag_pipeline.evaluation.judges.lexical import LexicalJudge
from rag_pipeline.evaluation.judges.measure import measure_judges, stored_judges
from rag_pipeline.evaluation.judges.registry import NO_MODEL, open_judges
from rag_pipeline.evaluation.results import read_value
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline_tests.evaluation.answers import answer_set
from rag_pipeline_tests.retrieval.transforms.stub_llm import StubLlm
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import pumps

ASKED = EvalSet(
    "pumps",
    (
        Query("oil", "what does the pump move?", reference_answer="oil", key_facts=("oil through the valve",)),
        Query("agent", "what is E-4021?", key_facts=("E-4021 unknown tool",)),
        Query("bad", "what?", filters={"nonsense": "x"}, key_facts=("x",)),
        Query("nothing", "E-9999 meaning", ("unanswerable",)),
    ),
    tuple(Judgement(q, "pump.md") for q in ("oil", "agent", "bad")),
)


@pytest.fixture
def served(tmp_path, monkeypatch):
    found = Served(tmp_path / "home", monkeypatch)
    found.publish(pumps())
    return found


def measured(served, **options):
    release_id = open_current(served.paths).release.release_id
    return answer_quality(served.paths, release_id, ASKED, models=served.home.models, **options)


def test_quoted_answers_of_a_release(served):
    found = measured(served)
    rows = {row.query_id: row for row in found.rows}
    assert (rows["oil"].key_facts, rows["agent"].key_facts) == (1.0, 1.0)
    assert rows["bad"].failure.startswith("UnknownName: ")
    assert (rows["nothing"].abstained, rows["nothing"].key_facts) == (True, None)
    assert (found.abstention.precision, found.abstention.recall, found.failed) == (1.0, 1.0, 1)
    assert rows["oil"].tokens > 0
    assert found.context == "chatbot"
    assert "by construction" in next(iter(found.not_run.values()))


def test_they_are_measured_once(served, monkeypatch):
    first = measured(served)
    monkeypatch.setattr(answer_release, "answers_of", None)
    assert measured(served) == first
    monkeypatch.setattr(answer_release, "code_fingerprint", lambda *_: "other code")
    with pytest.raises(TypeError):
        measured(served)


def test_another_context_leaves_the_default_ones_result_alone(served, monkeypatch):
    usual = measured(served)
    folder = served.paths.evaluation(usual.release_id, ASKED.content_hash)
    agent = measured(served, context="agent")
    assert (usual.context, agent.context) == ("chatbot", "agent")
    assert read_value(folder, "answers", AnswerQuality) == usual
    assert len(list(folder.glob("answers*.json"))) == 1  # what tracking reads
    monkeypatch.setattr(answer_release, "answers_of", None)
    assert (measured(served), measured(served, context="agent")) == (usual, agent)


def test_a_stored_name_is_one_whatever_the_preset_is_called():
    names = {stored_name("llm", context=context) for context in (None, "agent", "a b", "a/b", "x" * 200)}
    assert len(names) == 5 and all(re.fullmatch(r"[a-z0-9_]{1,100}", name) for name in names)


def test_what_is_quoted_is_faithful_to_the_lexical_judge(served):
    given = answers_of(
        open_current(served.paths),
        ASKED,
        registry.open_answerer("extractive", llm=None),
        models=served.home.models,
        context="agent",
    )
    answered = [g for g in given.values() if not (g.abstained or g.failure)]
    assert len(answered) >= 2
    assert [LexicalJudge().judge(g.text, g.passages).score for g in answered] == [1.0] * len(answered)


def test_answers_of_a_model_are_judged_by_all_that_can_run(served):
    found = measured(served, answerer="llm", llm=StubLlm("The pump moves oil through the valve. [1]"))
    assert {judged.judge for judged in found.faithfulness} == {"lexical", "semantic", "llm", "ragas"}
    of = {judged.judge: judged for judged in found.faithfulness}
    assert of["lexical"].judged == of["lexical"].answers
    assert (of["llm"].valid, of["llm"].mean, set(of["llm"].failures)) == (False, None, {"invalid_json"})
    assert found.rows[0].ragas_failures != {}
    assert found.ragas["answer_correctness"].mean is None
    assert found.model == "stub"


def test_a_model_that_does_not_answer_has_failed_and_not_abstained(served):
    found = measured(served, answerer="llm", llm=StubLlm(failure="timeout"))
    assert {row.failure for row in found.rows if row.query_id != "bad"} == {"timeout"}
    assert (found.abstention.abstained, found.key_facts.mean) == (0, None)
    honest = measured(served, answerer="llm", llm=StubLlm(NOT_IN_CONTEXT))
    assert honest.rows[0].abstained
    assert honest.rows[0].key_facts == 0.0


def test_names_that_are_unknown_and_a_model_that_is_missing(served):
    with pytest.raises(UnknownName, match="answerer"):
        measured(served, answerer="oracle")
    with pytest.raises(UnknownName, match="context"):
        measured(served, context="chatbox")
    with pytest.raises(InvalidSettings, match="RAG_PIPELINE_LLM_URL"):
        measured(served, answerer="llm")


def test_recorded_answers_are_judged_too(served, tmp_path):
    file = tmp_path / "recorded.jsonl"
    row = {"query_id": "oil", "answer": "The pump moves water.", "passages": ["The pump moves oil through the valve."]}
    file.write_text(json.dumps(row) + "\n")
    release_id = open_current(served.paths).release.release_id
    found = recorded_quality(served.paths, release_id, ASKED, file, models=served.home.models)
    assert [judged.judge for judged in found.faithfulness] == ["lexical", "semantic"]
    assert found.not_run == {"llm": NO_MODEL, "ragas": NO_MODEL}
    assert found.key_facts.mean == 0.0


def test_judges_that_can_run_and_why_others_cant(served):
    opened = open_judges(served.embedder, llm=None, cache=None)
    assert ([j.name for j in opened.judges], opened.not_run) == (
        ["lexical", "semantic"],
        {"llm": NO_MODEL, "ragas": NO_MODEL},
    )
    assert len({j.fingerprint for j in open_judges(served.embedder, llm=StubLlm(), cache=None).judges}) == 4
    kept = open_judges(served.embedder, llm=StubLlm(), cache=served.paths.verdicts).judges
    assert {j.name for j in kept if isinstance(j, CachedJudge)} == {"llm", "ragas"}
    with pytest.raises(UnknownName, match="judge"):
        open_judges(served.embedder, llm=None, cache=None, names=["oracle"])


def test_judges_are_measured_once_and_kept_beside_the_release(served, tmp_path):
    release_id = open_current(served.paths).release.release_id
    answers = answer_set(tmp_path / "set", {f"q{n}": (True, "number") for n in range(8)})
    assert stored_judges(served.paths, release_id, answers) is None
    lexical = measure_judges(served.paths, release_id, answers, models=served.home.models, names=["lexical"])
    assert [q.judge for q in lexical.qualities] == ["lexical"]
    every = measure_judges(served.paths, release_id, answers, models=served.home.models)
    assert every.quality_of("lexical") == lexical.qualities[0]
    calls = len(served.embedder.calls)
    assert measure_judges(served.paths, release_id, answers, models=served.home.models) == every
    assert len(served.embedder.calls) == calls
    assert stored_judges(served.paths, release_id, answers) == every
    assert every.quality_of("oracle") is None


def test_answers_are_not_asked_for_where_they_would_tell_nothing(served):
    release = open_current(served.paths).release
    assert why_not_asked(release, ASKED) is None
    assert "no contexts" in why_not_asked(replace(release, contexts={}), ASKED)
    bare = replace(ASKED, queries=tuple(replace(q, key_facts=(), reference_answer=None) for q in ASKED.queries))
    assert "key facts" in why_not_asked(release, bare)

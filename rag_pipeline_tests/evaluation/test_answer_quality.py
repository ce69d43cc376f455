import json

import pytest

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.answer_quality import AnswerQuality, Given, score_answers
from rag_pipeline.evaluation.answer_recorded import read_recorded
from rag_pipeline.evaluation.answer_rows import answer_rows, faithfulness_rows
from rag_pipeline.evaluation.eval_set import EvalSet, Judgement, Query
from rag_pipeline.evaluation.judges.measure import JudgeReport
from rag_pipeline.evaluation.judges.registry import Judges
from rag_pipeline.evaluation.results import read_value, write_value
from rag_pipeline_tests.evaluation.judges.judges import ScriptedJudge
from rag_pipeline_tests.fakes import WordEmbedder

ASKED = EvalSet(
    "keys",
    (
        Query("days", "how often?", reference_answer="every 90 days", key_facts=("90 days", "E-4012")),
        Query("who", "who?", reference_answer="Priya Ramanathan", key_facts=("Priya",)),
        Query("open", "anything?"),
        Query("never", "unicorns?", ("unanswerable",), reference_answer="The corpus doesn't say."),
    ),
    tuple(Judgement(q, "keys.md") for q in ("days", "who", "open")),
)
GIVEN = {
    "days": Given("every 90 days", ("p",), False, tokens=10),
    "who": Given("", (), True, reason="below_floor", tokens=30),
    "open": Given("Something else.", ("p",), False, tokens=20),
    "never": Given("", (), True, reason="no_match", tokens=0),
}


def scored(given=GIVEN, judges=None, **more):
    return score_answers(
        ASKED,
        given,
        answerer="recorded",
        model=None,
        release_id="r1",
        embedder=WordEmbedder(dimension=512),
        judges=judges or Judges((), {"llm": "no model"}),
        **more,
    )


def test_means_are_over_the_questions_that_can_have_the_metric():
    found = scored()
    # days: 1 of 2 facts; who abstained: 0 of 1; open has no facts; never is unanswerable
    assert (found.key_facts.mean, found.key_facts.n, found.key_facts.of) == (0.25, 2, 2)
    assert (found.similarity.mean, found.similarity.n) == (pytest.approx(0.5), 2)
    assert [row.key_facts for row in found.rows] == [0.5, 0.0, None, None]
    assert (found.abstention.precision, found.abstention.recall) == (0.5, 1.0)
    assert (found.tokens_mean, found.tokens_most, found.failed) == (15.0, 30, 0)
    assert found.not_run == {"llm": "no model"}


def test_a_failed_call_is_in_no_mean_and_too_many_make_the_metric_invalid():
    found = scored({**GIVEN, "who": Given("", (), False, failure="timeout")})
    assert (found.failed, found.rows[1].key_facts, found.rows[1].failure) == (1, None, "timeout")
    assert (found.key_facts.mean, found.key_facts.n, found.key_facts.of, found.key_facts.coverage) == (None, 1, 2, 0.5)
    assert (found.abstention.abstained, found.abstention.precision) == (1, 1.0)


def test_judges_see_answers_and_no_abstentions():
    judge = ScriptedJudge({"every 90 days": 1.0, "Something else.": 0.0})
    found = scored(judges=Judges((judge,), {}))
    assert judge.asked == [("every 90 days", ("p",), "how often?"), ("Something else.", ("p",), "anything?")]
    (faithfulness,) = found.faithfulness
    assert (faithfulness.mean, faithfulness.judged, faithfulness.answers, faithfulness.valid) == (0.5, 2, 2, True)
    assert found.rows[1].judgements == {}
    failing = Judges((ScriptedJudge({"every 90 days": 1.0, "Something else.": "timeout"}),), {})
    (faithfulness,) = scored(judges=failing).faithfulness
    assert (faithfulness.mean, faithfulness.valid, faithfulness.failures) == (None, False, {"timeout": 1})


def test_what_was_measured_is_stored_and_read_as_it_was(tmp_path):
    judge = ScriptedJudge({"every 90 days": (1.0,), "Something else.": "timeout"})
    found = scored(judges=Judges((judge,), {"ragas": "not installed"}))
    write_value(tmp_path, "answers", found)
    assert read_value(tmp_path, "answers", AnswerQuality) == found


def test_rows_show_what_a_mean_stands_on_and_the_judge_beside_its_score():
    judge = ScriptedJudge({"every 90 days": 1.0, "Something else.": "timeout"})
    found = scored(judges=Judges((judge,), {}))
    rows = {row["metric"]: row for row in answer_rows(found)}
    assert rows["key-fact recall"] == {"metric": "key-fact recall", "value": 0.25, "n": 2, "of": 2}
    assert rows["tokens of context"]["value"] == 15.0
    (row,) = faithfulness_rows(found, JudgeReport("r1", (), {}))
    assert row["faithfulness"] is None
    assert row["coverage"] == 0.5
    assert row["notes"] == "invalid: too few could be judged; 1 timeout"
    assert row["its AUROC"] == "not measured"


def write(tmp_path, *rows):
    file = tmp_path / "recorded.jsonl"
    file.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows) + "\n", "utf-8")
    return file


def test_recorded_answers_are_read(tmp_path):
    file = write(
        tmp_path,
        {"query_id": "days", "answer": "every 90 days", "passages": ["p"], "tokens": 10},
        {"query_id": "who", "answer": ""},
        {"query_id": "never", "answer": "I don't know.", "abstained": True},
    )
    found = read_recorded(file, ASKED)
    assert found["days"] == Given("every 90 days", ("p",), False, tokens=10)
    assert found["who"].abstained
    assert found["never"] == Given("I don't know.", (), True)
    assert [row.query_id for row in scored(found).rows] == ["days", "who", "never"]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{", "recorded.jsonl:2: not valid JSON"),
        ({"query_id": "days"}, "recorded.jsonl:2: answer: answer: Field required"),
        ({"query_id": "days", "answer": "a", "passage": []}, "unknown key 'passage' .did you mean 'passages'"),
        ({"query_id": "dais", "answer": "a"}, "recorded.jsonl:2: no question of 'keys' has the id 'dais'"),
        ({"query_id": "who", "answer": "b"}, "recorded.jsonl:2: question 'who' is answered twice"),
    ],
)
def test_a_recorded_answer_that_cant_be_used_is_told_with_its_line(tmp_path, bad, message):
    with pytest.raises(InvalidEvalSet, match=message):
        read_recorded(write(tmp_path, {"query_id": "who", "answer": "a"}, bad), ASKED)


def test_a_file_without_answers_is_an_error(tmp_path):
    with pytest.raises(InvalidEvalSet, match="holds no answer"):
        read_recorded(write(tmp_path), ASKED)

import pytest

from rag_pipeline.evaluation.answer_metrics import Abstention
from rag_pipeline.evaluation.answer_quality import AnsweredQuery, AnswerQuality, Measured
from rag_pipeline.evaluation.judges.base import JudgedAnswers
from rag_pipeline.tracking.answer_metrics import add_answers
from rag_pipeline.tracking.names import Metrics

ANSWER = AnsweredQuery("q1", (), True, "Band four begins at 81,500.", False, None, None, 1.0, None, 120, 2)


def quality(answerer: str = "llm", **fields) -> AnswerQuality:
    values = {
        "model": None,
        "release_id": "r1",
        "eval_set": "small",
        "eval_set_hash": "e" * 64,
        "context": "chatbot",
        "rows": (ANSWER,),
        "key_facts": Measured(0.75, 9, 10),
        "similarity": Measured(None, 0, 0),
        "faithfulness": (
            JudgedAnswers("semantic", "s1", 0.5, 4, 4, True, False, {}),
            JudgedAnswers("llm", "l1", None, 4, 1, False, False, {"timeout": 3}),
        ),
        "ragas": {"answer_correctness": Measured(0.25, 4, 4)},
        "abstention": Abstention(2, 1, 1.0, 0.5),
        "failed": 1,
        "tokens_mean": 120.0,
        "tokens_most": 130,
        "not_run": {},
    }
    return AnswerQuality(answerer=answerer, **{**values, **fields})


def test_every_number_has_its_coverage_and_what_nobody_asks_for_is_left_out():
    found = Metrics()
    add_answers(found, quality())
    values = found.values
    assert (values["answers.llm.key_facts"], values["answers.llm.key_facts_coverage"]) == (0.75, pytest.approx(0.9))
    assert values["answers.llm.faithfulness.semantic"] == 0.5
    assert values["answers.llm.ragas.answer_correctness"] == 0.25
    assert (values["answers.llm.abstention_recall"], values["answers.llm.failed"]) == (0.5, 1)
    assert not [name for name in values if "similarity" in name]


def test_a_judge_that_judged_too_few_is_missing_and_not_zero():
    found = Metrics()
    add_answers(found, quality())
    assert found.missing == ["answers.llm.faithfulness.llm"]
    assert found.values["answers.llm.faithfulness.llm_coverage"] == 0.25

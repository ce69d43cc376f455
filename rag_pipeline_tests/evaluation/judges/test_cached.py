import pytest

from rag_pipeline.evaluation.judges.cached import CachedJudge
from rag_pipeline.evaluation.judges.lexical import LexicalJudge
from rag_pipeline_tests.evaluation.judges.judges import ScriptedJudge

ASKED = ("The answer.", ("one", "two"))


def test_a_verdict_is_kept_on_disk_with_its_sentences(tmp_path):
    first = CachedJudge(LexicalJudge(), tmp_path).judge("Pumps move oil. Bananas are blue.", ("Pumps move oil.",))
    silent = ScriptedJudge({}, fingerprint=LexicalJudge().fingerprint)
    assert CachedJudge(silent, tmp_path).judge("Pumps move oil. Bananas are blue.", ("Pumps move oil.",)) == first
    assert (first.score, silent.asked) == (0.5, [])


@pytest.mark.parametrize(
    ("answer", "passages", "question", "fingerprint"),
    [
        ("The answer!", ("one", "two"), "", "scripted-1"),
        ("The answer.", ("two", "one"), "", "scripted-1"),
        ("The answer.", ("onetwo",), "", "scripted-1"),
        ("The answer.", ("one", "two"), "why?", "scripted-1"),
        ("The answer.", ("one", "two"), "", "scripted-2"),
    ],
)
def test_another_answer_passage_question_or_judge_is_judged_anew(tmp_path, answer, passages, question, fingerprint):
    CachedJudge(ScriptedJudge({"The answer.": 1.0}), tmp_path).judge(*ASKED)
    other = ScriptedJudge({answer: 0.25}, fingerprint=fingerprint)
    assert CachedJudge(other, tmp_path).judge(answer, passages, question=question).score == 0.25


def test_a_failure_is_not_kept_and_a_damaged_file_only_costs_a_call(tmp_path):
    assert CachedJudge(ScriptedJudge({"The answer.": "timeout"}), tmp_path).judge(*ASKED).failure == "timeout"
    assert CachedJudge(ScriptedJudge({"The answer.": 0.5}), tmp_path).judge(*ASKED).score == 0.5
    (file,) = tmp_path.glob("*.json")
    file.write_text(file.read_text().replace('\\"score\\":0.5', '\\"score\\":\\"high\\"'))
    assert CachedJudge(ScriptedJudge({"The answer.": 0.75}), tmp_path).judge(*ASKED).score == 0.75

"""The judges and the writer of questions against a real llama.cpp server with a very small base model.

Plumbing only: each reply of a real server is read, or is its row's failure with a reason. What this model says of an
answer means nothing, so no verdict is asserted.
"""

import pytest

from rag_pipeline.evaluation.judges.base import judge_all, judged_answers
from rag_pipeline.evaluation.judges.llm import LlmJudge
from rag_pipeline.evaluation.judges.ragas_judge import METRICS, RagasJudge, RagasScorer
from rag_pipeline.evaluation.synthetic import SourceSection, synthetic_questions
from rag_pipeline.llm.client import LlmClient
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.llm.short import Short

pytestmark = pytest.mark.llama
QUESTION = "How often are signing keys rotated?"
ANSWER = "Signing keys are rotated every 90 days. The gateway is restarted then."
PASSAGES = ("Signing keys are rotated every 90 days; restart the gateway afterwards.",)
UNUSABLE = {"invalid_json", "copies_an_example", "verdicts_missing", "no_number"}
"""Why a row may have no value though its calls succeeded."""
TOO_LONG = " ".join(f"valve {n}" for n in range(4000))
"""More tokens than the server's context holds."""


def test_the_llm_judge_has_a_verdict_for_each_sentence(client: LlmClient) -> None:
    judgement = LlmJudge(Short(client, 100)).judge(ANSWER, PASSAGES, question=QUESTION)
    assert judgement.failure is None and judgement.score is not None  # the server holds it to the three words
    assert [s.text for s in judgement.sentences] == [
        "Signing keys are rotated every 90 days.",
        "The gateway is restarted then.",
    ]
    assert all(s.supported is not None for s in judgement.sentences)


def test_a_row_that_the_server_refuses_fails_alone_and_is_counted(client: LlmClient) -> None:
    judge = LlmJudge(Short(client, 100))
    judgements = judge_all(judge, [(ANSWER, (TOO_LONG,), QUESTION), (ANSWER, PASSAGES, QUESTION)])
    assert [j.failure for j in judgements] == ["http_400", None]
    found = judged_answers(judge, judgements)
    assert (found.judged, found.valid, found.mean, found.failures) == (1, False, None, {"http_400": 1})


def test_ragas_faithfulness_is_a_share_or_a_reason(client: LlmClient) -> None:
    pytest.importorskip("ragas")
    judge = RagasJudge(Short(client, 120))
    judgement = judge.judge(ANSWER, PASSAGES, question=QUESTION)
    assert (judgement.score is None) is (judgement.failure is not None)
    assert judgement.failure in {None, *UNUSABLE}
    assert judgement.score is None or 0 <= judgement.score <= 1
    assert judge.judge(ANSWER, (TOO_LONG,), question=QUESTION).failure in {"http_400", *UNUSABLE}


def test_every_ragas_metric_is_a_number_or_a_reason(client: LlmClient) -> None:
    pytest.importorskip("ragas")
    scorer = RagasScorer(Short(client, 80), WordEmbedder())
    row = scorer.score(question=QUESTION, answer=ANSWER, passages=PASSAGES, reference="Every 90 days.")
    assert set(row.values) | set(row.failures) == set(METRICS) and not set(row.values) & set(row.failures)
    assert all(0 <= value <= 1 for value in row.values.values())
    assert set(row.failures.values()) <= UNUSABLE


def test_the_writer_of_questions_makes_one_or_says_why_not(client: LlmClient) -> None:
    filler = "More words about pumps, so that the section is long enough to ask about. " * 3
    texts = [f"Pump {n} is oiled every thirty days by the night shift. {filler}" for n in range(2)]
    sections = [SourceSection(f"{n}.md", "Pumps", ("Pumps", "Care"), 0, len(t), t) for n, t in enumerate(texts)]
    told: list[str] = []
    done = synthetic_questions(
        sections,
        Short(client, 150),
        count=2,
        refused=lambda section, reason: told.append(f"{section.document} {reason}"),
    )
    assert done.asked == 2 and not done.stopped
    assert len(done.made) + sum(done.failures.values()) == 2 and len(told) == sum(done.failures.values())
    for query, (label,) in done.made:
        assert query.text and label.quote and label.quote in texts[int(label.document[0])]

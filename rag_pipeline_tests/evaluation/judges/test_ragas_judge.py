"""ragas through our own client against a local server; importing it takes seconds, so all of it is in this module."""

import asyncio
import json
import os

import pytest

from rag_pipeline.errors import MissingExtra
from rag_pipeline.evaluation.judges import ragas_judge
from rag_pipeline.evaluation.judges.base import judge_all, judged_answers
from rag_pipeline.evaluation.judges.ragas_judge import RagasJudge, RagasScorer
from rag_pipeline.evaluation.judges.registry import open_judges
from rag_pipeline.http_json import HttpPolicy
from rag_pipeline.llm.client import LlmClient
from rag_pipeline.llm.settings import llm_settings
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.local_server import Answer, local_server

pytest.importorskip("ragas")

STATEMENTS = {"statements": ["Keys rotate.", "Bananas are blue."]}
ASKED = ("Keys rotate. Bananas are blue.", ("Keys rotate.",), "what rotates?")


def said(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return Answer({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})


def verdicts(*values):
    return {"statements": [{"statement": "s", "reason": "r", "verdict": value} for value in values]}


@pytest.fixture
def server():
    with local_server() as running:
        yield running


@pytest.fixture
def llm(server):
    environ = {"RAG_PIPELINE_LLM_URL": f"{server.url}/v1", "RAG_PIPELINE_LLM_MODEL": "m", "RAG_PIPELINE_LLM_KEY": "k"}
    settings = llm_settings(environ, http=HttpPolicy(seconds=5, attempts=2, wait=0.01))
    client = LlmClient(settings)
    yield client
    client.close()


def judge(llm):
    answer, passages, question = ASKED
    return RagasJudge(llm).judge(answer, passages, question=question)


def test_faithfulness_is_the_share_of_supported_statements(server, llm):
    server.script(said(STATEMENTS), said(verdicts(1, 0)))
    judgement = judge(llm)
    assert (judgement.score, judgement.failure, judgement.sentences) == (0.5, None, ())
    assert [asked.path for asked in server.asked] == ["/v1/chat/completions"] * 2
    schema = server.asked[1].body["response_format"]["json_schema"]["schema"]
    assert schema["additionalProperties"] is False
    assert os.environ["RAGAS_DO_NOT_TRACK"] == "true"


BAD = {
    "prose": "Sure, both are fine!",
    "a verdict of 7": verdicts(1, 7),
    "a verdict of -1": verdicts(1, -1),
    "a verdict in words": verdicts(1, "0.8/1"),
    "a verdict as a fraction": verdicts(1, 0.5),
    "a missing key": {"statements": [{"statement": "s", "verdict": 1}]},
    "no verdict": {"statements": []},
    "two objects": json.dumps(verdicts(1, 1)) + json.dumps(verdicts(0, 0)),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_reply_that_cant_be_used_is_asked_for_once_more_and_then_fails_its_row(server, llm, bad):
    """ragas itself takes 7 for supported, and leaves a row that failed out of the mean."""
    server.script(said(STATEMENTS), said(BAD[bad]))
    assert judge(llm).failure == "invalid_json"
    assert len(server.asked) == 3
    assert "could not be used" in server.asked[2].body["messages"][-1]["content"]


def test_a_second_reply_that_is_right_counts(server, llm):
    server.script(said(STATEMENTS), said("well"), said(f"```json\n{json.dumps(verdicts(1, 1))}\n```"))
    assert judge(llm).score == 1.0


EXAMPLES = {"statements": ["Albert Einstein was a German-born theoretical physicist."]}


def test_an_example_of_the_prompt_repeated_is_no_statement_of_the_answer(server, llm):
    """A small model on a real server did so; ragas then judges Einstein, and the share looks like any other."""
    server.script(said(EXAMPLES))
    assert judge(llm).failure == "copies_an_example"
    assert len(server.asked) == 2
    assert "repeats an example" in server.asked[1].body["messages"][-1]["content"]
    row = RagasScorer(llm, WordEmbedder()).score(question="q", answer="a", passages=("p",), reference="r")
    assert row.failures["answer_correctness"] == "copies_an_example"


def test_a_second_reply_that_copies_nothing_counts(server, llm):
    server.script(said(EXAMPLES), said(STATEMENTS), said(verdicts(1, 1)))
    assert judge(llm).score == 1.0


def test_an_answer_that_says_what_an_example_says_may_be_judged(server, llm):
    server.script(said(EXAMPLES), said(verdicts(1)))
    (statement,) = EXAMPLES["statements"]
    assert RagasJudge(llm).judge(statement, ("Einstein was a physicist.",), question="who?").score == 1.0


def test_a_server_that_enforces_a_schema_is_told_what_is_read_strictly(server, llm):
    server.script(said(STATEMENTS), said(verdicts(1, 0)))
    judge(llm)
    first, second = (asked.body["response_format"]["json_schema"]["schema"] for asked in server.asked)
    assert (first["properties"]["statements"]["minItems"], first["properties"]["statements"]["maxItems"]) == (1, 100)
    assert '"enum": [0, 1]' in json.dumps(second)


def test_fewer_verdicts_than_statements_are_a_failure(server, llm):
    server.script(said(STATEMENTS), said(verdicts(1)))
    assert judge(llm).failure == "verdicts_missing"


def test_an_answer_without_statements_is_a_failure_not_a_perfect_answer(server, llm):
    server.script(said({"statements": []}))
    assert judge(llm).failure == "invalid_json"
    row = RagasScorer(llm, WordEmbedder()).score(question="q", answer="a", passages=("p",), reference="r")
    assert row.values == {}
    assert set(row.failures.values()) == {"invalid_json"}


def test_a_server_that_fails_for_three_rows_in_ten_fails_those_rows_and_makes_the_metric_invalid(server, llm):
    def answer(body):
        text = body["messages"][-1]["content"]
        if "broken" in text:
            return Answer({}, status=500)
        return said(verdicts(1, 0)) if "verdict" in text else said(STATEMENTS)

    server.script(answer)
    asked = [("broken" if n % 10 < 3 else f"fine {n}", ("Keys rotate.",), "q?") for n in range(10)]
    ragas = RagasJudge(llm)
    judgements = judge_all(ragas, asked)
    assert [j.score for j in judgements] == [None] * 3 + [0.5] * 7
    found = judged_answers(ragas, judgements)
    assert (found.valid, found.mean, found.failures) == (False, None, {"http_500": 3})


def test_correctness_precision_and_recall_against_a_reference(server, llm):
    def answer(body):
        text = body["messages"][-1]["content"]
        if '"attributed"' in text:
            return said({"classifications": [{"statement": "s", "reason": "r", "attributed": v} for v in (1, 0)]})
        if '"TP"' in text:
            row = {"statement": "s", "reason": "r"}
            return said({"TP": [row], "FP": [row], "FN": []})
        if "verify if the context was useful" in text:
            return said({"reason": "r", "verdict": int("pumps" in text.rsplit("Now perform", 1)[-1])})
        return said(STATEMENTS)

    server.script(answer)
    embedder = WordEmbedder(dimension=512)
    row = RagasScorer(llm, embedder).score(
        question="q", answer="keys rotate", passages=("bananas", "pumps"), reference="keys rotate"
    )
    assert row.failures == {}
    assert row.values["answer_correctness"] == pytest.approx(0.75 * (2 * 0.5 / 1.5) + 0.25)
    assert row.values["context_precision"] == pytest.approx(0.5)
    assert row.values["context_recall"] == 0.5


def test_it_runs_where_a_loop_is_running_already(server, llm):
    server.script(said(STATEMENTS), said(verdicts(1, 1)))

    async def inside():
        return judge(llm)

    assert asyncio.run(inside()).score == 1.0


def test_nothing_is_asked_without_a_question_passages_or_an_answer(server, llm):
    ragas = RagasJudge(llm)
    assert ragas.judge("a", ("p",), question="").failure == "no_question_or_passages"
    assert ragas.judge("a", (), question="q").failure == "no_question_or_passages"
    assert ragas.judge(" ", ("p",), question="q").failure == "nothing_to_judge"
    assert server.asked == []


def test_a_ragas_that_cannot_be_imported_is_a_judge_that_was_not_run(llm, monkeypatch):
    def broken():
        raise MissingExtra("ragas", "eval")

    monkeypatch.setattr(ragas_judge, "_ragas", broken)
    opened = open_judges(WordEmbedder(), llm=llm, cache=None, names=["ragas"])
    assert opened.judges == () and "ragas" in opened.not_run["ragas"]
    with pytest.raises(MissingExtra):
        RagasScorer(llm, WordEmbedder())


def test_an_exception_inside_ragas_is_the_failure_of_its_row(server, llm, monkeypatch):
    from ragas.metrics.collections import Faithfulness

    async def broken(self, **asked):
        raise ZeroDivisionError("no statements")

    monkeypatch.setattr(Faithfulness, "ascore", broken)
    assert judge(llm).failure == "ZeroDivisionError"

import pytest

from rag_pipeline.answering.base import Answer
from rag_pipeline.answering.registry import ANSWERERS, open_answerer
from rag_pipeline.errors import InvalidSettings, UnknownName
from rag_pipeline_tests.answering.results import passage, result_of
from rag_pipeline_tests.retrieval.transforms.stub_llm import StubLlm

QUESTION = "how often are keys rotated"
RESULT = result_of(passage(1, "Keys are rotated every 90 days."), passage(2, "Gloves are worn."))


@pytest.mark.parametrize("name", ANSWERERS)
def test_every_answerer_keeps_the_contract(name: str) -> None:
    answerer = open_answerer(name, llm=StubLlm("Every 90 days [1]. By law [12]."))
    assert answerer.name == name
    answer = answerer.answer(QUESTION, RESULT)
    *pieces, last = answerer.stream(QUESTION, RESULT)
    assert last == answer and isinstance(answer, Answer)
    assert pieces and all(isinstance(piece, str) for piece in pieces)
    assert answer.answerer == name and not answer.abstained and answer.reason is None
    assert [c.number for c in answer.citations] == [1]
    assert set(answer.citations) <= set(RESULT.citations)
    empty = answerer.answer(QUESTION, result_of(empty_reason="filter_empty"))
    assert (empty.abstained, empty.reason, empty.text, empty.citations) == (True, "filter_empty", "", ())


def test_what_is_not_there() -> None:
    with pytest.raises(UnknownName, match="extractive, llm"):
        open_answerer("oracle", llm=None)
    with pytest.raises(InvalidSettings, match="RAG_PIPELINE_LLM_URL"):
        open_answerer("llm", llm=None)

"""Every form that asks a language model, once, against a real llama.cpp server with a very small base model.

Plumbing only: replies arrive, caps hold, JSON obeys its schema, the query stays in. Nothing here judges what it says.
"""

from datetime import date

import pytest

from rag_pipeline.answering.base import Answer
from rag_pipeline.answering.llm import LlmAnswerer
from rag_pipeline.context.citations import check_citations
from rag_pipeline.llm.client import LlmClient
from rag_pipeline.llm.json_reply import Choice, Shape, Texts
from rag_pipeline.llm.reply import Reply
from rag_pipeline.llm.wire import Prompt
from rag_pipeline.retrieval.transforms.base import MAX_PASSAGE_CHARS, MAX_VARIANT_CHARS
from rag_pipeline.retrieval.transforms.filter_llm import filter_llm
from rag_pipeline.retrieval.transforms.filter_query import Vocabulary
from rag_pipeline.retrieval.transforms.registry import NEED_LLM, TRANSFORMS
from rag_pipeline_tests.answering.results import passage, result_of
from rag_pipeline_tests.llm.short import Short

pytestmark = pytest.mark.llama
QUERY = "How often are signing keys rotated?"


def test_text_is_capped_and_then_comes_from_the_cache(client: LlmClient) -> None:
    prompt = Prompt("Keys are rotated every", max_tokens=4)
    reply = client.complete(prompt)
    assert (reply.failure, reply.truncated, reply.attempts) == (None, True, 1)
    assert 0 < len(reply.text.split()) <= 4
    assert not client.complete(prompt).cached  # half a reply is asked for again


def test_json_obeys_its_schema_at_the_first_try(client: LlmClient) -> None:
    shape: Shape = {"colour": Choice(("red", "green")), "size": Choice(("small",)), "words": Texts(most=0, max_chars=9)}
    prompt = Prompt("Write a colour, a size and no words.", max_tokens=60)
    reply = client.complete_json(prompt, shape)
    assert (reply.failure, reply.repaired, reply.problem) == (None, False, None)
    assert reply.value is not None and reply.value["colour"] in ("red", "green")
    assert client.complete_json(prompt, shape).cached


def test_a_stream_says_what_the_plain_reply_says(client: LlmClient) -> None:
    prompt = Prompt("Keys are rotated every", max_tokens=6)
    *pieces, last = client.stream(prompt)
    assert isinstance(last, Reply) and (last.failure, last.truncated) == (None, True)
    assert len(pieces) > 1 and "".join(map(str, pieces)) == last.text
    assert last.text.strip() == client.complete(prompt).text


@pytest.mark.parametrize("name", sorted(NEED_LLM))
def test_every_transform_keeps_the_query_and_its_caps(client: LlmClient, name: str) -> None:
    made = TRANSFORMS[name](QUERY, llm=Short(client, 40))
    assert made.variants[0].text == QUERY and made.variants[0].kind == "original"
    assert len(made.variants) <= 5 and made.seconds > 0
    for variant in made.variants[1:]:
        assert variant.kind == name
        assert 0 < len(variant.text) <= (MAX_PASSAGE_CHARS if name == "hyde" else MAX_VARIANT_CHARS)
    if len(made.variants) == 1:  # what it said was no variant; why is said, and it was no failure of the call
        assert made.markers in ((), ("transform=skipped:malformed",), ("transform=skipped:invalid_json",))


def test_the_filter_form_obeys_its_schema(client: LlmClient) -> None:
    known = Vocabulary(categories=("security", "guide"))
    made = filter_llm("security pages", vocabulary=known, today=date(2026, 4, 1), llm=Short(client, 110))
    # The grammar holds it to the schema; days that are none it may still write.
    assert [marker for marker in made.markers if marker.startswith("filter=rules:")] in ([], ["filter=rules:invalid"])
    assert made.seconds > 0
    assert made.found.filters.keys() <= {"category"}
    assert set(made.found.filters.get("category", ())) <= {"security"} or made.markers


@pytest.mark.parametrize("streamed", [False, True])
def test_the_answerer(client: LlmClient, streamed: bool) -> None:
    result = result_of(passage(1, "Signing keys are rotated every 90 days."), passage(2, "Old keys are destroyed."))
    answerer = LlmAnswerer(Short(client, 24))
    if streamed:
        *pieces, answer = answerer.stream(QUERY, result)
        assert all(isinstance(piece, str) for piece in pieces)
    else:
        answer = answerer.answer(QUERY, result)
    assert isinstance(answer, Answer)
    assert answer.model == client.fingerprint
    # A base model goes on until it is stopped: an answer cut off is no answer.
    assert answer.reason in (None, "too_long", "refused", "not_in_context")
    assert answer.abstained is (answer.reason is not None)
    assert check_citations(answer.text, presented=2).invalid == ()

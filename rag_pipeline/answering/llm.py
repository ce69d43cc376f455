"""An answer by a language model from the formatted context, its citations checked against what was presented.

A reply that can't be used (none in time, empty, a refusal, cut off, "not in the context") becomes an abstention with
its reason; with `strict` all but the honest "not in the context" raise.
"""

from collections.abc import Iterator
from dataclasses import replace

from rag_pipeline.answering.base import Answer, abstention
from rag_pipeline.answering.prompt import NOT_IN_CONTEXT, answer_prompt
from rag_pipeline.context.citations import check_citations, without_invalid
from rag_pipeline.errors import StageFailed
from rag_pipeline.llm.client import ADVICE, Llm
from rag_pipeline.llm.reply import Reply
from rag_pipeline.llm.stream import StreamingLlm
from rag_pipeline.retrieval.transforms.ask import is_refusal
from rag_pipeline.schema import RetrievalResult
from rag_pipeline.text.repair import repair_text

NAME = "llm"
HELD_BACK = 80
"""Characters that are waited for before anything is passed on: by then a refusal shows."""

UNCITED = "answer=uncited"


class LlmAnswerer:
    """Nothing is asked where nothing was found. A model that can't stream answers in one piece."""

    name = NAME

    def __init__(self, llm: Llm, *, strict: bool = False) -> None:
        self._llm = llm
        self._strict = strict

    def answer(self, question: str, result: RetrievalResult) -> Answer:
        nothing = self._nothing(result)
        return nothing or self._checked(self._llm.complete(answer_prompt(question, result)), result)

    def stream(self, question: str, result: RetrievalResult) -> Iterator[str | Answer]:
        nothing = self._nothing(result)
        if nothing is not None:
            yield nothing
            return
        if not isinstance(self._llm, StreamingLlm):
            answer = self.answer(question, result)
            yield from (answer.text,) if answer.text else ()
            yield answer
            return
        held, passing = "", False
        for piece in self._llm.stream(answer_prompt(question, result)):
            if isinstance(piece, Reply):
                answer = self._checked(piece, result)
                if held and not answer.abstained:
                    yield held
                yield answer
                return
            held += repair_text(piece)
            if not passing and len(held.lstrip()) < HELD_BACK:
                continue
            if not passing and _unusable(held) is not None:
                continue  # nothing of a refusal is passed on; the answer will say what it was
            passing = True
            yield held
            held = ""

    def _nothing(self, result: RetrievalResult) -> Answer | None:
        if result.citations and result.formatted_context:
            return None
        return abstention(self.name, result.empty_reason or "no_context")

    def _checked(self, reply: Reply, result: RetrievalResult) -> Answer:
        text = repair_text(reply.text).strip()
        reason = reply.failure or _unusable(text) or ("too_long" if reply.truncated else None)
        if reason is not None:
            if self._strict and reason != "not_in_context":
                raise StageFailed("answer", reason, ADVICE)
            return abstention(self.name, reason, model=self._llm.fingerprint)
        return _cited(text, result, model=self._llm.fingerprint)


def _unusable(text: str) -> str | None:
    bare = text.strip().strip("\"'`*_.[]() \n")
    if not bare:
        return "empty"
    if bare.upper().startswith(NOT_IN_CONTEXT):
        return "not_in_context"
    return "refused" if is_refusal(text) else None


def _cited(text: str, result: RetrievalResult, *, model: str) -> Answer:
    most = len(result.citations)
    kept = without_invalid(text, presented=most).strip()
    cited = check_citations(kept, presented=most).cited
    by_number = {citation.number: citation for citation in result.citations}
    invalid = tuple(int(number) for number in check_citations(text, presented=most).invalid)
    markers = [f"answer=invalid_citations:{len(invalid)}"] if invalid else []
    markers += [] if cited else [UNCITED]
    if not kept:
        return replace(abstention(NAME, "empty", model=model, markers=tuple(markers)), invalid_citations=invalid)
    return Answer(
        text=kept,
        citations=tuple(by_number[number] for number in cited),
        invalid_citations=invalid,
        answerer=NAME,
        model=model,
        abstained=False,
        reason=None,
        markers=tuple(markers),
    )

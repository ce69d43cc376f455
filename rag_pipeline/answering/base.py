"""What an answer is, and the role that makes one from a question and what was retrieved for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from rag_pipeline.schema import Citation, RetrievalResult


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    """With marks `[n]` that refer to `citations`; "" where it abstains."""
    citations: tuple[Citation, ...]
    """Each cited passage once, in order of first use; only passages that the formatted context presents."""
    invalid_citations: tuple[int, ...]
    """Numbers that named no presented passage, as often as they occurred; their marks are not in `text`."""
    answerer: str
    model: str | None
    """Fingerprint of the language model; None where none was asked."""
    abstained: bool
    """No answer was given, for `reason`."""
    reason: str | None
    """Why it abstains: the result's own reason ("no_match", "filter_empty", ...), "no_context", "below_floor",
    "unknown_identifier", "not_in_context", "refused", "empty", "too_long", or the failure of a call ("timeout",
    "unreachable", "http_429", ...); None where it does not."""
    markers: tuple[str, ...]
    """What is doubtful: "answer=invalid_citations:2", "answer=uncited"."""


class Answerer(Protocol):
    """Uses nothing but the question and what the result presents, so that it can tell no more than its reader may see.

    `result` has a formatted context (a retrieval with `context=`); without one every answerer abstains.
    """

    @property
    def name(self) -> str: ...

    def answer(self, question: str, result: RetrievalResult) -> Answer:
        """Raises StageFailed where the answerer is strict and could not run."""
        ...

    def stream(self, question: str, result: RetrievalResult) -> Iterator[str | Answer]:
        """Pieces of text as they come, then the `Answer`, always last and always there.

        The answer's text counts: it is what the pieces were after the check of their citations. Closing the iterator
        stops the work.
        """
        ...


def abstention(answerer: str, reason: str, *, model: str | None = None, markers: tuple[str, ...] = ()) -> Answer:
    return Answer("", (), (), answerer, model, abstained=True, reason=reason, markers=markers)

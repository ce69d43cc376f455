"""What `rag-pipeline query --answer` makes of a result, and how it shows it."""

from pathlib import Path
from typing import Any

from rag_pipeline.answering.base import Answer
from rag_pipeline.schema import RetrievalResult

MODEL_SECONDS = 120.0


def answer_to(result: RetrievalResult, answerer: str, *, home: Path, collection: str) -> Answer:
    """Raises InvalidSettings where "llm" is asked for and no model is configured."""
    from rag_pipeline.answering.registry import open_answerer
    from rag_pipeline.answering.similarity import model_similarity
    from rag_pipeline.paths import Home
    from rag_pipeline.retrieval.language_model import query_llm
    from rag_pipeline.retrieval.reader import open_current

    place = Home(home)
    release = open_current(place.collection(collection)).release
    opened = open_answerer(
        answerer,
        llm=query_llm(seconds=MODEL_SECONDS) if answerer == "llm" else None,
        similarity=model_similarity(place.models, release.embedder_fingerprint),
    )
    return opened.answer(result.query, result)


def answer_json(answer: Answer) -> dict[str, Any]:
    return {
        "text": answer.text,
        "citations": [{"number": c.number, "document": c.doc_id, "section": c.section_id} for c in answer.citations],
        "invalid_citations": list(answer.invalid_citations),
        "answerer": answer.answerer,
        "model": answer.model,
        "abstained": answer.abstained,
        "reason": answer.reason,
        "markers": list(answer.markers),
    }


def print_answer(answer: Answer, result: RetrievalResult) -> None:
    """The answer, then one line for each passage it cites."""
    from rag_pipeline.cli.output import console, verbatim

    out = console()
    if answer.abstained:
        out.print(f"no answer ({answer.reason})")
    else:
        out.print(verbatim(answer.text))
    passages = {passage.number: passage for passage in result.passages}
    if answer.citations:
        out.print()
    for citation in answer.citations:
        path = " > ".join(title for _, title in passages[citation.number].headers)
        out.print(verbatim(f"[{citation.number}] {citation.doc_id}  {path}", "cyan"))
    markers = (*result.markers, *answer.markers)
    out.print(
        f"{answer.answerer} from {len(result.passages)} passages by {result.strategy}, release {result.release_id}"
        + (f" ({', '.join(markers)})" if markers else ""),
        style="dim",
    )

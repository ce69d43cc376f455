"""A passage of a document as a label: a quote where that is enough, with its offsets where the quote occurs twice."""

from rag_pipeline.evaluation.eval_set import Judgement
from rag_pipeline.evaluation.quote import occurrences


def passage_label(query_id: str, *, document: str, text: str, start: int, end: int, grade: int) -> Judgement:
    """The label of `text[start:end]`, white space around it left out; `text` is the whole document's.

    The quote is the whole passage, because that is what was judged. Raises ValueError for a blank passage.
    """
    passage = text[start:end]
    start += len(passage) - len(passage.lstrip())
    quote = passage.strip()
    if not quote:
        raise ValueError(f"{document}: {start}:{end} is blank")
    if len(occurrences(text, quote)) == 1:
        return Judgement(query_id, document, quote=quote, grade=grade)
    return Judgement(query_id, document, quote=quote, start=start, end=start + len(quote), grade=grade)

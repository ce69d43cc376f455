"""The query's words as the index sees them. Counts are of chunks in the scope: others must not be told to exist."""

import numpy as np

from rag_pipeline.evaluation.debug.passage import Target
from rag_pipeline.evaluation.debug.trace import Trace, rows_in
from rag_pipeline.evaluation.debug.values import Term
from rag_pipeline.retrieval.rank import Rows


def terms_of(trace: Trace, text: str, *, target: Target | None = None) -> tuple[Term, ...]:
    """One for each distinct token of `text`, in its order."""
    index = trace.opened.index
    holding = None if target is None else target.holding
    terms = []
    for token in dict.fromkeys(index.analyzer.tokens(text)):
        rows = _rows_with(trace, token)
        terms.append(Term(token, len(rows), None if holding is None else bool(np.isin(holding, rows).any())))
    return tuple(terms)


def unknown_identifiers(trace: Trace) -> tuple[str, ...]:
    """Identifiers of the query, as the analyzer writes them, of which no chunk in the scope has the whole."""
    named = [word.identifiers[0] for word in trace.opened.index.analyzer.words(trace.query) if word.identifiers]
    return tuple(token for token in dict.fromkeys(named) if not len(_rows_with(trace, token)))


def _rows_with(trace: Trace, token: str) -> Rows:
    """Chunks in the scope that hold the token."""
    index = trace.opened.index
    found = [index.postings.rows_of(int(number)) for number in index.postings.term_numbers([token])]
    return rows_in(trace.mask, np.concatenate([*found, np.zeros(0, np.int32)]).astype(np.int64))

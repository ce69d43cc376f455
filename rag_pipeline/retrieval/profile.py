"""How well whole documents match a search, on the scale of fused scores: what evidence about a document rests on.

Lexical: the sum, over the query's terms, of the term's highest BM25 weight in any chunk of the document, so a document
that says one thing here and the other there has both. Dense: the cosine with the document's own vector. For a document
of one chunk both are the chunk's own scores (passages and documents together: Callan 1994, "Passage-Level Evidence in
Document Retrieval").
"""

from collections.abc import Sequence

import numpy as np

from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.fusion import min_max
from rag_pipeline.retrieval.lexical import query_terms
from rag_pipeline.retrieval.rank import Rows, Scores, comparable
from rag_pipeline.retrieval.searches import Search


def document_profile(index: Index, searches: Sequence[Search], rows: Rows, *, vector_weight: float) -> Scores:
    """For each of `rows` its document's match in 0..1, (rows,): over the searches, by their weight, the weighted sum of
    both legs' min-max scores among the documents of `rows`. All rows passed the scope."""
    numbers, place = np.unique(index.layout.document[rows], return_inverse=True)
    spans = index.document_spans(numbers)
    total = np.zeros(len(numbers))
    for search in searches:
        lexical = (1.0 if search.vector is None else 1 - vector_weight) if search.lexical else 0.0
        if lexical:
            best = index.postings.best_weights(query_terms(index, search.text)[0], spans)
            total += search.weight * lexical * min_max(comparable(best), floor=0.0)
        if search.vector is not None:
            near = comparable(index.document_vectors.of([(int(a), int(b)) for a, b in spans]) @ search.vector)
            total += search.weight * (1 - lexical) * min_max(near)
    return total[place]

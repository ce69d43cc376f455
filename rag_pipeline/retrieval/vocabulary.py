"""The values that a collection's metadata has, as far as a principal may read: what a query's words may name.

A value that only hidden documents have is not among them, so that nothing read from a query tells that it exists.
"""

import threading
import weakref
from collections import OrderedDict

import numpy as np

from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.scope import scope
from rag_pipeline.retrieval.transforms.filter_query import Vocabulary
from rag_pipeline.schema import Principal

CACHED = 16

# The rows as one string of bits: a list of them would take longer to hand over than the values to find.
_VALUES = """
WITH seen AS MATERIALIZED (
    SELECT category, author, language, tags FROM documents WHERE get_bit(?::BIT, row) = 1
)
SELECT
    list(DISTINCT category) FILTER (category <> ''),
    list(DISTINCT author) FILTER (author <> ''),
    list(DISTINCT language) FILTER (language <> ''),
    (SELECT list(DISTINCT tag) FROM (SELECT unnest(tags) AS tag FROM seen))
FROM seen
"""

_kept: "weakref.WeakKeyDictionary[Index, OrderedDict[object, Vocabulary]]" = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def vocabulary_of(index: Index, *, principal: Principal | None) -> Vocabulary:
    """Sorted; the same for all who may read the same documents."""
    key = None if principal is None else (principal.is_system, *sorted(principal.entries))
    with _lock:
        kept = _kept.setdefault(index, OrderedDict())
        if key in kept:
            kept.move_to_end(key)
            return kept[key]
    made = _read(index, principal)
    with _lock:
        kept[key] = made
        while len(kept) > CACHED:
            kept.popitem(last=False)
    return made


def _read(index: Index, principal: Principal | None) -> Vocabulary:
    if not index.manifest.documents:
        return Vocabulary()
    mask = scope(index, filters=None, principal=principal)
    readable = np.zeros(index.manifest.documents, np.uint8)
    readable[index.layout.document if mask is None else index.layout.document[mask]] = 1
    with index.cursor() as cursor:
        found = cursor.execute(_VALUES, [(readable + ord("0")).tobytes().decode("ascii")]).fetchone()
    assert found is not None  # a row of totals, always
    categories, authors, languages, tags = (tuple(sorted(values or ())) for values in found)
    return Vocabulary(categories, authors, languages, tags)

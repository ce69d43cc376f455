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
    mask = scope(index, filters=None, principal=principal)
    readable = set(np.unique(index.layout.document if mask is None else index.layout.document[mask]).tolist())
    with index.cursor() as cursor:
        found = cursor.execute("SELECT row, category, author, language, tags FROM documents").fetchall()
    seen = [values for row, *values in found if row in readable]
    categories, authors, languages = (tuple(sorted({v[i] for v in seen if v[i]})) for i in range(3))
    return Vocabulary(categories, authors, languages, tuple(sorted({tag for v in seen for tag in v[3]})))

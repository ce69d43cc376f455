"""Who may see what, and what was asked for: filters and principal become one mask over the chunks.

The only place where access is decided. Both legs, fusion and the fetch of parents work under the mask. Keys are an
allow-list and values are bound, so nothing a caller writes reaches SQL as SQL.
"""

import json
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.errors import UnknownName
from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.filters import Condition, parse_filters
from rag_pipeline.schema import Principal

Mask = NDArray[np.bool_] | None
"""(chunks,) True where a chunk may be used; None stands for all."""

CACHED_MASKS = 16
_masks: "weakref.WeakKeyDictionary[Index, OrderedDict[str, Mask]]" = weakref.WeakKeyDictionary()
_lock = threading.Lock()

# A filter that matches a duplicate selects the document it duplicates, which must be readable itself.
_DOCUMENTS = """
SELECT DISTINCT c.row FROM documents d JOIN documents c ON c.doc_id = coalesce(d.canonical_id, d.doc_id)
WHERE {conditions}
"""
_CHUNKS = "SELECT c.row FROM chunks c WHERE {conditions}"
_READABLE = """
SELECT d.doc_id FROM documents d JOIN documents c ON c.doc_id = coalesce(d.canonical_id, d.doc_id)
WHERE {conditions} ORDER BY d.doc_id
"""


def scope(index: Index, *, filters: Mapping[str, Any] | None, principal: Principal | None) -> Mask:
    """The chunks that match all filters and that the principal may read.

    `principal=None` sees documents without an access list, where the build's default is public. In a build whose
    default is restricted, a document without a list is for `Principal.system()` alone. Raises UnknownName for an
    unknown filter key or operator or a principal that is none, InvalidSettings for a value that can't be used.
    """
    if principal is not None and not isinstance(principal, Principal):
        raise UnknownName(
            f"unknown form of principal {principal!r}; pass Principal(identity, groups), Principal.system() or None"
        )
    conditions = parse_filters(filters or {})
    key = json.dumps([filters or {}, _reader(principal)], sort_keys=True, default=str)
    with _lock:
        cached = _masks.setdefault(index, OrderedDict())
        if key in cached:
            cached.move_to_end(key)
            return cached[key]
    mask = _mask(index, conditions, principal)
    with _lock:
        cached[key] = mask
        while len(cached) > CACHED_MASKS:
            cached.popitem(last=False)
    return mask


def readable_documents(index: Index, *, principal: Principal | None) -> tuple[str, ...]:
    """Ids of the documents that the principal may read, those without any chunk too, sorted."""
    access = list(_access(index, principal))
    conditions = " AND ".join(c.sql for c in access) or "true"
    with index.cursor() as cursor:
        found = cursor.execute(_READABLE.format(conditions=conditions), [v for c in access for v in c.values])
        return tuple(doc_id for (doc_id,) in found.fetchall())


def _mask(index: Index, conditions: tuple[Condition, ...], principal: Principal | None) -> Mask:
    document = [c for c in conditions if c.table == "documents"]
    chunk = [c for c in conditions if c.table == "chunks"]
    access = list(_access(index, principal))
    if not conditions and not access:
        return None
    if index.manifest.default_access == "public" and not conditions and not index.manifest.counts["restricted"]:
        return None  # nobody is kept from anything; the manifest carries its own checksum
    mask = np.ones(index.chunks, np.bool_)
    with index.cursor() as cursor:
        if document or access:
            chosen = np.zeros(index.manifest.documents, np.bool_)
            chosen[_rows(cursor, _DOCUMENTS, [*access, *document])] = True
            mask &= chosen[index.layout.document]
        if chunk:
            chosen = np.zeros(index.chunks, np.bool_)
            chosen[_rows(cursor, _CHUNKS, chunk)] = True
            mask &= chosen
    mask.flags.writeable = False
    return mask


def _access(index: Index, principal: Principal | None) -> Iterator[Condition]:
    """On both the document a filter matched and the one it stands for. An empty list admits nobody."""
    if principal is not None and principal.is_system:
        return
    entries = list(principal.entries) if principal is not None else []
    for alias in ("d", "c"):
        unlisted = f"{alias}.access IS NULL" if index.manifest.default_access == "public" else "false"
        if entries:
            yield Condition("documents", f"({unlisted} OR list_has_any({alias}.access, ?::VARCHAR[]))", (entries,))
        else:
            yield Condition("documents", unlisted, ())


def _rows(cursor: Any, template: str, conditions: list[Condition]) -> NDArray[np.int64]:
    sql = template.format(conditions=" AND ".join(f"({c.sql})" for c in conditions))
    values = [value for c in conditions for value in c.values]
    return np.asarray(cursor.execute(sql, values).fetchnumpy()["row"], np.int64)


def _reader(principal: Principal | None) -> object:
    return None if principal is None else [principal.is_system, *sorted(principal.entries)]

"""Two halves of an eval set: one to tune on, one that stays unseen until the choice is made.

Questions that share a judged document are on the same side, or a setting tuned on one would be measured on the same
page's other question. Whoever runs questions names the half; there is no default.
"""

import enum
import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rag_pipeline.evaluation.eval_set import EvalSet

LARGE = 0.1
"""A group of linked questions above this share of the set is placed first and the others balance it."""


class Half(enum.Enum):
    TUNING = "tuning"
    HELD_OUT = "held_out"
    BOTH = "both"
    """For comparing two builds with fixed settings; never for choosing settings."""


@dataclass(frozen=True, slots=True)
class Split:
    half_of: Mapping[str, Half]
    """TUNING or HELD_OUT by query id."""
    notices: tuple[str, ...]
    """Why the halves are not even, where they aren't."""


def split_halves(eval_set: EvalSet) -> Split:
    """Decided by hashes of document names and query ids alone, so that questions added later move few of the others.

    A group of questions linked by documents goes left or right by a hash of one of its documents. Large groups are
    placed first, each on the emptier side; the threshold for the others then makes up for them.
    """
    groups = _linked(eval_set)
    total = len(eval_set.queries)
    half_of: dict[str, Half] = {}
    notices = []
    sizes = {Half.TUNING: 0, Half.HELD_OUT: 0}
    large = sorted(
        (g for g in groups if len(g.queries) > max(1, LARGE * total)), key=lambda g: (-len(g.queries), g.place)
    )
    for group in large:
        by_hash = Half.TUNING if group.place < 0.5 else Half.HELD_OUT
        side = min(sizes, key=lambda half: (sizes[half], half is not by_hash))
        sizes[side] += len(group.queries)
        half_of.update(dict.fromkeys(group.queries, side))
        if len(group.queries) > total / 4:
            notices.append(
                f"{len(group.queries)} of {total} questions hang together through the documents they share "
                f"(first: {group.queries[0]!r}) and stay in one half"
            )
    small = [g for g in groups if g not in large]
    left = sum(len(g.queries) for g in small)
    threshold = min(1.0, max(0.0, (total / 2 - sizes[Half.TUNING]) / left)) if left else 0.5
    for group in small:
        half_of.update(dict.fromkeys(group.queries, Half.TUNING if group.place < threshold else Half.HELD_OUT))
    return Split(half_of, tuple(notices))


def select(eval_set: EvalSet, half: Half) -> EvalSet:
    """The part of the set that belongs to `half`."""
    if half is Half.BOTH:
        return eval_set
    half_of = split_halves(eval_set).half_of
    return replace(
        eval_set,
        queries=tuple(q for q in eval_set.queries if half_of[q.id] is half),
        judgements=tuple(j for j in eval_set.judgements if half_of[j.query_id] is half),
    )


@dataclass(frozen=True, slots=True)
class _Group:
    queries: tuple[str, ...]
    place: float
    """In [0, 1), from a hash."""


def _linked(eval_set: EvalSet) -> list[_Group]:
    """Connected components of questions and judged documents; a question without a document is one of its own."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    anchor = {q.id: f"query:{q.id}" for q in eval_set.queries}
    documents = {q: sorted({j.document for j in found}) for q, found in eval_set.judgements_of.items()}
    for query_id, names in documents.items():
        if names:
            anchor[query_id] = f"document:{names[0]}"
        for name in names[1:]:
            parent[root(f"document:{name}")] = root(f"document:{names[0]}")
    members: dict[str, list[str]] = defaultdict(list)
    held: dict[str, set[str]] = defaultdict(set)
    for query_id, name in anchor.items():
        members[root(name)].append(query_id)
        held[root(name)].update([f"document:{n}" for n in documents[query_id]] or [name])
    return [_Group(tuple(sorted(queries)), _place(held[name])) for name, queries in sorted(members.items())]


def _place(names: set[str]) -> float:
    """The least hash says which name stands for the group, that name's second hash where: a minimum would lean left."""
    name = min(names, key=lambda n: hashlib.sha256(n.encode()).digest())
    return int.from_bytes(hashlib.sha256(f"half:{name}".encode()).digest()[:7], "big") / 2**56

"""From chunks to sections: the best chunk stands for its section, and no two results show the same text span. Pure."""

from collections.abc import Iterable

from rag_pipeline.index.open import Layout


def collapse(rows: Iterable[int], layout: Layout, *, limit: int) -> list[int]:
    """The first `limit` of `rows` (best first) whose section is new and whose span overlaps none taken before it."""
    sections: set[int] = set()
    spans: dict[int, list[tuple[int, int]]] = {}
    taken: list[int] = []
    for row in rows:
        if len(taken) == limit:
            break
        section, document = int(layout.section[row]), int(layout.document[row])
        start, end = int(layout.start[row]), int(layout.end[row])
        beside = spans.setdefault(document, [])
        if section in sections or any(start < other_end and other_start < end for other_start, other_end in beside):
            continue
        sections.add(section)
        beside.append((start, end))
        taken.append(int(row))
    return taken

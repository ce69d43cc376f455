"""Results made by hand: passages as a formatter would have presented them."""

from collections.abc import Sequence

from rag_pipeline.schema import Citation, Hit, Passage, RetrievalResult


def passage(number: int, *pieces: str, doc_id: str = "", title: str = "Page", heading: str = "Part") -> Passage:
    doc_id = doc_id or f"doc{number}.md"
    return Passage(number, f"{doc_id}#s", doc_id, title, ((1, title), (2, heading)), pieces)


def result_of(
    *passages: Passage, empty_reason: str | None = None, ranks: Sequence[int] = (), query: str = "q"
) -> RetrievalResult:
    """`ranks`: of each passage's hit; by default the passages' order."""
    hits = tuple(
        Hit(
            rank=rank,
            chunk_id=f"{p.section_id}c",
            section_id=p.section_id,
            doc_id=p.doc_id,
            source=f"/corpus/{p.doc_id}",
            title=p.title,
            headers=p.headers,
            content=p.text,
            lead="",
            start=0,
            end=len(p.text),
            section_start=0,
            section_end=len(p.text),
            kind="prose",
            score=1.0 / rank,
            scores={},
            section_content=p.text,
        )
        for rank, p in zip(ranks or range(1, len(passages) + 1), passages, strict=True)
    )
    shown = "\n".join(f'<passage id="{p.number}">\n[{p.number}] {p.title}\n\n{p.text}\n</passage>' for p in passages)
    return RetrievalResult(
        query=query,
        collection="test",
        strategy="hybrid",
        release_id="0" * 20,
        build_key="b",
        hits=tuple(sorted(hits, key=lambda hit: hit.rank)),
        timings_ms={},
        candidates={},
        empty_reason=empty_reason,
        context="agent" if passages else None,
        formatted_context=f"# Retrieved Knowledge\n{shown}\n" if passages else None,
        citations=tuple(Citation(p.number, p.section_id, p.doc_id) for p in passages),
        passages=passages,
    )

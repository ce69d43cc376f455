"""Small stage folders made by hand, so that index and retrieval are tested without the earlier stages.

A document is one heading `# Title` and paragraphs; each paragraph is one section and one chunk.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rag_pipeline.index.build import BuildInfo, build_index
from rag_pipeline.parquet import write_rows
from rag_pipeline.schema import Chunk, Document, LedgerEntry, Section
from rag_pipeline.settings.build import IndexSettings
from rag_pipeline_tests.fakes import WordEmbedder


def document(doc_id: str, *paragraphs: str, **fields: Any) -> Document:
    title = fields.pop("title", doc_id.removesuffix(".md").title())
    text = "\n\n".join([f"# {title}", *paragraphs])
    return Document(
        doc_id=doc_id,
        source=f"/corpus/{doc_id}",
        text=text,
        format=fields.pop("format", "markdown"),
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        metadata_hash="0",
        title=title,
        **fields,
    )


def describe(embedder: WordEmbedder) -> dict[str, str | int]:
    return {
        "fingerprint": embedder.fingerprint,
        "model": "words",
        "runtime": "fake",
        "dimension": embedder.dimension,
        "max_tokens": embedder.max_tokens,
        "query_prefix": "",
    }


def pieces(document: Document) -> tuple[list[Section], list[Chunk]]:
    sections: list[Section] = []
    chunks: list[Chunk] = []
    at = document.text.index("\n\n") + 2 if "\n\n" in document.text else len(document.text)
    for n, paragraph in enumerate(document.text[at:].split("\n\n") if at < len(document.text) else ()):
        start, end = at, at + len(paragraph)
        at = end + 2
        section_id, headers = f"{document.doc_id}#s{n}", ((1, document.title), (2, f"Part {n}"))
        sections.append(Section(section_id, document.doc_id, n, start, end, headers, "prose"))
        chunks.append(
            Chunk(
                chunk_id=f"{document.doc_id}#c{n}",
                section_id=section_id,
                doc_id=document.doc_id,
                ordinal=n,
                start=start,
                end=end,
                text=paragraph,
                lead="",
                search_text=f"{document.title}\n{paragraph}",
                tokens=len(paragraph.split()),
                kind="prose",
            )
        )
    return sections, chunks


def write_stages(
    root: Path,
    documents: Sequence[Document],
    *,
    embedder: WordEmbedder | None = None,
    name: str = "1",
    chunks: Sequence[Chunk] | None = None,
    sections: Sequence[Section] | None = None,
    vectors: np.ndarray | None = None,
    rows: Sequence[int] | None = None,
    left_out: Sequence[LedgerEntry] = (),
) -> tuple[Path, Path, Path]:
    """Folders `snapshot-<name>`, `chunking-<name>`, `vectors-<name>` under `root`.

    `left_out` are ledger entries of inputs ("read") and pieces ("chunk") that are in none of them.
    """
    embedder = embedder or WordEmbedder()
    snapshot, chunking, vectors_folder = (root / f"{what}-{name}" for what in ("snapshot", "chunking", "vectors"))
    for folder in (snapshot, chunking, vectors_folder):
        folder.mkdir(parents=True, exist_ok=True)
    made = [pieces(d) for d in documents if d.canonical_id is None]
    sections = [s for some, _ in made for s in some] if sections is None else sections
    chunks = [c for _, some in made for c in some] if chunks is None else chunks
    read = [LedgerEntry(d.doc_id, "read", "indexed", "read", size=len(d.text)) for d in documents]
    write_rows(snapshot / "documents.parquet", Document, documents)
    write_rows(snapshot / "ledger.parquet", LedgerEntry, [*read, *(e for e in left_out if e.stage == "read")])
    write_rows(chunking / "sections.parquet", Section, sections)
    write_rows(chunking / "chunks.parquet", Chunk, chunks)
    write_rows(chunking / "ledger.parquet", LedgerEntry, [e for e in left_out if e.stage == "chunk"])
    rows = range(len(chunks)) if rows is None else rows
    refused = [c for n, c in enumerate(chunks) if n not in rows]
    write_rows(
        vectors_folder / "ledger.parquet",
        LedgerEntry,
        [LedgerEntry(c.doc_id, "embed", "failed", "not_finite", c.chunk_id, c.start, c.end) for c in refused],
    )
    if vectors is None:
        vectors = embedder.embed([chunks[r].search_text for r in rows])
    np.save(vectors_folder / "vectors.npy", vectors)
    np.save(vectors_folder / "rows.npy", np.array(list(rows), np.int64))
    (chunking / "chunking.json").write_text(json.dumps({"snapshot": snapshot.name}))
    card = {"chunking": chunking.name, "fingerprint": embedder.fingerprint, "chunks": len(chunks)}
    (vectors_folder / "vectors.json").write_text(json.dumps(card))
    return snapshot, chunking, vectors_folder


def build(
    root: Path,
    documents: Sequence[Document],
    *,
    embedder: WordEmbedder | None = None,
    settings: IndexSettings | None = None,
    builds: Path | None = None,
    default_access: Any = "public",
    **stages: Any,
) -> BuildInfo:
    embedder = embedder or WordEmbedder()
    snapshot, chunking, vectors = write_stages(root / "stages", documents, embedder=embedder, **stages)
    return build_index(
        snapshot,
        chunking,
        vectors,
        settings=settings or IndexSettings(),
        embedder=describe(embedder),
        builds=builds or root / "builds",
        default_access=default_access,
    )


PUMPS: Mapping[str, Sequence[str]] = {
    "pump.md": ("The pump moves oil through the valve.", "Replace the filter monthly.", "Wear gloves near the pump."),
    "agents.md": ("Call create_agent to make an agent.", "Error E-4021 names an unknown tool.", "C++ and C# bindings."),
    "tokyo.md": ("東京大学に行く。", "The café opens at 9."),
}


def pumps() -> list[Document]:
    return [document(doc_id, *paragraphs) for doc_id, paragraphs in PUMPS.items()]

"""A made-up corpus of any size for the benchmarks of scale: clustered vectors, Zipf text, queries with a known origin.

Not a benchmark itself. Vectors lie around cluster centres as real embeddings do (uniform ones have no neighbours worth
finding); every cluster has near neighbours by the hundred, which is where approximate search loses the right one. Words
follow Zipf's law with a share drawn from the cluster's own words, so that both legs have something to agree on. The
same size and seed give the same bytes.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.parquet import RowWriter
from rag_pipeline.schema import Chunk, Document, LedgerEntry, Section

DIMENSION = 384
VOCABULARY = 60_000
ZIPF = 1.07
WORDS = (40, 100)
"""Fewest and most words of a chunk."""
OWN_WORDS = 60
"""Words that belong to one cluster; a quarter of its text comes from them."""
CHUNKS_A_DOCUMENT = 20
CLUSTER_SIZE = 400
SPREADS = (0.6, 0.5)
"""Length of the noise of a document around its cluster's centre, and of a chunk around its document: cosine about 0.85
within a document, 0.6 within a cluster."""
QUERY_SPREAD = 0.8
"""Of a query around the chunk it was made from: the chunk's document competes with it."""
BATCH = 20_000
EMBEDDER = {
    "fingerprint": "synthetic",
    "model": "synthetic",
    "runtime": "none",
    "dimension": DIMENSION,
    "max_tokens": 256,
    "query_prefix": "",
}


@dataclass(frozen=True, slots=True)
class Corpus:
    """Stage folders, as the pipeline's own stages would leave them, and queries."""

    snapshot: Path
    chunking: Path
    vectors: Path
    query_vectors: NDArray[np.float32]
    query_texts: tuple[str, ...]
    origins: NDArray[np.int64]
    """The chunk that each query was made from, as a row of the index."""


def corpus(folder: Path, *, chunks: int, queries: int = 200, seed: int = 0) -> Corpus:
    """Made once and read again afterwards."""
    target = folder / f"{chunks}-{seed}"
    if not (target / "done").exists():
        _write(target, chunks=chunks, queries=queries, seed=seed)
        (target / "done").touch()
    kept = json.loads((target / "queries.json").read_text("utf-8"))
    return Corpus(
        target / "snapshot",
        target / "chunking",
        target / "vectors",
        np.load(target / "query_vectors.npy"),
        tuple(kept["texts"]),
        np.array(kept["origins"], np.int64),
    )


def texts(corpus: Corpus) -> Iterator[str]:
    """The searched text of every chunk, in the order of the index's rows."""
    import pyarrow.parquet as pq

    for batch in pq.ParquetFile(corpus.chunking / "chunks.parquet").iter_batches(columns=["search_text"]):
        yield from batch.column("search_text").to_pylist()


def _write(target: Path, *, chunks: int, queries: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    snapshot, chunking, vectors = (target / name for name in ("snapshot", "chunking", "vectors"))
    for part in (snapshot, chunking, vectors):
        part.mkdir(parents=True, exist_ok=True)
    clusters = max(8, chunks // CLUSTER_SIZE)
    centres = _unit(random.standard_normal((clusters, DIMENSION), dtype=np.float32))
    own = random.integers(500, VOCABULARY, (clusters, OWN_WORDS))
    frequency = 1.0 / np.arange(1, VOCABULARY + 1) ** ZIPF
    cumulative = np.cumsum(frequency / frequency.sum())
    # Rows of the index follow document ids; a document's chunks come from one cluster, as a page's sections would.
    documents = -(-chunks // CHUNKS_A_DOCUMENT)
    cluster_of_document = random.integers(0, clusters, documents)
    origins = np.sort(random.choice(chunks, queries, replace=False))
    wanted = set(origins.tolist())
    query_vectors = np.zeros((queries, DIMENSION), np.float32)
    query_texts: list[str] = []
    out = np.lib.format.open_memmap(vectors / "vectors.npy", mode="w+", dtype=np.float32, shape=(chunks, DIMENSION))
    with (
        RowWriter(snapshot / "documents.parquet", Document) as write_document,
        RowWriter(snapshot / "ledger.parquet", LedgerEntry) as write_input,
        RowWriter(chunking / "sections.parquet", Section) as write_section,
        RowWriter(chunking / "chunks.parquet", Chunk) as write_chunk,
        RowWriter(chunking / "ledger.parquet", LedgerEntry),
        RowWriter(vectors / "ledger.parquet", LedgerEntry),
    ):
        row = 0
        for first in range(0, documents, BATCH // CHUNKS_A_DOCUMENT):
            batch = cluster_of_document[first : first + BATCH // CHUNKS_A_DOCUMENT]
            cluster = np.repeat(batch, CHUNKS_A_DOCUMENT)[: chunks - row]
            around = _unit(centres[batch] + SPREADS[0] * _noise(random, len(batch)))
            block = _unit(
                np.repeat(around, CHUNKS_A_DOCUMENT, axis=0)[: len(cluster)] + SPREADS[1] * _noise(random, len(cluster))
            )
            out[row : row + len(block)] = block
            lengths = random.integers(*WORDS, len(cluster))
            common = np.searchsorted(cumulative, random.random(int(lengths.sum())))
            special = own[np.repeat(cluster, lengths), random.integers(0, OWN_WORDS, len(common))]
            words = np.where(random.random(len(common)) < 0.25, special, common)
            ends = np.cumsum(lengths)
            paragraphs = [
                " ".join(map(_word, words[end - length : end].tolist()))
                for end, length in zip(ends, lengths, strict=True)
            ]
            for at in sorted(wanted.intersection(range(row, row + len(block)))):
                query_vectors[len(query_texts)] = _unit(block[at - row] + QUERY_SPREAD * _noise(random, 1)[0])
                said = words[ends[at - row] - lengths[at - row] : ends[at - row]]
                query_texts.append(" ".join(map(_word, random.choice(said, 6, replace=False).tolist())))
            for number in range(len(batch)):
                part = paragraphs[number * CHUNKS_A_DOCUMENT : (number + 1) * CHUNKS_A_DOCUMENT]
                if not part:
                    break
                doc_id = f"d{first + number:07d}.md"
                text = "\n\n".join(part)
                write_document.write(
                    Document(
                        doc_id, doc_id, text, "markdown", doc_id, "0", doc_id, category=f"c{(first + number) % 1000}"
                    )
                )
                write_input.write(LedgerEntry(doc_id, "read", "indexed", "read", size=len(text)))
                start = 0
                for ordinal, paragraph in enumerate(part):
                    section, end = f"{doc_id}#s{ordinal}", start + len(paragraph)
                    write_section.write(Section(section, doc_id, ordinal, start, end, ((1, doc_id),), "prose"))
                    write_chunk.write(
                        Chunk(
                            f"{doc_id}#c{ordinal}",
                            section,
                            doc_id,
                            ordinal,
                            start,
                            end,
                            paragraph,
                            "",
                            paragraph,
                            len(paragraph.split()),
                            "prose",
                        )
                    )
                    start = end + 2
            row += len(block)
    out.flush()
    np.save(vectors / "rows.npy", np.arange(chunks, dtype=np.int64))
    (chunking / "chunking.json").write_text(json.dumps({"snapshot": snapshot.name}))
    card = {"chunking": chunking.name, "fingerprint": EMBEDDER["fingerprint"], "chunks": chunks}
    (vectors / "vectors.json").write_text(json.dumps(card))
    np.save(target / "query_vectors.npy", query_vectors)
    (target / "queries.json").write_text(json.dumps({"texts": query_texts, "origins": origins.tolist()}))


def _word(number: int) -> str:
    """A pronounceable stand-in, the same for the same number, that no stemmer changes into another's."""
    consonants, vowels = "bdfgklmnprtvz", "aiou"
    out = []
    number += 1
    while number:
        number, rest = divmod(number, len(consonants) * len(vowels))
        out.append(consonants[rest // len(vowels)] + vowels[rest % len(vowels)])
    return "".join(out) + "k"


def _noise(random: np.random.Generator, count: int) -> NDArray[np.float32]:
    """(count, dimension), each of length about 1."""
    return random.standard_normal((count, DIMENSION), dtype=np.float32) / np.float32(np.sqrt(DIMENSION))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32)

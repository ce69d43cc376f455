"""The systems that are compared at scale, each behind the same four calls; not a benchmark itself.

Everyone gets the same vectors and texts, answers the 20 best rows, and keeps its own defaults unless its name says
otherwise. `rows` are chunk numbers in the order of the corpus. Peers are installed with `pip install -e ".[bench]"`.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.synthetic import DIMENSION, EMBEDDER, Corpus, texts
from rag_pipeline.index.build import build_index
from rag_pipeline.index.open import Index, open_build
from rag_pipeline.retrieval.clock import Clock
from rag_pipeline.retrieval.dense import nearest
from rag_pipeline.retrieval.hits import make_hits
from rag_pipeline.retrieval.lexical import bm25
from rag_pipeline.retrieval.reader import OpenRelease
from rag_pipeline.retrieval.search import search_for
from rag_pipeline.retrieval.searches import Search, Searches
from rag_pipeline.schema import Release
from rag_pipeline.settings.build import IndexSettings
from rag_pipeline.settings.strategy import StrategySettings

LIMIT = 20
RRF_K = 60
NEAREST = f"SELECT row FROM chunks ORDER BY array_cosine_distance(embedding, ?::FLOAT[{DIMENSION}]) LIMIT {LIMIT}"  # noqa: S608
MATCHING = f"""
SELECT row FROM (SELECT row, fts_main_chunks.match_bm25(row, ?) AS score FROM chunks)
WHERE score IS NOT NULL ORDER BY score DESC LIMIT {LIMIT}
"""  # noqa: S608


class System(Protocol):
    """`dense` and `lexical` are None where the system has no such leg of its own."""

    settings: str

    def hybrid(self, vector: NDArray[np.float32], text: str) -> Sequence[int]: ...


@dataclass(frozen=True, slots=True)
class Peer:
    build: Callable[[Corpus, Path], None]
    """Into an empty folder; runs in a process of its own, whose time and peak memory are taken."""
    open: Callable[[Corpus, Path], Any]
    version: Callable[[], str]


def build_ours(corpus: Corpus, folder: Path, *, hnsw: bool) -> None:
    settings = IndexSettings(language="none", hnsw=hnsw)
    built = build_index(
        corpus.snapshot, corpus.chunking, corpus.vectors, settings=settings, embedder=EMBEDDER, builds=folder / "builds"
    )
    (folder / "key").write_text(built.key)


class Ours:
    def __init__(self, corpus: Corpus, folder: Path) -> None:
        self.index: Index = open_build(folder / "builds" / (folder / "key").read_text())
        self.strategy = StrategySettings(candidates=50, top_k=LIMIT)
        release = Release("r", "synthetic", self.index.manifest.build_key, EMBEDDER, {}, "hybrid", "")
        self.opened = OpenRelease(release, self.index)
        self.settings = f"hybrid, {self.strategy.candidates} candidates a leg, evidence, texts fetched"

    def hybrid(self, vector: NDArray[np.float32], text: str) -> Sequence[int]:
        """What `retrieve` does after the query is embedded, up to the hits with their texts."""
        found = search_for(
            Searches((Search(text, vector, lexical=True, weight=1.0),), (), {}, {}),
            text,
            opened=self.opened,
            mask=None,
            strategy=self.strategy,
            models=Path(),
            clock=Clock(),
        )
        hits = make_hits(self.index, found.ranking, found.candidates)
        return [row for row, _ in zip(found.ranking.rows, hits, strict=True)]

    def dense(self, vector: NDArray[np.float32]) -> Sequence[int]:
        chosen = self.strategy
        rows, _ = nearest(
            self.index, vector, mask=None, limit=LIMIT, search=chosen.search, exact_limit=chosen.exact_limit
        )
        return rows.tolist()

    def lexical(self, text: str) -> Sequence[int]:
        return bm25(self.index, text, mask=None, limit=LIMIT)[0].tolist()


def build_lancedb(corpus: Corpus, folder: Path) -> None:
    import lancedb

    vectors = np.load(corpus.vectors / "vectors.npy", mmap_mode="r")

    def batches() -> Any:
        waiting: list[str] = []
        first = 0
        for text in texts(corpus):
            waiting.append(text)
            if len(waiting) == 10_000:
                yield _batch(vectors, first, waiting)
                first += len(waiting)
                waiting = []
        if waiting:
            yield _batch(vectors, first, waiting)

    schema = pa.schema([("row", pa.int64()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), DIMENSION))])
    table = lancedb.connect(str(folder)).create_table("chunks", data=batches(), schema=schema)
    table.create_index(metric="cosine", index_type="IVF_HNSW_SQ", vector_column_name="vector")
    table.create_fts_index("text", use_tantivy=False)


def _batch(vectors: NDArray[np.float32], first: int, waiting: Sequence[str]) -> pa.RecordBatch:
    block = np.ascontiguousarray(vectors[first : first + len(waiting)])
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.arange(first, first + len(waiting))),
            pa.array(waiting),
            pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), DIMENSION),
        ],
        names=["row", "text", "vector"],
    )


class Lance:
    def __init__(self, folder: Path, *, ef: int | None = None, nprobes: int | None = None, refine: int | None = None):
        import lancedb
        from lancedb.rerankers import RRFReranker

        self.table = lancedb.connect(str(folder)).open_table("chunks")
        self.reranker = RRFReranker()
        self.knobs = {"ef": ef, "nprobes": nprobes, "refine_factor": refine}
        set_ones = ", ".join(f"{name} {value}" for name, value in self.knobs.items() if value)
        self.settings = f"hybrid, RRF, IVF_HNSW_SQ, {set_ones or 'its defaults'}"

    def hybrid(self, vector: NDArray[np.float32], text: str) -> Sequence[int]:
        query = self.table.search(query_type="hybrid", vector_column_name="vector").vector(vector).text(text)
        return [r["row"] for r in self._tuned(query).rerank(self.reranker).limit(LIMIT).to_arrow().to_pylist()]

    def dense(self, vector: NDArray[np.float32]) -> Sequence[int]:
        return self._tuned(self.table.search(vector)).limit(LIMIT).to_arrow()["row"].to_pylist()

    def _tuned(self, query: Any) -> Any:
        for name, value in self.knobs.items():
            if value:
                query = getattr(query, name)(value)
        return query


def build_duckdb(corpus: Corpus, folder: Path) -> None:
    from rag_pipeline.index.duckdb_settings import connect_for_building

    connection = connect_for_building(folder / "stock.duckdb")
    connection.execute("SET memory_limit = '8GB'")
    connection.execute(f"CREATE TABLE chunks (row BIGINT, text VARCHAR, embedding FLOAT[{DIMENSION}])")
    vectors = np.load(corpus.vectors / "vectors.npy", mmap_mode="r")
    waiting: list[str] = []
    first = 0
    for text in texts(corpus):
        waiting.append(text)
        if len(waiting) == 10_000:
            _insert(connection, _batch(vectors, first, waiting))
            first, waiting = first + len(waiting), []
    if waiting:
        _insert(connection, _batch(vectors, first, waiting))
    connection.execute("PRAGMA create_fts_index('chunks', 'row', 'text')")
    connection.execute("CREATE INDEX hnsw ON chunks USING HNSW (embedding) WITH (metric = 'cosine')")
    connection.execute("CHECKPOINT")
    connection.close()


def _insert(connection: Any, batch: pa.RecordBatch) -> None:
    connection.register("batch", pa.Table.from_batches([batch]))
    connection.execute("INSERT INTO chunks SELECT * FROM batch")
    connection.unregister("batch")


class StockDuckDB:
    """`match_bm25` and an HNSW scan, fused by reciprocal ranks in Python, as its documentation's examples do."""

    settings = "match_bm25 and HNSW, RRF"

    def __init__(self, folder: Path) -> None:
        import duckdb

        from rag_pipeline.index.duckdb_settings import load_extensions

        self.connection = duckdb.connect(":memory:")
        load_extensions(self.connection)
        self.connection.execute(f"ATTACH '{folder / 'stock.duckdb'}' AS stock (READ_ONLY)")
        self.connection.execute("USE stock")

    def hybrid(self, vector: NDArray[np.float32], text: str) -> Sequence[int]:
        return _rrf(self.dense(vector), self.lexical(text))

    def dense(self, vector: NDArray[np.float32]) -> Sequence[int]:
        return [row for (row,) in self.connection.execute(NEAREST, [vector.tolist()]).fetchall()]

    def lexical(self, text: str) -> Sequence[int]:
        return [row for (row,) in self.connection.execute(MATCHING, [text]).fetchall()]


def build_nothing(corpus: Corpus, folder: Path) -> None:
    """These keep their indexes in memory; opening builds them."""


class LangChain:
    settings = "EnsembleRetriever of BM25Retriever (rank_bm25) and FAISS (flat), its defaults"

    def __init__(self, corpus: Corpus) -> None:
        import faiss
        from langchain_classic.retrievers import EnsembleRetriever
        from langchain_community.docstore.in_memory import InMemoryDocstore
        from langchain_community.retrievers import BM25Retriever
        from langchain_community.vectorstores import FAISS
        from langchain_core.documents import Document
        from langchain_core.embeddings import Embeddings

        outer = self

        class Given(Embeddings):
            """The query's vector is handed in: embedding is not what is measured."""

            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                raise NotImplementedError

            def embed_query(self, text: str) -> list[float]:
                return outer.vector.tolist()

        documents = [Document(page_content=t, metadata={"row": n}) for n, t in enumerate(texts(corpus))]
        flat = faiss.IndexFlatIP(DIMENSION)
        flat.add(np.load(corpus.vectors / "vectors.npy"))
        names = {n: str(n) for n in range(len(documents))}
        store = FAISS(Given(), flat, InMemoryDocstore({str(n): d for n, d in enumerate(documents)}), names)
        words = BM25Retriever.from_documents(documents, k=LIMIT)
        self.vector = np.zeros(DIMENSION, np.float32)
        self.retriever = EnsembleRetriever(
            retrievers=[words, store.as_retriever(search_kwargs={"k": LIMIT})], weights=[0.5, 0.5]
        )

    def hybrid(self, vector: NDArray[np.float32], text: str) -> Sequence[int]:
        self.vector = vector
        return [d.metadata["row"] for d in self.retriever.invoke(text)[:LIMIT]]


class Bm25s:
    settings = "method lucene, numba off, tokens given as words"

    def __init__(self, corpus: Corpus) -> None:
        import bm25s

        self.retriever = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        self.retriever.index([t.split() for t in texts(corpus)], show_progress=False)

    def lexical(self, text: str) -> Sequence[int]:
        rows, _ = self.retriever.retrieve([text.split()], k=LIMIT, show_progress=False, n_threads=0)
        return rows[0].tolist()


class Usearch:
    settings = "HNSW, its defaults, cosine, f32"

    def __init__(self, corpus: Corpus) -> None:
        from usearch.index import Index as HnswIndex

        vectors = np.load(corpus.vectors / "vectors.npy")
        self.index = HnswIndex(ndim=DIMENSION, metric="cos", dtype="f32")
        self.index.add(np.arange(len(vectors)), vectors)

    def dense(self, vector: NDArray[np.float32]) -> Sequence[int]:
        return self.index.search(vector, LIMIT).keys.tolist()


def _rrf(*legs: Sequence[int]) -> list[int]:
    scores: dict[int, float] = {}
    for leg in legs:
        for rank, row in enumerate(leg, start=1):
            scores[row] = scores.get(row, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda row: (-scores[row], row))[:LIMIT]


PEERS: Mapping[str, Peer] = {
    "rag_pipeline": Peer(
        lambda corpus, folder: build_ours(corpus, folder, hnsw=True), Ours, lambda: version("rag-pipeline")
    ),
    "rag_pipeline without HNSW": Peer(
        lambda corpus, folder: build_ours(corpus, folder, hnsw=False), Ours, lambda: version("rag-pipeline")
    ),
    "lancedb": Peer(build_lancedb, lambda _, folder: Lance(folder), lambda: version("lancedb")),
    "duckdb": Peer(build_duckdb, lambda _, folder: StockDuckDB(folder), lambda: version("duckdb")),
    "langchain": Peer(build_nothing, lambda corpus, _: LangChain(corpus), lambda: version("langchain-community")),
    "bm25s": Peer(build_nothing, lambda corpus, _: Bm25s(corpus), lambda: version("bm25s")),
    "usearch": Peer(build_nothing, lambda corpus, _: Usearch(corpus), lambda: version("usearch")),
}


def emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder

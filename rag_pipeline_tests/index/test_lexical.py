"""BM25 against an independent implementation and against DuckDB's own; the fts tables against those DuckDB makes."""

import math
import random
from collections.abc import Iterator
from pathlib import Path

import bm25s
import numpy as np
import pytest

from rag_pipeline.errors import InvalidSource
from rag_pipeline.index import lexical
from rag_pipeline.index.duckdb_settings import connect_reader, load_extensions, memory_connection
from rag_pipeline.index.open import Index, open_build
from rag_pipeline.index.schema_sql import CREATE_FTS
from rag_pipeline.settings.build import IndexSettings
from rag_pipeline_tests.stages import build, document

WORDS = [f"word{n}" for n in range(60)] + ["create_agent", "E-4021", "C++", "東京大学", "café", "running"]
QUERIES = ["word1 word2", "create_agent", "E-4021 word7 word7", "東京", "cafe runs", "C++ word59 nothing", "nothing"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    pick = random.Random(0)
    weights = [1 / (n + 1) for n in range(len(WORDS))]
    texts = [" ".join(pick.choices(WORDS, weights, k=pick.randint(1, 40))) for _ in range(300)]
    documents = [document(f"{n:03}.md", *texts[n * 3 : n * 3 + 3]) for n in range(100)]
    index = open_build(build(tmp_path_factory.mktemp("lexical"), documents, settings=IndexSettings(hnsw=False)).folder)
    yield index
    index.close()


def ours(index: Index, query: str) -> np.ndarray:
    return index.postings.scores(index.postings.term_numbers(index.analyzer.tokens(query)))


@pytest.mark.parametrize("query", QUERIES)
def test_equals_bm25s(index: Index, query: str) -> None:
    k1, b = 1.2, 0.75
    with index.cursor() as cursor:
        texts = [t.split() for (t,) in cursor.execute("SELECT token_text FROM chunk_tokens ORDER BY row").fetchall()]
    other = bm25s.BM25(method="lucene", k1=k1, b=b)
    other.index(texts, show_progress=False)
    tokens = [t for t in dict.fromkeys(index.analyzer.tokens(query)) if t in other.vocab_dict]
    expected = other.get_scores(tokens) * (k1 + 1) if tokens else np.zeros(300)
    np.testing.assert_allclose(ours(index, query), expected, atol=1e-4)


@pytest.mark.parametrize("query", QUERIES)
def test_equals_match_bm25_but_for_the_base_of_the_logarithm(index: Index, query: str) -> None:
    connection = connect_reader(index.folder / "index.duckdb", extensions=("fts",))
    sql = "SELECT coalesce(fts_main_chunk_tokens.match_bm25(row, ?), 0) FROM chunk_tokens ORDER BY row"
    tokens = index.analyzer.token_text(query)
    theirs = np.array([score for (score,) in connection.execute(sql, [tokens]).fetchall()])
    connection.close()
    np.testing.assert_allclose(ours(index, query), theirs * math.log(10), atol=1e-4)


def test_the_fts_tables_are_those_that_duckdb_makes(index: Index) -> None:
    """Its numbers of terms are its own; all they stand for is the same."""
    connection = memory_connection()
    load_extensions(connection)
    connection.execute(f"ATTACH '{index.folder / 'index.duckdb'}' AS build (READ_ONLY)")
    connection.execute("CREATE TABLE chunk_tokens AS FROM build.chunk_tokens")
    connection.execute(CREATE_FTS)
    for sql in (
        "SELECT term, df FROM {fts}.dict ORDER BY term",
        "SELECT docid, name, len FROM {fts}.docs ORDER BY docid",
        "SELECT docid, fieldid, term FROM {fts}.terms JOIN {fts}.dict USING (termid) ORDER BY ALL",
        "SELECT num_docs, avgdl FROM {fts}.stats",
        "SELECT fieldid, field FROM {fts}.fields",
    ):
        ours, theirs = (
            connection.execute(sql.format(fts=f"{catalog}.fts_main_chunk_tokens")).fetchall()
            for catalog in ("build", "memory")
        )
        assert ours == theirs and ours
    connection.close()


def test_batches_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [document(f"{n}.md", *(" ".join(WORDS[n : n + 9]) for _ in range(3))) for n in range(12)]
    whole = build(tmp_path / "whole", texts).folder
    monkeypatch.setattr(lexical, "BATCH", 5)
    monkeypatch.setattr(lexical, "POSTINGS_BATCH", 7)
    parts = build(tmp_path / "parts", texts).folder
    for name in ("term_hash", "indptr", "rows", "weights"):
        assert (whole / f"postings/{name}.npy").read_bytes() == (parts / f"postings/{name}.npy").read_bytes()
    assert not (parts / "postings" / lexical.TIMES).exists()


def test_two_terms_of_one_hash_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "term_hashes", lambda terms: np.zeros(len(terms), np.uint64))
    with pytest.raises(InvalidSource, match="one 64-bit hash"):
        build(tmp_path, [document("a.md", "one two")])


def test_one_chunk_has_a_positive_score(tmp_path: Path) -> None:
    """An idf without the added 1 is negative here."""
    index = open_build(build(tmp_path, [document("a.md", "ten words about one pump")]).folder)
    assert ours(index, "pump").tolist() == pytest.approx([math.log(1 + 0.5 / 1.5)])
    index.close()


def test_k1_and_b_are_used(tmp_path: Path) -> None:
    documents = [document("a.md", "pump", "pump pump pump pump oil valve")]
    flat = open_build(build(tmp_path, documents, settings=IndexSettings(b=0, k1=1e-9)).folder)
    scores = ours(flat, "pump")
    assert scores[0] == pytest.approx(scores[1])
    flat.close()

"""BM25 against the formula by hand, against an independent implementation, and against DuckDB's own."""

import math
import random
from collections.abc import Iterator
from pathlib import Path

import bm25s
import numpy as np
import pytest

from rag_pipeline.index.duckdb_settings import connect_reader
from rag_pipeline.index.lexical import bm25_weights
from rag_pipeline.index.open import Index, open_build
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


def test_the_formula_by_hand() -> None:
    """4 chunks, 1 has the term twice, length 3 where the mean is 2: ln(1 + 3.5/1.5) * 2 * 2.2 / (2 + 1.2 * 1.375)."""
    weight = bm25_weights(
        tf=np.array([2]), df=np.array([1]), length=np.array([3]), chunks=4, average=2.0, k1=1.2, b=0.75
    )
    assert weight[0] == pytest.approx(math.log(1 + 3.5 / 1.5) * 4.4 / (2 + 1.2 * (0.25 + 0.75 * 1.5)))
    assert weight[0] == pytest.approx(1.4514, abs=1e-4)


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

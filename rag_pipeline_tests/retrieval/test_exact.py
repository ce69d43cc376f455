"""Whoever asks for an identifier gets the chunk that holds it, whatever the vectors and long documents say."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rag_pipeline.index.open import Index, open_build
from rag_pipeline.retrieval.exact import add_exact, exact_first, exact_share
from rag_pipeline.retrieval.ranking import Ranking
from rag_pipeline.settings.load import load_settings
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import build, document

IDENTIFIERS = {
    "create_agent": "call create_agent once",
    "E-4021": "the code E-4021 is rare",
    "C++": "bindings for C++ exist",
    "3.14": "since 3.14 it is faster",
    "CamelCaseName": "the type CamelCaseName is internal",
    "/etc/hosts": "written to /etc/hosts by hand",
    "fe80::1": "the gateway fe80::1 answers",
}
# Three equal chunks of one document with every part of each identifier: more evidence than one chunk can have.
PARTS = "create agent create agent 4021 4021 c c 3 14 camel case name etc hosts fe80 1"
DOCUMENTS = [
    *(document(f"one/{n}.md", text, title="x") for n, text in enumerate(IDENTIFIERS.values())),
    document("parts.md", *(f"{PARTS} {n}" for n in ("first", "second", "third")), title="create agent"),
    *(document(f"other/{n}.md", f"create an agent of kind {n}", "the 4021st name", title="x") for n in range(8)),
]
SHIPPED = {n: s.model_dump(mode="json") for n, s in load_settings(environ={}).strategies.items()}
CLAIM_IT = sorted(n for n, s in SHIPPED.items() if s["exact"] == 1 and s["transform"] in ("none", "template"))


class Misleading(WordEmbedder):
    """Finds every document nearer to a query than the one that holds its identifier."""

    def embed(self, texts, role="document"):  # type: ignore[no-untyped-def]
        out = super().embed(texts, role)
        for place, text in enumerate(texts):
            if role == "query" or any(sentence in text for sentence in IDENTIFIERS.values()):
                out[place] = 0
                out[place, 0 if role == "query" else 1] = 1
            else:
                out[place, 0] += 1
        return out / np.linalg.norm(out, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        served = Served(tmp_path_factory.mktemp("exact") / "home", patch, embedder=Misleading(64))
        served.content = {"strategies": SHIPPED}
        served.publish(DOCUMENTS)
        yield served


def test_which_strategies_claim_it() -> None:
    assert CLAIM_IT == ["alpha_25", "alpha_50", "alpha_75", "hybrid", "hybrid_expanded", "hybrid_rerank"]
    assert not any(SHIPPED[name]["exact"] for name in ("vector", "bm25", "rrf", "prd_v2"))


@pytest.mark.parametrize("strategy", CLAIM_IT)
@pytest.mark.parametrize("query", IDENTIFIERS)
def test_the_exact_token_ranks_first(world: Served, strategy: str, query: str) -> None:
    first = world.ask(query, strategy=strategy).hits[0]
    assert first.content == IDENTIFIERS[query]


@pytest.mark.parametrize("query", ["create_agent", "E-4021"])
def test_without_the_bonus_it_does_not(world: Served, query: str) -> None:
    """The check above can fail: evidence and vectors alone prefer the document with the parts."""
    assert world.ask(query, strategy="hybrid", exact=0).hits[0].content != IDENTIFIERS[query]


@pytest.mark.parametrize("query", ["create_agent", "E-4021"])
def test_parts_match_too(world: Served, query: str) -> None:
    assert {hit.doc_id for hit in world.ask(query, strategy="hybrid").hits[1:]} & {"parts.md"}


def test_behind_a_reranker_that_prefers_others(world: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    hits = world.ask("E-4021", strategy="hybrid", reranker="lexical", rerank_weight=1.0).hits
    assert hits[0].content == IDENTIFIERS["E-4021"] and hits[0].scores["exact"] > 0


def test_a_query_without_an_identifier_has_no_such_stage(world: Served) -> None:
    assert all("exact" not in hit.scores for hit in world.ask("kind of agent", strategy="hybrid").hits)
    assert all("exact" not in hit.scores for hit in world.ask("E-9999", strategy="hybrid").hits)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Four chunks; `create_agent` in 0 and 1, `E-4021` in 1, `4021` in 1 and 2, `call` in 0 and 3."""
    texts = ["call create_agent", "create_agent or E-4021", "4021 apples", "call me"]
    documents = [document(f"{n}.md", text, title="x") for n, text in enumerate(texts)]
    index = open_build(build(tmp_path_factory.mktemp("share"), documents).folder)
    yield index
    index.close()


def idf(df: int) -> float:
    return math.log(1 + (4 - df + 0.5) / (df + 0.5))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("create_agent", [1, 1, 0, 0]),
        ("E-4021", [0, 1, 0, 0]),
        # A word weighs its rarest token: `call` is in two chunks, as `create_agent` is.
        ("call create_agent", [0.5, 0.5, 0, 0]),
        ("create_agent create_agent call", [0.5, 0.5, 0, 0]),
        ("create_agent E-4021", [idf(2) / (idf(2) + idf(1)), 1, 0, 0]),
        # Unknown as a whole: the part that is an identifier still stands for it.
        ("X-4021", [0, 1, 1, 0]),
        ("factory.create_agent()", [1, 1, 0, 0]),
        # Unknown altogether, or no identifier: nothing is preferred.
        ("E-9999", [0, 0, 0, 0]),
        ("call me", [0, 0, 0, 0]),
        ("unknown words", [0, 0, 0, 0]),
    ],
)
def test_shares_by_hand(index: Index, query: str, expected: list[float]) -> None:
    assert exact_share(index, query, np.arange(4), mask=None).tolist() == pytest.approx(expected, abs=1e-6)
    assert exact_share(index, query, np.array([1, 3]), mask=None).tolist() == pytest.approx(
        [expected[1], expected[3]], abs=1e-6
    )


def test_the_bonus_by_hand() -> None:
    """Scores span 0.8; a share of one half gives a quarter of it."""
    scores = np.array([0.9, 0.1, 0.5])
    assert add_exact(scores, np.array([0, 1, 0.5]), strength=1).tolist() == pytest.approx(
        [0.9, 0.900001, 0.7], abs=1e-6
    )
    assert add_exact(scores, np.array([0, 1, 0.5]), strength=0.5).tolist() == pytest.approx([0.9, 0.5, 0.6], abs=1e-5)
    worst_first = add_exact(scores, np.array([0, 1, 0]), strength=1)
    assert worst_first[1] > worst_first[0]
    assert add_exact(np.zeros(0), np.zeros(0), strength=1).tolist() == []


def test_sections_are_put_in_order_again() -> None:
    ranking = Ranking((7, 3, 5), (1.0, 0.4, 0.0))
    found = exact_first(ranking, {7: 0.0, 3: 0.0, 5: 1.0}, 1.0)
    assert found.rows == (5, 7, 3) and found.scores == pytest.approx((1.000001, 1.0, 0.4))
    assert exact_first(Ranking((), ()), {}, 1.0).rows == ()


def test_an_identifier_out_of_sight_changes_no_score(tmp_path: Path) -> None:
    """With weights over the whole build a score told whether a code stands in a document that only others may read."""
    documents = [
        document("valve.md", "the valve AB-17 leaks"),
        document("other.md", "something else"),
        document("secret.md", "the valve ZX-4021 leaks", access=("group:ops",)),
    ]
    index = open_build(build(tmp_path, documents).folder)
    mask = np.array([record.doc_id != "secret.md" for record in index.fetch(range(index.chunks))])
    rows = np.flatnonzero(mask)
    hidden = exact_share(index, "valve AB-17 ZX-4021", rows, mask=mask)
    nowhere = exact_share(index, "valve AB-17 QQ-7788", rows, mask=mask)
    assert hidden.tolist() == nowhere.tolist() and hidden.any()
    everyone = exact_share(index, "valve AB-17 ZX-4021", np.arange(index.chunks), mask=None)
    assert everyone[rows].tolist() != hidden.tolist()
    index.close()

"""Releases of the bundled collection that were made bad on purpose, through the real stages and the real gate.

The model is a fake that computes, so that thousands of crumbs are embedded in a second; chunking, index, questions and
the rule are those of the product. The same cases run with the real model on real documentation as
`benchmarks/bad_releases.py`.
"""

import shutil
from collections.abc import Iterator

import pytest

from benchmarks.bad_releases import CRUMBS, INVERTING, InvertingReranker, Workshop, edited
from rag_pipeline.checks import CheckResult
from rag_pipeline.paths import Home
from rag_pipeline.release.verdict import read_verdict
from rag_pipeline.reranking import registry
from rag_pipeline.retrieval import query_vector, reader, rerank
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline.schema import Release
from rag_pipeline.settings.bundled import bundled_corpus, bundled_eval_set
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline_tests.fakes import WordEmbedder

SOUND = {"structure": CheckResult(True, "not looked at here", {})}
"""In place of the other checks, so that what refuses is the quality of the answers and nothing else."""
QUESTION = "How does AgentFactory work?"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workshop, Release]]:
    """A collection whose release in service is sound."""
    root = tmp_path_factory.mktemp("bad")
    embedder = WordEmbedder(dimension=512)
    own = CollectionSettings.model_validate(
        {
            "eval_set": str(bundled_eval_set()),
            "index": {"hnsw": False},
            "gate": {"latency_p95_ms": {}, "resamples": 999},
        }
    )
    workshop = Workshop(Home(root / "home"), own, embedder)
    reader.forget()
    rerank.forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(query_vector._embedders, (workshop.home.models, embedder.fingerprint), embedder)
        patch.setitem(registry.RERANKERS, INVERTING, lambda options: InvertingReranker())  # type: ignore[index]
        good = workshop.release(bundled_corpus())
        workshop.judge(good, checks=SOUND)
        assert workshop.publish(good)
        yield workshop, good
    reader.forget()
    query_vector.forget()


@pytest.mark.parametrize(
    "options",
    [
        {"chunking": CRUMBS},
        {"shuffled": True},
        {"strategy": {"reranker": INVERTING, "rerank_weight": 1.0}},
    ],
    ids=["children-of-40-characters", "embeddings-of-shuffled-texts", "a-reranker-that-inverts"],
)
def test_a_bad_release_is_refused_and_the_one_in_service_goes_on_answering(served, options):
    workshop, good = served
    bad = workshop.release(bundled_corpus(), **options)
    assert bad.release_id != good.release_id
    judged = workshop.judge(bad, checks=SOUND)
    assert (judged.verdict.decision, judged.gate.outcome) == ("refuse", "refused")
    assert not judged.verdict.checks["quality_loss"]
    assert judged.worse and " lost " in judged.verdict.reason and "worse: " in judged.verdict.reason
    assert not workshop.publish(bad)
    assert read_current(workshop.paths) == good.release_id == workshop.answering(QUESTION)


def test_a_slightly_different_but_equal_release_passes(served, tmp_path):
    workshop, good = served
    source = edited(bundled_corpus(), tmp_path / "corpus")
    other = workshop.release(source)
    assert other.build_key != good.build_key
    judged = workshop.judge(other, checks=SOUND)
    assert judged.verdict.decision == "publish"
    copy = Workshop(
        Home(tmp_path / "home"), workshop.own, workshop.embedder
    )  # the other tests' release stays in service
    shutil.copytree(workshop.home.root, copy.home.root)
    assert copy.publish(other)
    assert read_verdict(copy.paths.release(other.release_id)).baseline == good.release_id
    assert read_current(copy.paths) == other.release_id

import pytest

from rag_pipeline.errors import CorruptBuild, IncompatibleBuild, UnknownName
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.create import create_release
from rag_pipeline.retrieval.release_file import read_release
from rag_pipeline.settings.load import Settings
from rag_pipeline.settings.strategy import StrategySettings
from rag_pipeline_tests.release.standin import EMBEDDER, make_build, make_release, settings


def test_creates_once(paths: CollectionPaths) -> None:
    first = make_release(paths, "s1")
    assert read_release(paths.release(first.release_id)) == first
    assert make_release(paths, "s1") == first  # `created` included: nothing was written again
    assert sorted(p.name for p in paths.releases.iterdir()) == [first.release_id]
    assert paths.latest("candidate_release").read_text() == first.release_id
    assert paths.lease(first.build_key).is_file()


def test_other_strategies_are_another_release_of_the_same_build(paths: CollectionPaths) -> None:
    first, second = make_release(paths, "s1"), make_release(paths, "s1", weight=0.7)
    assert first.build_key == second.build_key
    assert first.release_id != second.release_id
    assert second.strategies["hybrid"]["vector_weight"] == 0.7


def test_keys_of_the_embedder_that_a_release_does_not_keep(paths: CollectionPaths) -> None:
    key = make_build(paths, "s1")
    release = create_release(
        paths, collection="wiki", build_key=key, embedder={**EMBEDDER, "document_prefix": ""}, settings=settings()
    )
    assert release.embedder == EMBEDDER


def test_a_damaged_release_file_is_written_again(paths: CollectionPaths) -> None:
    first = make_release(paths, "s1")
    file = paths.release(first.release_id) / "release.json"
    file.write_text("{")
    (file.parent / "evaluations").mkdir()
    again = make_release(paths, "s1")
    assert again.release_id == first.release_id
    assert read_release(file.parent) == again
    assert (file.parent / "evaluations").is_dir()


def test_refusals(paths: CollectionPaths) -> None:
    with pytest.raises(CorruptBuild, match="no such build"):
        create_release(paths, collection="wiki", build_key="none", embedder=EMBEDDER, settings=settings())
    key = make_build(paths, "s1")
    other = {**EMBEDDER, "fingerprint": "other-model"}
    with pytest.raises(IncompatibleBuild, match=r"embedded by words-64-256, but .* other-model"):
        create_release(paths, collection="wiki", build_key=key, embedder=other, settings=settings())
    undefined = Settings(strategies={"bm25": StrategySettings()}, default_strategy="hybrid")
    with pytest.raises(UnknownName, match="unknown strategy 'hybrid'"):
        create_release(paths, collection="wiki", build_key=key, embedder=EMBEDDER, settings=undefined)
    assert not paths.releases.exists()

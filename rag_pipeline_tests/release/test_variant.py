import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.errors import NoRelease, UnknownName
from rag_pipeline.evaluation.known_item import known_item_probes
from rag_pipeline.evaluation.measure import measure_release
from rag_pipeline.evaluation.stored_corpus import stored_corpus
from rag_pipeline.release import variant as module
from rag_pipeline.release.create import create_release
from rag_pipeline.release.listing import list_releases
from rag_pipeline.release.retain import gc
from rag_pipeline.release.stored import release_ids
from rag_pipeline.release.variant import Variant, make_variant
from rag_pipeline.release.variant_mark import FILE, is_variant
from rag_pipeline.release.verify import verify_release
from rag_pipeline.retrieval.reader import open_release
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline.retrieval.retrieve import retrieve_from
from rag_pipeline.settings.build import ChunkingSettings, IndexSettings
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.load import Settings
from rag_pipeline.settings.strategy import StrategySettings
from rag_pipeline_tests.release.candidates import Wiki, pages
from rag_pipeline_tests.stages import describe

SMALL = ChunkingSettings(child_tokens=8, section_tokens=16, section_min_tokens=0, min_chars=10)
PLAIN = IndexSettings(hnsw=False)


@pytest.fixture
def wiki(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wiki:
    wiki = Wiki(tmp_path, monkeypatch, CollectionSettings(index=PLAIN))
    wiki.serve(pages(4))
    monkeypatch.setattr(module, "load_embedder", lambda settings, models: wiki.embedder)
    monkeypatch.setattr(module, "describe_embedder", describe)
    return wiki


@pytest.fixture
def settings(wiki: Wiki) -> Settings:
    return Settings(
        home=wiki.home.root, collections={"wiki": wiki.own}, strategies={"hybrid": StrategySettings(vector_weight=0.4)}
    )


@pytest.fixture
def make(wiki: Wiki, settings: Settings) -> Callable[..., Variant]:
    def run(**changes: Any) -> Variant:
        return make_variant(wiki.home, "wiki", settings=settings, **changes)

    return run


def test_it_is_a_sound_release_that_nothing_names(wiki: Wiki, make: Callable[..., Variant]) -> None:
    before = {file: file.read_text() for file in (wiki.paths.current, *wiki.paths.staging.glob("*.latest"))}
    history = wiki.paths.history.read_text()
    made = make(chunking=SMALL)
    folder = wiki.paths.release(made.release.release_id)
    assert made.of == read_current(wiki.paths)
    assert all(check.passed for check in verify_release(wiki.paths, made.release.release_id).values())
    assert {file: file.read_text() for file in before} == before
    assert wiki.paths.history.read_text() == history
    assert is_variant(folder) and not is_variant(wiki.paths.release(made.of))
    assert json.loads((folder / FILE).read_bytes()) == {"differs": dict(made.differs)}
    assert made.differs == {
        "chunking.child_tokens": 8,
        "chunking.section_tokens": 16,
        "chunking.section_min_tokens": 0,
        "chunking.min_chars": 10,
    }
    assert [(row.release_id, row.variant) for row in list_releases(wiki.paths) if row.variant] == [
        (made.release.release_id, True)
    ]


def test_it_holds_the_same_documents_cut_otherwise(wiki: Wiki, make: Callable[..., Variant]) -> None:
    made = make(chunking=SMALL, strategies={"deep": StrategySettings(candidates=99)})
    served = open_release(wiki.paths, made.of)
    other = open_release(wiki.paths, made.release.release_id)
    assert stored_corpus(other.index).texts == stored_corpus(served.index).texts
    assert other.index.chunks == made.chunks > served.index.chunks
    assert made.release.strategies["deep"]["candidates"] == 99
    assert made.release.strategies["hybrid"]["vector_weight"] == 0.4
    assert made.differs["strategies.deep.candidates"] == 99
    question = pages(4)[2].text.split("\n\n")[1]
    found = retrieve_from(other, question, models=wiki.home.models, strategy="deep")
    assert found.hits[0].doc_id == "page-02.md"


def test_it_can_be_measured_beside_the_other(wiki: Wiki, make: Callable[..., Variant]) -> None:
    made = make(chunking=SMALL)
    served = open_release(wiki.paths, made.of)
    probes = known_item_probes(stored_corpus(served.index), count=20, seed=0)
    for release_id in (made.of, made.release.release_id):
        measured = measure_release(wiki.paths, release_id, probes, models=wiki.home.models)
        (run,) = measured.runs.values()
        assert any(q.state == "scored" and q.metrics["recall_at_10"] == 1 for q in run)


def test_the_same_again_is_the_same_and_no_work(wiki: Wiki, make: Callable[..., Variant]) -> None:
    first = make(chunking=SMALL)
    wiki.embedder.calls.clear()
    again = make(chunking=SMALL)
    assert (again.release.release_id, again.build_reused) == (first.release.release_id, True)
    # Other windows over the same texts share the cache: only what is new is embedded.
    more = make(chunking=SMALL.model_copy(update={"prefix_tokens": 40}))
    assert more.release.release_id != first.release.release_id
    assert more.embedded == 0 and wiki.embedder.calls == []


def test_gc_takes_it_and_keeps_what_was_served(wiki: Wiki, make: Callable[..., Variant]) -> None:
    made = [make(chunking=SMALL), make(strategies={"deep": StrategySettings(candidates=99)})]
    done = gc(wiki.paths, keep=5)
    assert set(done.releases) == {m.release.release_id for m in made}
    assert release_ids(wiki.paths) == (made[0].of,)
    assert [p.name for p in wiki.paths.builds.iterdir() if not p.name.startswith(".")] == [
        open_release(wiki.paths, made[0].of).release.build_key
    ]


def test_a_reader_keeps_it(wiki: Wiki, make: Callable[..., Variant]) -> None:
    made = make(chunking=SMALL)
    held = open_release(wiki.paths, made.release.release_id)
    assert gc(wiki.paths, keep=5).releases == ()
    assert held.index.chunks == made.chunks


def test_one_that_equals_a_stored_release_is_that_release(wiki: Wiki, settings: Settings) -> None:
    """And it is not marked: gc must not take what was published."""
    served = open_release(wiki.paths, str(read_current(wiki.paths))).release

    def create(variant: dict[str, object] | None) -> Any:
        return create_release(
            wiki.paths,
            collection="wiki",
            build_key=served.build_key,
            embedder=describe(wiki.embedder),
            settings=settings,
            variant=variant,
        )

    candidate = create(None)
    folder = wiki.paths.release(candidate.release_id)
    assert create({"x": 1}).release_id == candidate.release_id
    assert not is_variant(folder)


def test_one_that_the_settings_make_too_becomes_a_candidate(
    wiki: Wiki, settings: Settings, make: Callable[..., Variant]
) -> None:
    made = make(chunking=SMALL)
    again = create_release(
        wiki.paths,
        collection="wiki",
        build_key=made.release.build_key,
        embedder=describe(wiki.embedder),
        settings=settings,
    )
    assert again.release_id == made.release.release_id
    assert not is_variant(wiki.paths.release(again.release_id))
    assert gc(wiki.paths, keep=5).releases == ()


def test_what_it_is_a_variant_of(wiki: Wiki, settings: Settings, make: Callable[..., Variant]) -> None:
    with pytest.raises(UnknownName):
        make(of="0" * 20)
    with pytest.raises(UnknownName):
        make_variant(wiki.home, "other", settings=settings)
    wiki.paths.current.unlink()
    with pytest.raises(NoRelease):
        make(chunking=SMALL)

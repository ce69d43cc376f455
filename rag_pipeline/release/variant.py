"""A variant of a collection: the same documents cut, embedded, indexed or queried otherwise, to be measured beside it.

It is a build and a release like any other, made without Dagster, and never a candidate: no pointer names it, retention
counts it as nothing, and gc may take it. `measure_release` and everything that compares releases works on it.

    made = make_variant(home, "docs", settings=settings, chunking=PRESETS["30/100 words"])
    measured = measure_release(home.collection("docs"), made.release.release_id, eval_set, models=home.models)
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from rag_pipeline.chunking.corpus import chunk_corpus
from rag_pipeline.embedding.base import describe_embedder
from rag_pipeline.embedding.corpus import embed_corpus
from rag_pipeline.embedding.registry import load_embedder
from rag_pipeline.index.build import build_index
from rag_pipeline.index.manifest import read_manifest
from rag_pipeline.paths import Home
from rag_pipeline.release.calibrate import calibrate_candidate
from rag_pipeline.release.create import create_release, draft_release
from rag_pipeline.release.lock import build_lock
from rag_pipeline.release.stored import load_release
from rag_pipeline.release.stored_snapshot import stage_snapshot
from rag_pipeline.release.verify import in_service
from rag_pipeline.retrieval.reader import existing_collection
from rag_pipeline.schema import Progress, Release
from rag_pipeline.settings.build import ChunkingSettings, EmbeddingSettings, IndexSettings
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.load import Settings
from rag_pipeline.settings.strategy import StrategySettings


@dataclass(frozen=True, slots=True)
class Variant:
    release: Release
    of: str
    """The release whose documents it holds."""
    differs: Mapping[str, object]
    """From the collection's settings, by dotted name."""
    sections: int
    chunks: int
    embedded: int
    """Texts that the shared cache did not know."""
    build_reused: bool


def make_variant(
    home: Home,
    collection: str,
    *,
    settings: Settings,
    of: str | None = None,
    chunking: ChunkingSettings | None = None,
    embedding: EmbeddingSettings | None = None,
    index: IndexSettings | None = None,
    strategies: Mapping[str, StrategySettings] | None = None,
    progress: Callable[[Progress], None] | None = None,
    wait_seconds: float | None = 60.0,
) -> Variant:
    """Build and store it; the same inputs again give the same release and no work.

    `of` None: the release in service. What is not given is as the collection's settings have it; `strategies` come to
    those of the settings. It is calibrated on the collection's labels, as a candidate is. Raises UnknownName,
    NoRelease, CorruptBuild, BuildBusy, and what chunking, embedding and building raise.
    """
    paths = existing_collection(home, collection)
    own = settings.collections.get(collection, CollectionSettings())
    changed = own.model_copy(
        update={
            "chunking": chunking or own.chunking,
            "embedding": embedding or own.embedding,
            "index": index or own.index,
        }
    )
    asked = settings.model_copy(update={"strategies": {**settings.strategies, **(strategies or {})}})
    base = load_release(paths, of or in_service(paths))
    with ExitStack() as held:
        held.enter_context(build_lock(paths, wait_seconds=wait_seconds))  # so that gc leaves the stages alone
        snapshot = stage_snapshot(paths, base.build_key)
        embedder = load_embedder(changed.embedding, home.models)
        chunked = chunk_corpus(
            snapshot,
            changed.chunking,
            embedder.tokenizer,
            limit=embedder.max_tokens,
            paths=paths,
            progress=progress,
        )
        cache = home.embeddings(embedder.fingerprint)
        vectors = embed_corpus(chunked.folder, embedder, cache=cache, paths=paths, progress=progress)
        built = build_index(
            snapshot,
            chunked.folder,
            vectors.folder,
            settings=changed.index,
            embedder=describe_embedder(embedder),
            builds=paths.builds,
            default_access=own.default_access,
            progress=progress,
        )
        described = read_manifest(built.folder).embedder
        draft = draft_release(collection=collection, build_key=built.key, embedder=described, settings=asked)
        labels = Path(own.eval_set) if own.eval_set else None
        differs = dict(_differences(own, changed, settings, asked))
        release = create_release(
            paths,
            collection=collection,
            build_key=built.key,
            embedder=described,
            settings=asked,
            calibration=calibrate_candidate(paths, draft, labels, models=home.models),
            variant=differs,
        )
    return Variant(
        release=release,
        of=base.release_id,
        differs=differs,
        sections=built.sections,
        chunks=built.chunks,
        embedded=vectors.embedded,
        build_reused=built.reused,
    )


def _differences(
    own: CollectionSettings, changed: CollectionSettings, settings: Settings, asked: Settings
) -> Iterator[tuple[str, object]]:
    for table in ("chunking", "embedding", "index"):
        yield from _changed(table, getattr(own, table), getattr(changed, table))
    for name, strategy in asked.strategies.items():
        yield from _changed(f"strategies.{name}", settings.strategies.get(name, StrategySettings()), strategy)


def _changed(table: str, before: BaseModel, after: BaseModel) -> Iterator[tuple[str, object]]:
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    yield from ((f"{table}.{field}", value) for field, value in new.items() if value != old[field])

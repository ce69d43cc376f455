"""Making a release of a build: the file that names the build and how it is queried. Making one serves nothing yet."""

import json
from collections.abc import Mapping
from typing import Any

from rag_pipeline.durable import fsync_folder, temporary_name, write_text
from rag_pipeline.errors import CorruptBuild, IncompatibleBuild
from rag_pipeline.index.lease import hold
from rag_pipeline.index.manifest import read_manifest
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.clock import now
from rag_pipeline.release.configurations import configuration_rows, write_configurations
from rag_pipeline.release.lock import publish_lock
from rag_pipeline.release.variant_mark import mark_variant, unmark_variant
from rag_pipeline.reranking.pin import pinned
from rag_pipeline.reranking.registry import RERANKERS
from rag_pipeline.retrieval.release_file import EMBEDDER, read_release, release_id, write_release
from rag_pipeline.retrieval.transforms.registry import TRANSFORMS
from rag_pipeline.schema import Release
from rag_pipeline.settings.base import pick
from rag_pipeline.settings.load import Settings


def create_release(
    paths: CollectionPaths,
    *,
    collection: str,
    build_key: str,
    embedder: Mapping[str, str | int],
    settings: Settings,
    calibration: Mapping[str, object] | None = None,
    variant: Mapping[str, object] | None = None,
    wait_seconds: float | None = 30.0,
) -> Release:
    """Write `releases/<id>/release.json` and name it the latest candidate; the same content again changes nothing.

    `variant` says what differs from the settings in a release made to be compared: that is no candidate, and a stored
    release of the same content stays what it is.
    `embedder` may hold more than the keys a release keeps. Raises UnknownName for a default strategy, or a transform,
    reranker or strategy of a context, that is not defined, CorruptBuild where the build is missing, IncompatibleBuild
    where it was made by another model, BuildBusy.
    """
    release = draft_release(
        collection=collection, build_key=build_key, embedder=embedder, settings=settings, calibration=calibration
    )
    with publish_lock(paths, wait_seconds=wait_seconds):  # gc must not take the build away in between
        _check_model(paths, release)
        stored = _store(paths, release, variant)
        hold(paths.lease(stored.build_key)).close()  # so that a reader with read-only access finds the file to hold
        if variant is None:
            paths.staging.mkdir(exist_ok=True)
            write_text(paths.latest("candidate_release"), stored.release_id)
    return stored


def draft_release(
    *,
    collection: str,
    build_key: str,
    embedder: Mapping[str, str | int],
    settings: Settings,
    calibration: Mapping[str, object] | None = None,
) -> Release:
    """The release that `create_release` would write, nowhere written yet. Raises UnknownName as it does."""
    settings.strategy(settings.default_strategy)
    for strategy in settings.strategies.values():
        pick(TRANSFORMS, strategy.transform, "transform")
        pick({"none": None, **RERANKERS}, strategy.reranker, "reranker")
    release = _release(
        collection=collection,
        build_key=build_key,
        embedder={key: embedder[key] for key in EMBEDDER},
        strategies={name: pinned(strategy).model_dump(mode="json") for name, strategy in settings.strategies.items()},
        default_strategy=settings.default_strategy,
        contexts={name: context.model_dump(mode="json") for name, context in settings.contexts.items()},
        calibration=calibration,
    )
    configuration_rows(release)
    return release


def _release(**content: Any) -> Release:
    plain = json.loads(json.dumps(content, allow_nan=False))  # so that what is returned equals what is read back
    return Release(release_id=release_id(**plain), created=now(), **plain)


def _check_model(paths: CollectionPaths, release: Release) -> None:
    folder = paths.build(release.build_key)
    if not folder.is_dir():
        raise CorruptBuild(f"{folder}: no such build; build the index again")
    built_with = read_manifest(folder).embedder["fingerprint"]
    if built_with != release.embedder_fingerprint:
        raise IncompatibleBuild(
            f"build {release.build_key} was embedded by {built_with}, but the release would embed queries by "
            f"{release.embedder_fingerprint}; build the index again with that model"
        )


def _store(paths: CollectionPaths, release: Release, variant: Mapping[str, object] | None) -> Release:
    folder = paths.release(release.release_id)
    if folder.is_dir():
        if variant is None:
            unmark_variant(folder)
        try:
            return read_release(folder)
        except CorruptBuild:
            write_release(folder, release)  # its content is known: the id is its hash
            write_configurations(folder, release)
            return release
    partial = temporary_name(folder)
    write_release(partial, release)
    write_configurations(partial, release)
    if variant is not None:
        mark_variant(partial, variant)
    partial.rename(folder)
    fsync_folder(folder.parent)
    return release

"""What every definition of one collection shares: its asset keys, pool, tags and settings.

A collection is a key prefix, not a partition: a failed blocking check then stops that collection's downstream alone,
and the bundled collection launches without a partition key.
"""

import errno
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dagster as dg

from rag_pipeline.errors import NoRelease, RagPipelineError, StorageUnavailable
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.lock import build_lock
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.load import Settings

COLLECTION_TAG = "rag_pipeline/collection"
LOCK_WAIT_SECONDS = 3600.0
LASTING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EIO})
"""Faults of the data directory that another try does not mend."""


@dataclass(frozen=True, slots=True)
class CollectionDefs:
    name: str
    settings: Settings

    @property
    def own(self) -> CollectionSettings:
        return self.settings.collection(self.name)

    @property
    def pool(self) -> str:
        return f"{self.name}_writer"

    @property
    def tags(self) -> dict[str, str]:
        return {COLLECTION_TAG: self.name}

    def key(self, asset: str) -> dg.AssetKey:
        return dg.AssetKey([self.name, asset])

    def asset(
        self, name: str, *, group: str, after: Sequence[str] = (), kinds: Collection[str] = ("python",), **more: Any
    ) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
        """`dg.asset` under this collection's prefix, pool and tags; `after` names its other assets this one needs."""
        given: dict[str, Any] = {"code_version": "1", **more}
        decorated: Callable[[Callable[..., Any]], dg.AssetsDefinition] = dg.asset(
            key=self.key(name),
            deps=[self.key(other) for other in after],
            group_name=group,
            kinds=set(kinds),
            pool=self.pool,
            tags=self.tags,
            **given,
        )
        return decorated

    @contextmanager
    def writing(self, paths: CollectionPaths) -> Iterator[None]:
        """Hold the build lock for one step; an error of ours becomes a failure that Dagster does not retry.

        The lock is a file's, so it holds whatever executor, process or launcher runs the step.
        """
        try:
            with build_lock(paths, wait_seconds=LOCK_WAIT_SECONDS):
                yield
        except RagPipelineError as error:
            raise dg.Failure(description=str(error), allow_retries=False) from error
        except OSError as error:
            # Remote files fail with errors without a number of the system's; those may pass and are worth a retry.
            if error.errno not in LASTING:
                raise
            lasting = StorageUnavailable.of(error)
            raise dg.Failure(description=str(lasting), allow_retries=False) from lasting


def latest_candidate(paths: CollectionPaths) -> str:
    """The release that evaluations are about. Raises NoRelease as `latest`."""
    return latest(paths, "candidate_release", made_by="candidate_release")


def latest(paths: CollectionPaths, what: str, *, made_by: str) -> str:
    """The key that the upstream asset wrote last. Raises NoRelease when it never ran."""
    try:
        return paths.latest(what).read_text("utf-8").strip()
    except FileNotFoundError:
        raise NoRelease(f"{paths.root.name}: nothing staged yet; materialise the asset {made_by!r} first") from None

"""Which corpus `evalset check` resolves labels against: a release of a collection, or the documents as last read."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag_pipeline.errors import NoRelease, UnknownName

if TYPE_CHECKING:
    from rag_pipeline.evaluation.resolve import Corpus
    from rag_pipeline.paths import CollectionPaths
    from rag_pipeline.settings.load import Settings


@dataclass(frozen=True, slots=True)
class Against:
    """One of `release` and `snapshot` is its id, the other None."""

    collection: str
    corpus: "Corpus"
    release: str | None = None
    snapshot: str | None = None

    def __str__(self) -> str:
        if self.release is not None:
            return f"release {self.release}"
        return f"the documents as last read, no release is in service (snapshot {self.snapshot})"


def collection_naming(settings: "Settings", folder: Path, *, first: str) -> str | None:
    """The collection whose settings name this folder; `first` where several do and it is one of them."""
    named = [
        name
        for name, own in settings.collections.items()
        if own.eval_set is not None and Path(own.eval_set).resolve() == folder.resolve()
    ]
    return first if first in named else next(iter(named), None)


def corpus_of(settings: "Settings", name: str, release_id: str | None) -> Against:
    """Of that release; without one of the release in service, else of the documents as last read.

    Raises UnknownName for a collection or a release that is not stored, NoRelease where nothing of the collection is,
    CorruptBuild and IncompatibleBuild where the release can't be opened.
    """
    from rag_pipeline.evaluation.stored_corpus import stored_corpus
    from rag_pipeline.paths import Home
    from rag_pipeline.release.stored import check_known
    from rag_pipeline.retrieval.reader import existing_collection, open_current, open_release

    paths = existing_collection(Home(settings.home), name)
    if release_id is not None:
        check_known(paths, release_id)
        opened = open_release(paths, release_id)
    else:
        try:
            opened = open_current(paths)
        except NoRelease:
            return _as_read(paths)
    return Against(name, stored_corpus(opened.index), release=opened.release.release_id)


def corpus_if_any(settings: "Settings", name: str) -> Against | None:
    """The same, None where the collection was never indexed: the files of an eval set can be checked before."""
    try:
        return corpus_of(settings, name, None)
    except (NoRelease, UnknownName):
        return None


def _as_read(paths: "CollectionPaths") -> Against:
    from rag_pipeline.evaluation.snapshot_corpus import latest_snapshot, snapshot_corpus

    key = latest_snapshot(paths)
    if key is None:
        raise NoRelease(f"{paths.root.name}: nothing is indexed yet; run `rag-pipeline reindex -c {paths.root.name}`")
    return Against(paths.root.name, snapshot_corpus(paths, key), snapshot=key)

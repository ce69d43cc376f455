"""Which questions judge a collection's releases: its eval set, or probes that its corpus asks of itself."""

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pydantic import TypeAdapter

from rag_pipeline.errors import InvalidEvalSet, RagPipelineError
from rag_pipeline.evaluation.code_fingerprint import code_fingerprint
from rag_pipeline.evaluation.eval_set import EvalSet
from rag_pipeline.evaluation.known_item import known_item_probes
from rag_pipeline.evaluation.labels import load_eval_set
from rag_pipeline.evaluation.results import plain
from rag_pipeline.evaluation.stored_corpus import stored_corpus
from rag_pipeline.index.files import MANIFEST
from rag_pipeline.index.manifest import file_hash
from rag_pipeline.index.open import open_build
from rag_pipeline.kept import recall, remember
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.reader import open_release
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline.settings.collection import CollectionSettings

PROBES = 300
_EVAL_SET = TypeAdapter(EvalSet)


@dataclass(frozen=True, slots=True)
class Questions:
    eval_set: EvalSet
    labelled: bool
    """False: known-item probes, where a probe that no longer resolves only means that its page changed."""
    kept_from: str | None = None
    """When the probes were made, where an earlier run made them."""


def questions_for(paths: CollectionPaths, release_id: str, own: CollectionSettings) -> Questions:
    """The eval set of the settings; without one, probes from the corpus of the release in service.

    From that one and not from the candidate's own, because what the candidate lost would ask nothing about itself. The
    candidate's own probes serve where nothing is in service yet, or what is can't be opened. Raises InvalidEvalSet.
    """
    if own.eval_set is not None:
        folder = Path(own.eval_set)
        if not folder.is_dir():
            raise InvalidEvalSet(f"eval_set {own.eval_set!r} is not a folder; correct it in the collection's settings")
        return Questions(load_eval_set(folder), labelled=True)
    for asked in (read_current(paths), release_id):
        if asked is None:
            continue
        try:
            probes, kept_from = _kept_probes(paths, open_release(paths, asked).index.folder, own.gate.seed)
        except RagPipelineError:
            if asked == release_id:
                raise
            continue
        if probes.queries or asked == release_id:
            return Questions(probes, labelled=False, kept_from=kept_from)
    raise AssertionError("unreachable: the candidate is asked last")


@lru_cache(maxsize=4)
def _kept_probes(paths: CollectionPaths, build: Path, seed: int) -> tuple[EvalSet, str | None]:
    """Of a build that may have been asked for them before: by this process, or by an earlier run of the same code."""
    binding = {"manifest": file_hash(build / MANIFEST), "count": PROBES, "seed": seed, "code": code_fingerprint()}
    known = recall(paths.kept("known_item_probes"), binding)
    if known is not None:
        return _EVAL_SET.validate_python(known.value), known.at
    probes = _probes(build, seed)
    with suppress(OSError):  # whoever may only read asks the same questions, and makes them anew
        remember(paths.kept("known_item_probes"), binding, plain(probes))
    return probes, None


def _probes(build: Path, seed: int) -> EvalSet:
    index = open_build(build)
    try:
        return known_item_probes(stored_corpus(index), count=PROBES, seed=seed)
    finally:
        index.close()

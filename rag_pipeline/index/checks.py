"""Properties of vectors and of a build, one a function; Dagster and the command line only convert the result."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_pipeline.checks import CheckResult
from rag_pipeline.index.ann_check import ann_recall
from rag_pipeline.index.dense import BATCH, open_array, unsearchable
from rag_pipeline.index.manifest import read_manifest
from rag_pipeline.index.open import open_build
from rag_pipeline.index.verify import Problem, verify_build


@dataclass(frozen=True, slots=True)
class Candidate:
    """A finished build that is to be judged."""

    folder: Path
    allow_empty: bool = False


def every_chunk_has_a_sound_vector(vectors: Path) -> CheckResult:
    """`vectors` is the folder of the embedding stage: nothing rejected, every vector finite and of unit length."""
    info = json.loads((vectors / "vectors.json").read_text("utf-8"))
    array = open_array(vectors / "vectors.npy")
    bad = sum(int(unsearchable(array[first : first + BATCH]).sum()) for first in range(0, len(array), BATCH))
    chunks, rejected, dimension = int(info["chunks"]), int(info["rejected"]), int(info["dimension"])
    numbers = {"chunks": chunks, "vectors": len(array), "rejected": rejected, "unsound": bad, "dimension": dimension}
    if bad or rejected or len(array) != chunks or array.shape[1] != dimension:
        return CheckResult(
            False,
            f"{chunks} chunks have {len(array)} vectors of dimension {array.shape[1]}, {rejected} rejected and {bad}"
            " unsound; see the ledger for the chunks, and embed again",
            numbers,
        )
    return CheckResult(True, f"{chunks} chunks, each with a vector of {dimension} finite numbers", numbers)


def index_is_not_empty(candidate: Candidate) -> CheckResult:
    chunks = read_manifest(candidate.folder).chunks
    if chunks or candidate.allow_empty:
        return CheckResult(True, f"{chunks} chunks", {"chunks": chunks})
    return CheckResult(False, "no chunk to find; check the sources, or set allow_empty", {"chunks": 0})


def build_verifies(candidate: Candidate, *, verify: Callable[[Path], Sequence[Problem]] = verify_build) -> CheckResult:
    problems = verify(candidate.folder)
    if problems:
        shown = "; ".join(f"{p.file}: {p.message}" for p in problems[:3])
        return CheckResult(False, f"{shown}; build the index again", {"problems": len(problems)})
    return CheckResult(True, "every file and every table agrees with the manifest", {"problems": 0})


def ann_recall_at_10(candidate: Candidate) -> CheckResult:
    index = open_build(candidate.folder)
    try:
        return ann_recall(index)
    finally:
        index.close()


def file_sizes(folder: Path) -> dict[str, int]:
    """Bytes of every file of a build, largest first."""
    files = read_manifest(folder).files
    return {name: files[name].size for name in sorted(files, key=lambda name: (-files[name].size, name))}

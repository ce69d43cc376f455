"""Which results a run may take from an earlier one, and what each of them depends on.

Lives here: the bindings. A result holds for the bytes it was computed from, the code that computed it and the libraries
that code calls; metadata and check results say since when it is kept. Storing is rag_pipeline/kept.py's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_pipeline.checks import CheckResult
from rag_pipeline.errors import RagPipelineError
from rag_pipeline.evaluation.code_fingerprint import MEASURING
from rag_pipeline.evaluation.labels import load_eval_set
from rag_pipeline.evaluation.pinned import pinned_queries
from rag_pipeline.file_identity import content_hash
from rag_pipeline.index.files import MANIFEST
from rag_pipeline.index.verified import VerifiedBuild
from rag_pipeline.kept import KEPT_FROM, Kept, kept_check, recall, remember
from rag_pipeline.made_by import made_by
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.calibrate import calibrate_candidate
from rag_pipeline.release.candidate_checks import PINNED, pinned_check
from rag_pipeline.retrieval.release_file import read_current, read_release
from rag_pipeline.schema import Release
from rag_pipeline.settings.collection import CollectionSettings

LIBRARIES = (
    "docutils",
    "duckdb",
    "flashrank",
    "markdown-it-py",
    "numpy",
    "onnxruntime",
    "openvino",
    "pyarrow",
    "regex",
    "scikit-learn",
    "sentence-transformers",
    "snowballstemmer",
    "tokenizers",
    "torch",
    "transformers",
    "tree-sitter",
)
PACKAGES = (*MEASURING, "sources", "chunking", "release", "parquet", "kept", "file_identity")
"""Sub-packages and modules whose code can change a result."""
BY = made_by(PACKAGES, LIBRARIES)
"""Code and libraries as one hash, taken when this is imported: a long process runs that code, whatever its files
become."""
LATENCY = "latency"
CALIBRATION = "calibration"


def stage_check(
    paths: CollectionPaths,
    name: str,
    files: Sequence[Path],
    check: Callable[[], CheckResult],
    *,
    settings: Mapping[str, Any] | None = None,
) -> CheckResult:
    """A check of staged files, made again when their contents or what else it depends on, `settings`, differ."""
    hashes = {f"{file.parent.name}/{file.name}": content_hash(file) for file in files}
    return kept_check(paths.kept(name), {"files": hashes, "settings": settings or {}, "by": BY}, check)


def build_check(paths: CollectionPaths, name: str, build: Path, check: Callable[[], CheckResult]) -> CheckResult:
    """A check of a build whose files agree with its manifest, which another check says."""
    return kept_check(paths.kept(name), _of_build(build), check)


def kept_pinned(paths: CollectionPaths, release_id: str, own: CollectionSettings, *, models: Path) -> CheckResult:
    """`pinned_check`, asked once of a release and a set of pinned queries."""
    pinned = [query.model_dump(mode="json") for query in pinned_queries(own)]
    return kept_check(
        paths.kept(PINNED),
        {**of_release(paths, release_id), "pinned": pinned},
        lambda: pinned_check(paths, release_id, own, models=models),
    )


def kept_calibration(
    paths: CollectionPaths, draft: Release, eval_set: Path | None, *, models: Path
) -> tuple[dict[str, Any] | None, Kept | None]:
    """`calibrate_candidate`, fitted once for a build, the settings that query it and the questions it is fitted on;
    and what was kept, where it was not fitted now."""
    if eval_set is None:
        return None, None
    questions = load_eval_set(eval_set).content_hash
    binding = {"draft": draft.release_id, **_of_build(paths.build(draft.build_key)), "eval_set": questions}
    known = recall(paths.kept(CALIBRATION), binding)
    if known is not None:
        return known.value, known
    fitted = calibrate_candidate(paths, draft, eval_set, models=models)
    remember(paths.kept(CALIBRATION), binding, fitted)
    return fitted, None


def of_release(paths: CollectionPaths, release_id: str) -> dict[str, Any]:
    """What a release's answers depend on: its own content, which its id hashes, its build's, and the code."""
    build_key = read_release(paths.release(release_id)).build_key
    return {"release": release_id, "build_key": build_key, **_of_build(paths.build(build_key))}


def build_verifier(paths: CollectionPaths) -> VerifiedBuild:
    """Verifies a build in full once, and by its checksums after that."""
    return VerifiedBuild(paths.kept("build_contents"), code=BY)


def with_contents(result: CheckResult, verify: VerifiedBuild) -> CheckResult:
    """The result of a check by `verify`, saying since when its comparison of contents is kept."""
    kept = verify.contents_from
    return replace(result, numbers={**result.numbers, KEPT_FROM: kept}) if result.passed and kept else result


def measured_before(paths: CollectionPaths, name: str, binding: Mapping[str, Any]) -> Kept | None:
    """Whether what lies beside the release in service was measured under this binding; no other release's is kept."""
    return recall(paths.kept(name), binding) if binding["release"] == _served(paths) else None


def measured_now(paths: CollectionPaths, name: str, binding: Mapping[str, Any]) -> None:
    remember(paths.kept(name), binding, None)


def told(kept: Kept | None) -> str:
    """For metadata."""
    return kept.at if kept is not None else "made in this run"


def _of_build(build: Path) -> dict[str, Any]:
    return {"manifest": content_hash(build / MANIFEST), "by": BY}


def _served(paths: CollectionPaths) -> str | None:
    try:
        return read_current(paths)
    except RagPipelineError:  # whoever is about to change it says what is wrong
        return None

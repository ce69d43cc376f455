"""The structural checks of a candidate release, as one mapping that a verdict is made from and reproduced by.

Whether it retrieves well is not asked here.
"""

from rag_pipeline.checks import CheckResult
from rag_pipeline.errors import CorruptBuild, IncompatibleBuild
from rag_pipeline.index.manifest import read_manifest
from rag_pipeline.index.verify import verify_build
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.stored import load_release
from rag_pipeline.release.verify import VerifyBuild, verify_release
from rag_pipeline.schema import Release
from rag_pipeline.settings.collection import CollectionSettings


def structural_checks(
    paths: CollectionPaths, release_id: str, own: CollectionSettings, *, verify: VerifyBuild = verify_build
) -> dict[str, CheckResult]:
    """Everything `verify_release` checks deeply, and that there is something to find. Raises UnknownName."""
    checks = verify_release(paths, release_id, deep=True, verify=verify)
    if checks["release_file_is_intact"].passed:
        checks["index_is_not_empty"] = _not_empty(paths, load_release(paths, release_id), own.allow_empty)
    return checks


def _not_empty(paths: CollectionPaths, release: Release, allow_empty: bool) -> CheckResult:
    try:
        chunks = read_manifest(paths.build(release.build_key)).chunks
    except (CorruptBuild, IncompatibleBuild) as error:
        return CheckResult(False, str(error))
    if chunks or allow_empty:
        return CheckResult(True, f"{chunks} chunks", {"chunks": chunks})
    return CheckResult(False, "no chunk to find; check the sources, or set allow_empty", {"chunks": 0})

"""Whether a release can be served: its file, its build, and that the two belong together. Reads only."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from pydantic import ValidationError

from rag_pipeline.advice import advised, mend
from rag_pipeline.checks import CheckResult
from rag_pipeline.errors import CorruptBuild, IncompatibleBuild, NoRelease, RagPipelineError
from rag_pipeline.index.manifest import read_manifest
from rag_pipeline.index.verify import Problem, verify_build
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.configurations import configuration_rows
from rag_pipeline.release.stored import load_release
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline.schema import Release
from rag_pipeline.settings.base import explain
from rag_pipeline.settings.strategy import StrategySettings

State = Literal["good", "corrupt", "missing build", "incompatible"]
"""`incompatible`: made by another version of this package, which may be serving it."""


class VerifyBuild(Protocol):
    """How a build is compared with its manifest; no problems means that it is intact."""

    def __call__(self, folder: Path, *, deep: bool) -> Sequence[Problem]: ...


def verify_release(
    paths: CollectionPaths, release_id: str | None = None, *, deep: bool = True, verify: VerifyBuild = verify_build
) -> dict[str, CheckResult]:
    """One result a property; None = the release in service. `deep` reads every file again.

    `release_file_is_intact` comes alone where it fails, since the rest is read from that file. Raises UnknownName, and
    NoRelease where nothing is in service.
    """
    chosen = release_id or in_service(paths)
    try:
        release = load_release(paths, chosen)
    except CorruptBuild as error:
        return {"release_file_is_intact": CheckResult(False, str(error))}
    return {
        "release_file_is_intact": CheckResult(True, f"its content hashes to {release.release_id}"),
        "build_verifies": _build_verifies(paths, release, deep, verify),
        "release_fits_build": _fits(paths, release),
        "strategies_are_known": _strategies(paths, release),
    }


def release_state(paths: CollectionPaths, release_id: str, *, verify: VerifyBuild = verify_build) -> State:
    """What a quick look finds; whatever is wrong is a state here, not an error. Raises UnknownName."""
    try:
        release = load_release(paths, release_id)
        if not paths.build(release.build_key).is_dir():
            return "missing build"
        read_manifest(paths.build(release.build_key))
    except CorruptBuild:
        return "corrupt"
    except IncompatibleBuild:
        return "incompatible"
    return "corrupt" if failures(verify_release(paths, release_id, deep=False, verify=verify)) else "good"


def failures(checks: Mapping[str, CheckResult]) -> str:
    """What failed, in one line; "" where everything passed."""
    return "; ".join(f"{name}: {check.message}" for name, check in checks.items() if not check.passed)


def in_service(paths: CollectionPaths) -> str:
    """The id in CURRENT. Raises NoRelease, and CorruptBuild where that holds no id or no such release is stored."""
    current = read_current(paths)
    if current is None:
        raise NoRelease(f"{paths.root.name}: nothing is in service yet; publish a release first")
    if not paths.release(current).is_dir():
        raise CorruptBuild(f"{paths.root.name}: release {current}, which is in service, is gone; {mend(paths)}")
    return current


def served_release_verifies(paths: CollectionPaths, *, verify: VerifyBuild = verify_build) -> CheckResult:
    """The release in service, checked deeply, as one result; whatever keeps it from being read fails it."""
    try:
        release_id = in_service(paths)
        checks = verify_release(paths, release_id, verify=verify)
    except RagPipelineError as error:
        return CheckResult(False, str(error))
    if failed := failures(checks):
        back = advised(paths, "release rollback")
        advice = "" if back in failed else f"; or go back to an earlier one with {back}"
        return CheckResult(False, f"release {release_id}: {failed}{advice}")
    return CheckResult(True, f"release {release_id} and its build verify", {"checks": len(checks)})


def _build_verifies(paths: CollectionPaths, release: Release, deep: bool, verify: VerifyBuild) -> CheckResult:
    folder = paths.build(release.build_key)
    again = f"make it again with {advised(paths, 'reindex')}"
    if not folder.is_dir():
        return CheckResult(False, f"build {release.build_key} is missing; {again}", {"problems": 1})
    try:
        problems = verify(folder, deep=deep)
    except RagPipelineError as error:  # a build of another format can't even be compared
        return CheckResult(False, str(error), {"problems": 1})
    if not problems:
        return CheckResult(True, f"build {release.build_key} agrees with its manifest", {"problems": 0})
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    message = f"build {release.build_key}: {problems[0].file}: {problems[0].message}{more}; {again}"
    return CheckResult(False, message, {"problems": len(problems)})


def _fits(paths: CollectionPaths, release: Release) -> CheckResult:
    """Queries must be embedded by the model that embedded the chunks, and the folder be the build it is named after."""
    try:
        manifest = read_manifest(paths.build(release.build_key))
    except RagPipelineError as error:
        return CheckResult(False, str(error))
    if manifest.build_key != release.build_key:
        again = advised(paths, "reindex")
        return CheckResult(
            False, f"folder {release.build_key} holds build {manifest.build_key}; make it again with {again}"
        )
    theirs, ours = manifest.embedder["fingerprint"], release.embedder_fingerprint
    if theirs != ours:
        return CheckResult(False, f"the build was embedded by {theirs}, queries would be by {ours}; create it again")
    return CheckResult(True, f"queries and chunks are embedded by {ours}")


def _strategies(paths: CollectionPaths, release: Release) -> CheckResult:
    for name, strategy in release.strategies.items():
        try:
            StrategySettings.model_validate(strategy)
        except ValidationError as error:
            return CheckResult(False, explain(error, f"strategy {name}") + f"; {mend(paths)}")
    try:
        configuration_rows(release)
    except RagPipelineError as error:
        return CheckResult(False, f"{error}; {mend(paths)}")
    return CheckResult(
        True, f"{len(release.strategies)} strategies can be read", {"strategies": len(release.strategies)}
    )

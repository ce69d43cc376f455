"""The verdict: whether one release may replace one other. Written by whatever measured it, read again by publish.

How quality is measured lives elsewhere. A verdict holds for the release and the baseline it names and for no others;
none at all is a refusal.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rag_pipeline.checks import CheckResult
from rag_pipeline.durable import write_json
from rag_pipeline.errors import CorruptBuild, ReleaseRefused
from rag_pipeline.release.clock import now
from rag_pipeline.retrieval.release_file import read_strict_json

FILE = "verdict.json"
QUALITY = "quality_"
"""Prefix of the checks that rest on an evaluation."""


@dataclass(frozen=True, slots=True)
class Verdict:
    release_id: str
    baseline: str | None
    """The release in service that it was compared with; None for a first publish."""
    decision: Literal["publish", "refuse"]
    reason: str
    eval_set_hash: str | None
    """The questions it was measured on; None where only the structure was checked."""
    checks: Mapping[str, bool]
    created: str


_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "release_id": str,
    "baseline": (str, type(None)),
    "decision": str,
    "reason": str,
    "eval_set_hash": (str, type(None)),
    "checks": dict,
    "created": str,
}


def structural_verdict(
    release_id: str, *, baseline: str | None, checks: Mapping[str, CheckResult], created: str | None = None
) -> Verdict:
    """A verdict from structural checks alone: publish if there are any and all of them pass."""
    failed = {name: check for name, check in checks.items() if not check.passed}
    if failed:
        reason = "; ".join(f"{name}: {check.message}" for name, check in sorted(failed.items()))
    else:
        reason = f"all {len(checks)} structural checks passed" if checks else "no check was run"
    return Verdict(
        release_id=release_id,
        baseline=baseline,
        decision="publish" if checks and not failed else "refuse",
        reason=reason,
        eval_set_hash=None,
        checks={name: check.passed for name, check in checks.items()},
        created=created or now(),
    )


def write_verdict(folder: Path, verdict: Verdict) -> None:
    """Store it as `folder/verdict.json`, over an older one. Raises ReleaseRefused in another release's folder."""
    if verdict.release_id != folder.name:
        raise ReleaseRefused(f"a verdict for {verdict.release_id} can't be stored in {folder}; evaluate {folder.name}")
    write_json(folder / FILE, asdict(verdict))


def read_verdict(folder: Path) -> Verdict | None:
    """The stored verdict, None where there is none. Raises ReleaseRefused for one that can't be read."""
    file = folder / FILE
    if not file.exists():
        return None
    try:
        data = read_strict_json(file, _TYPES)
    except CorruptBuild as error:
        raise ReleaseRefused(f"the verdict is void: {error}") from error
    if data["decision"] not in ("publish", "refuse") or not all(type(v) is bool for v in data["checks"].values()):
        raise ReleaseRefused(
            f"the verdict is void: {file} has an unknown decision or check; evaluate the release again"
        )
    return Verdict(**data)


def refusal(verdict: Verdict | None, *, release_id: str, baseline: str | None) -> str | None:
    """Why `verdict` does not allow `release_id` to replace `baseline`; None when it does."""
    if verdict is None:
        return "it has no verdict; evaluate it first"
    if verdict.release_id != release_id:
        return f"the verdict is void: it is about release {verdict.release_id}; evaluate {release_id}"
    if verdict.baseline != baseline:
        return (
            f"the verdict is void: it compared with {verdict.baseline or 'nothing'}, "
            f"but {baseline or 'nothing'} is in service now; evaluate it again"
        )
    if verdict.decision != "publish":
        return f"the verdict refuses it: {verdict.reason}"
    if failed := sorted(name for name, passed in verdict.checks.items() if not passed):
        return f"the verdict contradicts itself: it says publish, but {', '.join(failed)} failed; evaluate it again"
    return None

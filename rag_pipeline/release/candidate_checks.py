"""Everything but retrieval quality that may refuse a candidate, as one mapping for its verdict."""

from pathlib import Path
from typing import Protocol

from rag_pipeline.checks import CheckResult
from rag_pipeline.evaluation.latency import latency_of, within_budget
from rag_pipeline.evaluation.pinned import pinned_as_expected, pinned_queries
from rag_pipeline.evaluation.questions import questions_for
from rag_pipeline.index.verify import verify_build
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.structural import structural_checks
from rag_pipeline.release.verify import VerifyBuild
from rag_pipeline.retrieval.reader import open_release
from rag_pipeline.settings.collection import CollectionSettings

PINNED = "pinned_queries"
LATENCY = "latency_within_budget"


class PinnedCheck(Protocol):
    def __call__(
        self, paths: CollectionPaths, release_id: str, own: CollectionSettings, *, models: Path
    ) -> CheckResult: ...


def candidate_checks(
    paths: CollectionPaths,
    release_id: str,
    own: CollectionSettings,
    *,
    models: Path,
    verify: VerifyBuild = verify_build,
    pinned: PinnedCheck | None = None,
) -> dict[str, CheckResult]:
    """The structural checks; where they hold, the pinned queries and the latency budget too.

    They are asked here again although assets show them: a failed check stops only the run it belongs to. `pinned` asks
    the pinned queries in another way than `pinned_check`.
    """
    checks = structural_checks(paths, release_id, own, verify=verify)
    if all(check.passed for check in checks.values()):
        checks[PINNED] = (pinned or pinned_check)(paths, release_id, own, models=models)
        checks[LATENCY] = latency_check(paths, release_id, own, models=models)
    return checks


def pinned_check(paths: CollectionPaths, release_id: str, own: CollectionSettings, *, models: Path) -> CheckResult:
    return pinned_as_expected(open_release(paths, release_id), pinned_queries(own), models=models)


def latency_check(paths: CollectionPaths, release_id: str, own: CollectionSettings, *, models: Path) -> CheckResult:
    questions = questions_for(paths, release_id, own)
    report = latency_of(paths, release_id, questions.eval_set, models=models)
    return within_budget(report, own.gate.latency_p95_ms)

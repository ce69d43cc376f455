"""Whether evaluations were logged, as one check result."""

from collections.abc import Sequence
from importlib.util import find_spec

from rag_pipeline.checks import CheckResult
from rag_pipeline.tracking.pending import Outcome

LOGGED = "evaluations_are_logged"


def evaluations_are_logged(outcomes: Sequence[Outcome]) -> CheckResult:
    """Passes where nothing was to be sent as well: tracking switched off, or mlflow not installed, is a choice."""
    sent = [o for o in outcomes if o.logged is not None and o.logged.state == "sent"]
    failed = [o for o in outcomes if o.logged is not None and o.logged.state == "not_sent"]
    numbers: dict[str, int | float | str] = {"sent": len(sent), "not_sent": len(failed)}
    if failed and not is_installed():
        return CheckResult(True, "not logged: mlflow is not installed; pip install 'rag-pipeline[eval]'", numbers)
    if failed:
        why = failed[0].logged.error if failed[0].logged is not None else ""
        text = f"{failed[0].release_id}: {why}; the results are on disk, `rag-pipeline eval log` sends them"
        return CheckResult(False, text, numbers)
    if outcomes and not sent:
        return CheckResult(True, "not logged: tracking is switched off (tracking.enabled)", numbers)
    return CheckResult(True, f"{len(sent)} evaluations are logged", numbers)


def is_installed() -> bool:
    return find_spec("mlflow") is not None

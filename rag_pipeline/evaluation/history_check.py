"""Whether the last night is as it should be after the nights before it.

    same release, same questions     every ranking and score is equal to the last bit; any change is told
                                     and against the first such night, so that small losses can't add up
    another release, or questions    the gate's rule, paired on the questions that both nights asked
    any night                        no more failed questions than the gate allows

A change with a known cause (other code, other library, other machine) that loses nothing is a warning, any other an
error. Times are compared with the median of the nights on the same machine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from rag_pipeline.checks import CheckResult
from rag_pipeline.evaluation.comparison import Comparison, compare, exceeds_margin
from rag_pipeline.evaluation.experiment import Experiment, QueryRun
from rag_pipeline.evaluation.history import Night, first_alike
from rag_pipeline.evaluation.history_machine import TIMING
from rag_pipeline.evaluation.statistics.holm import holm
from rag_pipeline.settings.gate import GateSettings

NO_REGRESSION = "no_regression_against_history"
LATENCY = "latency_against_history"
ADVICE = "mend it or roll back; where it is wanted, move the folder `regression` away and a new history begins"
NAMED = 5
"""Questions that a message names."""
NIGHTS_FOR_LATENCY = 14
LEAST_NIGHTS = 3
SLOWER_FACTOR = 1.5
SLOWER_MS = 20.0
"""Both have to be exceeded: half as slow again is nothing at two milliseconds."""

Rankings = Callable[[Night], Experiment | None]


@dataclass(frozen=True, slots=True)
class Finding:
    check: CheckResult
    is_error: bool
    """Where the check failed: an error, or only a warning."""


def against_history(nights: Sequence[Night], *, rankings: Rankings, settings: GateSettings) -> Finding:
    """The last of `nights` (oldest first) against those before it."""
    if not nights:
        return Finding(CheckResult(True, "no night was measured yet", {}), False)
    *before, tonight = nights
    numbers: dict[str, int | float | str] = {
        "questions": tonight.questions,
        "failed": tonight.failed,
        **tonight.metrics,
    }
    errors = _failures(tonight, settings)
    run = _run(rankings(tonight))
    if run is None:
        errors.append("what it returned can't be read; run the regression again")
        return Finding(CheckResult(False, _sentence(tonight, errors), numbers), True)
    if not before:
        text = _sentence(tonight, errors) if errors else f"{_about(tonight)}: the first night, nothing to compare with"
        return Finding(CheckResult(not errors, text, numbers), True)
    if not run:
        text = _sentence(tonight, errors) if errors else f"{_about(tonight)}: no question was asked, nothing to compare"
        return Finding(CheckResult(not errors, text, numbers), True)
    comparisons, warnings = _compared(_references(before, tonight), run, rankings, settings)
    errors += _losses(comparisons, settings)
    last = before[-1]
    if last.identity == tonight.identity:
        old = _run(rankings(last))
        changed = [q for q in run if (known := _by_id(old or ()).get(q.query_id)) is None or _differs(known, q)]
        numbers["changed"] = len(changed)
        if old is not None and changed:
            causes = _causes(last, tonight)
            (warnings if causes else errors).append(_changed(changed, len(run), last, causes))
    found = [*errors, *warnings]
    if errors:
        found.append(ADVICE)
    text = _sentence(tonight, found) if found else f"{_about(tonight)}: as the night of {last.at}"
    return Finding(CheckResult(not found, text, numbers), bool(errors))


def latency_against_history(nights: Sequence[Night]) -> CheckResult:
    """The last night's p95 against the median of the last nights on the same machine."""
    if not nights or nights[-1].latency_p95_ms is None:
        return CheckResult(True, "no time was measured", {})
    *before, tonight = nights
    assert tonight.latency_p95_ms is not None
    times = [
        night.latency_p95_ms
        for night in before
        if night.latency_p95_ms is not None and _timing(night) == _timing(tonight)
    ][-NIGHTS_FOR_LATENCY:]
    now = tonight.latency_p95_ms
    numbers: dict[str, int | float | str] = {"p95_ms": round(now, 3), "nights": len(times), "n": tonight.latency_n}
    if len(times) < LEAST_NIGHTS:
        return CheckResult(True, f"{now:.1f} ms at p95; {len(times)} nights on this machine are too few", numbers)
    usual = median(times)
    numbers["median_ms"] = round(usual, 3)
    text = f"{now:.1f} ms at p95, {usual:.1f} ms in the median of {len(times)} nights"
    if now > max(usual * SLOWER_FACTOR, usual + SLOWER_MS):
        return CheckResult(False, f"{text}; see what else ran on {tonight.machine.get('host', 'the machine')}", numbers)
    return CheckResult(True, text, numbers)


def _references(before: Sequence[Night], tonight: Night) -> dict[str, Night]:
    """Last night, and the first night of this release and these questions where that is another one."""
    asked = {f"the night of {before[-1].at}": before[-1]}
    first = first_alike(before, tonight)
    if first is not None and first is not before[-1]:
        asked[f"its first night, {first.at}"] = first
    return asked


def _compared(
    references: Mapping[str, Night], run: Sequence[QueryRun], rankings: Rankings, settings: GateSettings
) -> tuple[dict[str, Comparison], list[str]]:
    """On the questions that both nights asked in the same words, and why a reference was not compared with."""
    comparisons: dict[str, Comparison] = {}
    warnings: list[str] = []
    for name, night in references.items():
        old = _run(rankings(night))
        if old is None:
            warnings.append(f"what {name} returned can't be read, so rankings were not compared")
            continue
        texts = {q.query_id: q.text for q in old}
        common = [q for q in run if texts.get(q.query_id) == q.text]
        if not common:
            warnings.append(f"it shares no question with {name}, so they were not compared")
            continue
        compared = compare(old, common, settings=settings)
        if compared.overall.n:
            comparisons[name] = compared
        elif compared.answerable:
            warnings.append(f"no question was scored both tonight and in {name}, so scores were not compared")
    return comparisons, warnings


def _losses(comparisons: Mapping[str, Comparison], settings: GateSettings) -> list[str]:
    adjusted = holm({name: c.overall.p_worse for name, c in comparisons.items()})
    return [
        f"it lost {-c.overall.difference:.3f} {settings.metric} against {name} "
        f"({c.overall.baseline:.3f} -> {c.overall.candidate:.3f} on {c.overall.n} questions)"
        for name, c in comparisons.items()
        if exceeds_margin(c.overall.difference, c.overall.n, settings=settings) or adjusted[name] <= settings.alpha
    ]


def _failures(night: Night, settings: GateSettings) -> list[str]:
    if night.questions and night.failed / night.questions > settings.max_failed:
        return [f"{night.failed} of {night.questions} questions failed"]
    return []


def _changed(changed: Sequence[QueryRun], of: int, last: Night, causes: Sequence[str]) -> str:
    why = f"since then: {', '.join(causes)}" if causes else "with nothing known to have changed"
    named = ", ".join(repr(q.text) for q in changed[:NAMED])
    more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
    return f"{len(changed)} of {of} questions are answered otherwise than at {last.at}, {why}: {named}{more}"


def _causes(last: Night, tonight: Night) -> list[str]:
    keys = dict.fromkeys((*last.machine, *tonight.machine))
    pairs = [("code", last.code, tonight.code)]
    pairs += [(key, last.machine.get(key, "none"), tonight.machine.get(key, "none")) for key in keys]
    return [f"{name} {old} -> {new}" for name, old, new in pairs if old != new]


def _differs(before: QueryRun, after: QueryRun) -> bool:
    """To the last bit, and in what was asked and found, not in how long it took."""
    return (before.state, before.ranking, before.metrics) != (after.state, after.ranking, after.metrics)


def _timing(night: Night) -> tuple[str | None, ...]:
    return tuple(night.machine.get(key) for key in TIMING)


def _run(experiment: Experiment | None) -> tuple[QueryRun, ...] | None:
    return next(iter(experiment.runs.values())) if experiment is not None else None


def _by_id(run: Sequence[QueryRun]) -> dict[str, QueryRun]:
    return {q.query_id: q for q in run}


def _about(night: Night) -> str:
    return f"release {night.release_id} on {night.questions} questions of {night.eval_set}"


def _sentence(night: Night, found: Sequence[str]) -> str:
    return f"{_about(night)}: {'; '.join(found)}"

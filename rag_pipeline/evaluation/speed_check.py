"""Whether the last run of the benchmarks is slower, or larger, than the runs before it on the same machine."""

from collections.abc import Sequence
from statistics import median

from rag_pipeline.checks import CheckResult
from rag_pipeline.evaluation.speed_history import MORE_IS_BETTER, SpeedRun

NO_SLOW_DOWN = "no_slow_down"
LAST_RUNS = 14
LEAST_RUNS = 3
FACTOR = 1.5
LEAST_MS = 2.0
"""By which milliseconds must exceed the median as well: half as slow again is nothing at one millisecond."""


def usual(runs: Sequence[SpeedRun]) -> dict[str, float]:
    """Median of each figure of the last run over up to LAST_RUNS earlier ones on its machine; none where fewer than
    LEAST_RUNS measured it."""
    if not runs:
        return {}
    *before, last = runs
    alike = [run.figures for run in before if run.place == last.place]
    found = {name: [figures[name] for figures in alike if name in figures][-LAST_RUNS:] for name in last.figures}
    return {name: median(values) for name, values in found.items() if len(values) >= LEAST_RUNS}


def against_earlier(runs: Sequence[SpeedRun]) -> CheckResult:
    """The last of `runs` (oldest first): each of its figures within FACTOR of its median."""
    if not runs:
        return CheckResult(True, "nothing was measured yet", {})
    last, medians = runs[-1], usual(runs)
    numbers: dict[str, int | float | str] = {name: round(value, 3) for name, value in last.figures.items()}
    numbers |= {f"{name}_median": round(value, 3) for name, value in medians.items()}
    about = f"release {last.release_id} on {last.machine.get('host', 'this machine')}"
    failed = max((run.failed for run in runs[:-1] if run.place == last.place), default=0)
    if last.failed > failed:
        text = f"{about}: {last.failed} questions failed, in earlier runs {failed} at most, and have no times"
        return CheckResult(False, f"{text}; ask them with `rag-pipeline query`, which says why", numbers)
    if not medians:
        return CheckResult(True, f"{about}: fewer than {LEAST_RUNS} earlier runs on this machine", numbers)
    worse = [name for name, value in medians.items() if is_worse(name, last.figures[name], value)]
    if not worse:
        text = f"{about}: {len(medians)} figures within {FACTOR:g} times their medians"
        return CheckResult(True, text, numbers)
    shown = ", ".join(f"{name} {last.figures[name]:.4g} (median {medians[name]:.4g})" for name in worse)
    causes = _causes(runs)
    since = f"; since the last run here: {', '.join(causes)}" if causes else ""
    text = f"{about}: {len(worse)} of {len(medians)} figures are worse by more than {FACTOR:g} times: {shown}{since}"
    advice = "run it again on a quiet machine before looking for more"
    return CheckResult(False, f"{text}; {_load(last)}; {advice}", numbers)


def is_worse(name: str, value: float, usual: float) -> bool:
    if name.endswith(MORE_IS_BETTER):
        return value * FACTOR < usual
    least = LEAST_MS if name.endswith("_ms") else 0.0
    return value > max(usual * FACTOR, usual + least)


def _causes(runs: Sequence[SpeedRun]) -> list[str]:
    """What is another one than in the run before on this machine: release, chunks, code, versions."""
    *before, last = runs
    old = next(run for run in reversed(before) if run.place == last.place)
    pairs = [(what, getattr(old, what), getattr(last, what)) for what in ("release_id", "chunks", "code")]
    pairs += [(key, old.machine.get(key, "none"), value) for key, value in last.machine.items()]
    return [f"{what.removesuffix('_id')} {a} -> {b}" for what, a, b in pairs if a != b]


def _load(run: SpeedRun) -> str:
    load = "unknown" if run.load is None else f"{run.load:.1f}"
    return f"load was {load} on {run.machine.get('cores', '?')} cores when it began"

"""Whether a candidate release retrieves worse than the release in service or the pinned champion.

Lives here: the rule, on experiments that were already run. Running them, storing the verdict and acting on it belong to
others. On one primary metric, for every strategy that is served and every reference:

    refused                 a floor breaks, too few questions could be compared, or too many failed
    refused                 the mean loss is larger than the margin
    refused                 the loss is significant: paired, one-sided, Holm over the comparisons of this verdict
    not worse, better       the interval excludes a loss of the margin, or the gain is significant
    insufficient evidence   anything else: refused under the strict policy; published under the lenient one, but against
                            a champion only so many times in a row (`unproven`), because chance adds up

What the changes mean statistically is `ruling.py`'s.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.comparison import Comparison, Effect, compare
from rag_pipeline.evaluation.experiment import Experiment
from rag_pipeline.evaluation.metrics.registry import NAMES
from rag_pipeline.evaluation.ruling import Reference, Ruling, interval_level, may_stay_unproven, name_of, rule
from rag_pipeline.evaluation.split import Half
from rag_pipeline.evaluation.summary import summarise
from rag_pipeline.settings.base import pick
from rag_pipeline.settings.gate import GateSettings

Outcome = Literal["first release", "better", "not worse", "insufficient evidence", "refused"]


@dataclass(frozen=True, slots=True)
class Compared:
    """One strategy against one reference."""

    strategy: str
    reference: Reference
    release_id: str
    comparison: Comparison
    p_adjusted: float


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """Holds for exactly this candidate, these references and these questions."""

    release_id: str
    baseline: str | None
    champion: str | None
    eval_set_hash: str
    half: Half
    decision: Literal["publish", "refuse"]
    outcome: Outcome
    reason: str
    """What was found and what to do next."""
    checks: Mapping[str, bool]
    """The rules that can refuse; all true where the decision is to publish."""
    comparisons: tuple[Compared, ...]
    floors: Mapping[str, Mapping[str, float | None]]
    """Strategy -> metric with a floor -> what was measured."""
    detectable: float | None
    """The smallest loss that every comparison could have found; None for a first release."""
    settings: GateSettings
    unproven_before: int | None = None
    """Releases in a row, up to the baseline, let through without proof since the champion; None without one."""
    unproven: int = 0
    """The same for this one: 0 where it was found to be not worse."""


def judge_release(
    candidate: Experiment,
    *,
    baseline: Experiment | None,
    champion: Experiment | None,
    settings: GateSettings,
    unproven: int | None = None,
) -> GateVerdict:
    """The verdict. All experiments must be of the same questions; each holds the strategies that are to be judged.

    `unproven` is the baseline's own count, None where no champion is pinned: whether one could be measured is another
    question.

    Raises InvalidEvalSet for experiments over different questions, or over the half that settings are tuned on;
    UnknownName for a metric in the settings that doesn't exist.
    """
    for name in (settings.metric, *settings.floors):
        pick(dict.fromkeys(NAMES), name, "metric")
    references = _references(candidate, baseline, champion)
    comparisons = tuple(
        (name, reference, strategy, _compare(reference, candidate, strategy, name, settings))
        for name, reference in references
        for strategy in candidate.runs
        if strategy in reference.runs
    )
    effects = {(name, strategy): c.overall for name, _, strategy, c in comparisons}
    ruling = rule(effects, settings=settings)
    floors, broken = _floors(candidate, settings)
    gaps = _gaps(candidate, [c for *_, c in comparisons], settings)
    failures = _failures(candidate, settings)
    if not candidate.runs:
        gaps.append("no strategy was evaluated; evaluate the strategies that are served")
    if references and not comparisons:
        gaps.append("the candidate has no strategy in common with its reference; evaluate the reference on them")
    refusals = [*broken, *gaps, *failures, *ruling.losses]
    outcome = _outcome(refusals, ruling, first=not references)
    undecided = outcome == "insufficient evidence"
    # With few questions even an unchanged index can't be proven equal; but nothing adds up where nothing moved.
    moved = any(c.worse or c.overall.difference for *_, c in comparisons)
    refused = undecided and not may_stay_unproven(unproven if moved else None, settings=settings)
    detectable = max((e.detectable for e in effects.values()), default=None)
    return GateVerdict(
        release_id=candidate.release_id,
        baseline=baseline.release_id if baseline else None,
        champion=champion.release_id if champion else None,
        eval_set_hash=candidate.eval_set_hash,
        half=candidate.half,
        decision="refuse" if refusals or refused else "publish",
        outcome=outcome,
        reason=_reason(outcome, refusals, effects, settings, refused=refused),
        checks={
            "floors": not broken,
            "coverage": not gaps,
            "failures": not failures,
            "loss": not ruling.losses,
            "evidence": not refused,
        },
        comparisons=tuple(
            Compared(strategy, name, reference.release_id, comparison, ruling.p_adjusted[name, strategy])
            for name, reference, strategy, comparison in comparisons
        ),
        floors=floors,
        detectable=detectable,
        settings=settings,
        unproven_before=unproven,
        unproven=(unproven or 0) + moved if undecided or outcome == "refused" else 0,
    )


def _compare(
    reference: Experiment, candidate: Experiment, strategy: str, name: Reference, settings: GateSettings
) -> Comparison:
    return compare(
        reference.runs[strategy],
        candidate.runs[strategy],
        settings=settings,
        level=interval_level(name, settings),
    )


def _references(
    candidate: Experiment, baseline: Experiment | None, champion: Experiment | None
) -> list[tuple[Reference, Experiment]]:
    if candidate.half is Half.TUNING:
        raise InvalidEvalSet("the tuning half can't judge a release; evaluate on the held-out half or on both")
    found: list[tuple[Reference, Experiment]] = []
    if baseline is not None:
        found.append(("in service", baseline))
    if champion is not None and (baseline is None or champion.release_id != baseline.release_id):
        found.append(("champion", champion))
    for name, other in found:
        if (other.eval_set_hash, other.half) != (candidate.eval_set_hash, candidate.half):
            raise InvalidEvalSet(
                f"{candidate.release_id} was evaluated on {_asked(candidate)}, the {name_of(name)} {other.release_id} "
                f"on {_asked(other)}; evaluate both on the same questions"
            )
    return found


def _floors(candidate: Experiment, settings: GateSettings) -> tuple[dict[str, dict[str, float | None]], list[str]]:
    measured: dict[str, dict[str, float | None]] = {}
    broken = []
    for strategy, run in candidate.runs.items():
        means = summarise(run).metrics
        measured[strategy] = {m: means[m].value if m in means else None for m in settings.floors}
        for metric, floor in settings.floors.items():
            value = measured[strategy][metric]
            if value is None:
                broken.append(f"{strategy} has no {metric}, which has a floor of {floor:g}; check the metric's name")
            elif value < floor:
                broken.append(f"{strategy} reaches {value:.3f} {metric}, below the floor of {floor:g}")
    return measured, broken


def _gaps(candidate: Experiment, comparisons: Sequence[Comparison], settings: GateSettings) -> list[str]:
    """Coverage: of every comparison, and of the candidate alone."""
    shares = [*(c.coverage for c in comparisons), *(summarise(run).coverage for run in candidate.runs.values())]
    if shares and min(shares) < settings.coverage:
        return [
            f"only {min(shares):.0%} of the answerable questions could be scored, fewer than {settings.coverage:.0%}: "
            f"`rag-pipeline evalset check --release {candidate.release_id}` names the labels that don't resolve in it; "
            "correct them, or the corpus"
        ]
    return []


def _failures(candidate: Experiment, settings: GateSettings) -> list[str]:
    out = []
    for strategy, run in candidate.runs.items():
        failed = [q for q in run if q.state == "failed"]
        if failed and len(failed) > settings.max_failed * len(run):
            out.append(
                f"{len(failed)} of {len(run)} questions failed under {strategy}, the first ({failed[0].query_id}) "
                f"with: {failed[0].error}; correct the cause and evaluate again"
            )
    return out


def _outcome(refusals: Sequence[str], ruling: Ruling, *, first: bool) -> Outcome:
    if refusals:
        return "refused"
    return "first release" if first else ruling.evidence


def _reason(
    outcome: Outcome,
    refusals: Sequence[str],
    effects: Mapping[tuple[Reference, str], Effect],
    settings: GateSettings,
    *,
    refused: bool,
) -> str:
    """`refused` for lack of evidence alone."""
    if outcome == "refused":
        return (
            "; ".join(refusals) + ". Look at the questions that got worse, correct the build or the settings, and "
            "evaluate again"
        )
    if outcome == "first release":
        if settings.floors:
            return f"there is no release to compare with; all {len(settings.floors)} floors hold"
        return (
            "there is no release to compare with and no floor is set; "
            "set `floors` under [collections.<name>.gate] to hold a first release to a minimum"
        )
    weakest = max(effects.values(), key=lambda e: e.detectable)
    worst = min(effects.values(), key=lambda e: e.difference)
    interval = f"interval from {worst.low:+.3f} to {worst.high:+.3f}"
    found = f"least favourable change {worst.difference:+.3f} {settings.metric}, {interval}"
    if outcome == "insufficient evidence":
        return (
            f"insufficient evidence: the smallest loss that {weakest.n} questions can find is "
            f"{weakest.detectable:.3f}, the margin is {settings.margin:g} ({found}). "
            + _unproven(settings, refused=refused)
            + f"; for a firm answer, bring the eval set to about {weakest.needed} questions"
        )
    return f"{outcome} on {weakest.n} questions: {found}; the margin is {settings.margin:g}"


def _unproven(settings: GateSettings, *, refused: bool) -> str:
    if not refused:
        return "Published under the lenient policy"
    if settings.policy == "strict":
        return "Refused by the strict policy"
    return (
        f"Refused, because after a champion no more than {settings.unproven} in a row are published like this "
        "(`unproven`): compare the release in service with the champion (`rag-pipeline diff`), and pin it "
        "(`rag-pipeline release champion`) if you want to go on from there"
    )


def _asked(experiment: Experiment) -> str:
    return f"{experiment.eval_set} {experiment.eval_set_hash[:12]} ({experiment.half.value})"

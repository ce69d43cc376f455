"""The one verdict on a candidate: its structure, its pinned queries, its speed, and whether it retrieves worse.

Lives here: bringing the parts together and recording the result, for exactly this candidate, these questions and the
release in service. The statistical rule is evaluation/gate.py; acting on the verdict is publish's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rag_pipeline.advice import advised
from rag_pipeline.checks import CheckResult
from rag_pipeline.errors import RagPipelineError
from rag_pipeline.evaluation.experiment import Experiment
from rag_pipeline.evaluation.gate import GateVerdict, judge_release
from rag_pipeline.evaluation.measure import Report, measure_release
from rag_pipeline.evaluation.questions import Questions, questions_for
from rag_pipeline.evaluation.results import read_gate_verdict, write_gate_verdict
from rag_pipeline.evaluation.side_by_side import WorseQuestion, in_a_line, worse_questions
from rag_pipeline.evaluation.split import Half
from rag_pipeline.index.manifest import read_manifest
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.clock import now
from rag_pipeline.release.history import read_history
from rag_pipeline.release.stored import load_release, read_champion
from rag_pipeline.release.verdict import QUALITY, Verdict, read_verdict, structural_verdict, write_verdict
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.gate import GateSettings

NAMED = 5
"""Questions that a refusal names; all of them are in the stored evaluation."""


@dataclass(frozen=True, slots=True)
class Judged:
    verdict: Verdict
    gate: GateVerdict | None
    """None where retrieval was not judged: the structure is broken, the index is empty, or it is in service already."""
    worse: tuple[WorseQuestion, ...]
    """Against the release in service, else the champion; greatest loss first."""
    notes: tuple[str, ...]
    """References that could not be measured, and why."""


def judge_candidate(
    paths: CollectionPaths,
    release_id: str,
    own: CollectionSettings,
    *,
    models: Path,
    checks: Mapping[str, CheckResult],
    progress: Report | None = None,
) -> Judged:
    """Judge a release against the one in service and the champion, and store the verdict with it.

    `checks` is what else may refuse it, by name, the structural checks among them. A release that is in service already
    keeps the verdict that let it in. Raises InvalidEvalSet, UnknownName and what opening the candidate raises.
    """
    baseline = read_current(paths)
    if baseline == release_id and (kept := read_verdict(paths.release(release_id))) is not None:
        return Judged(_in_service_already(paths, kept), None, (), ())
    structure = structural_verdict(release_id, baseline=baseline, checks=checks)
    if structure.decision == "refuse" or _is_empty(paths, release_id, own):
        write_verdict(paths.release(release_id), structure)
        return Judged(structure, None, (), ())
    questions = questions_for(paths, release_id, own)
    measured = _measure(paths, release_id, baseline, questions, own, models, progress)
    gate = judge_release(
        measured.candidate,
        baseline=measured.baseline,
        champion=measured.champion,
        settings=_rule(own.gate, questions),
        unproven=_unproven(paths, release_id, baseline, own.gate),
    )
    worse = _worse(gate, measured)
    left_out = _left_out(paths, gate, measured.candidate, labelled=questions.labelled)
    verdict = _verdict(structure, gate, worse, measured.notes, left_out, strict=own.gate.policy == "strict")
    write_gate_verdict(paths.evaluation(release_id, gate.eval_set_hash), gate)
    write_verdict(paths.release(release_id), verdict)
    return Judged(verdict, gate, worse, measured.notes)


@dataclass(frozen=True, slots=True)
class _Measured:
    candidate: Experiment
    baseline: Experiment | None
    champion: Experiment | None
    notes: tuple[str, ...]


def _measure(
    paths: CollectionPaths,
    release_id: str,
    baseline: str | None,
    questions: Questions,
    own: CollectionSettings,
    models: Path,
    progress: Report | None,
) -> _Measured:
    """Each by its own default strategy: what callers get who name none, before and after."""
    half = Half(own.gate.half) if questions.labelled else Half.BOTH

    def measure(which: str) -> Experiment:
        found = measure_release(paths, which, questions.eval_set, models=models, half=half, progress=progress)
        (run,) = found.runs.values()
        return replace(found, runs={served: run})

    served = load_release(paths, release_id).default_strategy
    candidate = measure(release_id)
    references: dict[str, Experiment | None] = {}
    notes = []
    for name, which in (("release in service", baseline), ("champion", read_champion(paths))):
        references[name] = None
        if which is None or which == release_id:
            continue
        try:
            references[name] = measure(which)
        except RagPipelineError as error:
            # A release that can't be opened can't be served either: waiting for it would block every better one.
            notes.append(f"the {name} {which} could not be measured ({error}), so nothing was compared with it")
    return _Measured(candidate, references["release in service"], references["champion"], tuple(notes))


def _rule(settings: GateSettings, questions: Questions) -> GateSettings:
    """A probe that doesn't resolve tells of an edited page, not of a stale label, so probes have no coverage floor."""
    return settings if questions.labelled else settings.model_copy(update={"coverage": 0.0})


def _verdict(
    structure: Verdict,
    gate: GateVerdict,
    worse: tuple[WorseQuestion, ...],
    notes: tuple[str, ...],
    left_out: tuple[str, ...],
    *,
    strict: bool,
) -> Verdict:
    checks = {**structure.checks, **{f"{QUALITY}{name}": passed for name, passed in gate.checks.items()}}
    checks[f"{QUALITY}references"] = not (notes and strict)
    parts = [gate.reason, *notes, *left_out]
    if gate.decision == "refuse" and worse:
        more = f" and {len(worse) - NAMED} more" if len(worse) > NAMED else ""
        parts.append("worse: " + "; ".join(map(in_a_line, worse[:NAMED])) + more)
    return Verdict(
        release_id=structure.release_id,
        baseline=structure.baseline,
        decision="publish" if gate.decision == "publish" and all(checks.values()) else "refuse",
        reason=". ".join(part.rstrip(".") for part in parts),
        eval_set_hash=gate.eval_set_hash,
        checks=checks,
        created=now(),
    )


def _left_out(paths: CollectionPaths, gate: GateVerdict, candidate: Experiment, *, labelled: bool) -> tuple[str, ...]:
    """A sentence on the questions that nothing was compared on: too few to refuse, and yet something was lost."""
    runs = candidate.runs.values()
    missing = {q.query_id for run in runs for q in run if q.answerable and not q.metrics}
    missing |= {query for compared in gate.comparisons for query in compared.comparison.left_out}
    if not missing or not gate.checks["coverage"]:  # the gate's own reason says it already
        return ()
    asked = len({q.query_id for run in runs for q in run if q.answerable})
    why = (
        f"{advised(paths, f'evalset check --release {candidate.release_id}')} names the labels that no longer resolve"
        if labelled
        else "the texts that they are about were changed or are gone"
    )
    return (f"{len(missing)} of {asked} questions were left out: {why}",)


def _in_service_already(paths: CollectionPaths, kept: Verdict) -> Verdict:
    """The verdict that let it in; where its last one refuses it, who put it into service past that one."""
    if kept.decision == "publish":
        return replace(kept, reason=f"it is in service already ({kept.reason})")
    put = next(
        (f"{c.action.replace('_', ' ')} on {c.at} by {c.who}: {c.reason}" for c in read_history(paths)[-1:]), "?"
    )
    return replace(kept, decision="publish", reason=f"it is in service already ({put}; past: {kept.reason})")


def _unproven(paths: CollectionPaths, release_id: str, baseline: str | None, settings: GateSettings) -> int | None:
    """The baseline's count, None without a champion; pinning the release in service as champion starts anew. Where
    there is no evaluation that let it in, or none that can be read, the limit: proof is asked for. The champion itself
    is no step away from it, so nothing counts against it."""
    champion = read_champion(paths)
    if champion is None or champion == release_id:
        return None
    if baseline is None or baseline == champion:
        return 0
    try:
        verdict = read_verdict(paths.release(baseline))
        if verdict is None or verdict.eval_set_hash is None:
            return settings.unproven
        return read_gate_verdict(paths.evaluation(baseline, verdict.eval_set_hash)).unproven
    except RagPipelineError:
        return settings.unproven


def _worse(gate: GateVerdict, measured: _Measured) -> tuple[WorseQuestion, ...]:
    experiments = {"in service": measured.baseline, "champion": measured.champion}
    for compared in gate.comparisons:
        reference = experiments[compared.reference]
        if reference is not None:
            runs = reference.runs[compared.strategy], measured.candidate.runs[compared.strategy]
            return worse_questions(compared.comparison, *runs)
    return ()


def _is_empty(paths: CollectionPaths, release_id: str, own: CollectionSettings) -> bool:
    """An index that may be empty and is has nothing to ask; labels, where there are any, still count against it."""
    chunks = read_manifest(paths.build(load_release(paths, release_id).build_key)).chunks
    return not chunks and own.eval_set is None

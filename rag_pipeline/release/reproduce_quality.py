"""Measuring a release again on the questions stored with it, and judging it again: to the last digit, or a difference.

Reads only. Timings are not compared; they are never the same twice.
"""

from dataclasses import replace
from pathlib import Path

from rag_pipeline.errors import CorruptBuild, RagPipelineError
from rag_pipeline.evaluation.code_fingerprint import code_fingerprint
from rag_pipeline.evaluation.eval_set import EvalSet
from rag_pipeline.evaluation.experiment import Experiment, QueryRun, of_half
from rag_pipeline.evaluation.gate import GateVerdict, judge_release
from rag_pipeline.evaluation.measure import QUESTIONS, run_release
from rag_pipeline.evaluation.results import read_experiment, read_gate_verdict, read_value
from rag_pipeline.evaluation.summary import summarise
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.reproduced import Comparison
from rag_pipeline.release.verdict import Verdict
from rag_pipeline.retrieval.reader import open_release
from rag_pipeline.retrieval.release_file import read_release


def reproduce_quality(paths: CollectionPaths, verdict: Verdict, *, models: Path) -> list[Comparison]:
    """For a verdict that rests on an evaluation: its questions, its retrieval metrics and the gate's decision."""
    assert verdict.eval_set_hash is not None
    folder = paths.evaluation(verdict.release_id, verdict.eval_set_hash)
    eval_set = read_value(folder, QUESTIONS, EvalSet)
    try:
        stored, gate = read_experiment(folder), read_gate_verdict(folder)
        release = read_release(paths.release(verdict.release_id))
        if eval_set is None:
            raise CorruptBuild(f"{folder}: the questions are not stored; evaluate again")
        opened = open_release(paths, verdict.release_id)
        again = run_release(opened, eval_set, models=models, strategies=(release.default_strategy,))
    except RagPipelineError as error:
        return [Comparison("evaluation", verdict.eval_set_hash[:12], "", None, str(error))]
    return [
        _equal("questions", verdict.eval_set_hash[:12], eval_set.content_hash[:12]),
        *(_retrieval(name, stored, run) for name, run in again.runs.items()),
        _decision(paths, gate, eval_set, again),
    ]


def _retrieval(strategy: str, stored: Experiment, run: tuple[QueryRun, ...]) -> Comparison:
    """Every question's ranking and metrics, exactly."""
    name = f"retrieval {strategy}"
    if strategy not in stored.runs:
        return Comparison(name, "not measured", "", None, "this strategy was not measured")
    before, after = _outcomes(stored.runs[strategy]), _outcomes(run)
    differ = [query for query in before | after if before.get(query) != after.get(query)]
    note = ""
    if differ:
        other = "" if stored.code == code_fingerprint() else "; it was measured by other code than this"
        note = f"{len(differ)} of {len(after)} questions came out differently, first {sorted(differ)[0]}{other}"
    return Comparison(name, _figures(stored.runs[strategy]), _figures(run), not differ, note)


def _decision(paths: CollectionPaths, gate: GateVerdict, eval_set: EvalSet, again: Experiment) -> Comparison:
    """The gate's rule once more, with the references as they were measured then."""
    recorded = f"{gate.decision} ({gate.outcome})"
    half = gate.half
    (run,) = again.runs.values()
    served = next(iter(again.runs))
    candidate = of_half(replace(again, runs={served: run}), eval_set, half)
    try:
        references = {
            which: None if which is None else _reference(paths, which, eval_set, gate, served)
            for which in (gate.baseline, gate.champion)
        }
    except RagPipelineError as error:
        note = f"what it was compared with is no longer stored: {error}"
        return Comparison("gate decision", recorded, "", None, note)
    judged = judge_release(
        candidate,
        baseline=references.get(gate.baseline),
        champion=references.get(gate.champion),
        settings=gate.settings,
        unproven=gate.unproven_before,
    )
    return _equal("gate decision", recorded, f"{judged.decision} ({judged.outcome})", judged.reason)


def _reference(paths: CollectionPaths, which: str, eval_set: EvalSet, gate: GateVerdict, served: str) -> Experiment:
    release = read_release(paths.release(which))
    stored = of_half(read_experiment(paths.evaluation(which, gate.eval_set_hash)), eval_set, gate.half)
    if release.default_strategy not in stored.runs:
        raise CorruptBuild(f"release {which} was not measured by {release.default_strategy}; evaluate again")
    return replace(stored, runs={served: stored.runs[release.default_strategy]})


def _outcomes(run: tuple[QueryRun, ...]) -> dict[str, object]:
    return {q.query_id: (q.state, q.ranking, dict(q.metrics), q.missing) for q in run}


def _figures(run: tuple[QueryRun, ...]) -> str:
    summary = summarise(run)
    mean = summary.metrics.get("ndcg_at_10")
    value = "no" if mean is None or mean.value is None else repr(mean.value)
    return f"{value} ndcg@10 on {summary.scored} questions"


def _equal(name: str, recorded: str, recomputed: str, note: str = "") -> Comparison:
    return Comparison(name, recorded, recomputed, recorded == recomputed, note if recorded != recomputed else "")

"""One stored evaluation as it is logged: everything a run shows, read from the data directory.

The content hash says whether two records would log the same: it covers rankings, scores and verdicts, not timings,
which differ on every run.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter

from rag_pipeline.errors import CorruptBuild
from rag_pipeline.evaluation.answer_quality import AnswerQuality
from rag_pipeline.evaluation.eval_set import EvalSet
from rag_pipeline.evaluation.experiment import Experiment, QueryRun
from rag_pipeline.evaluation.gate import GateVerdict
from rag_pipeline.evaluation.latency import STORED as LATENCY
from rag_pipeline.evaluation.latency import LatencyReport
from rag_pipeline.evaluation.measure import QUESTIONS
from rag_pipeline.evaluation.results import read_experiment, read_gate_verdict, read_value
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.stored import load_release
from rag_pipeline.schema import Release
from rag_pipeline.settings.gate import GateSettings

RETRIEVAL = "retrieval.json"
ANSWERS = "answers*.json"
"""One file an answerer."""
FORMAT = "2"
"""Raise it when the same evaluation would be logged in another form: what was logged before is then logged again."""


@dataclass(frozen=True, slots=True)
class EvaluationRecord:
    paths: CollectionPaths
    folder: Path
    release: Release
    experiment: Experiment
    questions: EvalSet | None
    gate: GateVerdict | None
    """None where this evaluation judged no candidate."""
    latency: LatencyReport | None
    answers: Mapping[str, AnswerQuality]
    """By answerer."""
    settings: GateSettings
    measured: datetime
    """When the rankings were stored, UTC."""

    @property
    def collection(self) -> str:
        return self.release.collection

    @property
    def key(self) -> str:
        """Same release, questions and code: one parent run."""
        asked = self.experiment.eval_set_hash[:20]
        return f"{self.collection}/{self.release.release_id}/{asked}/{self.experiment.code or 'unknown'}"

    @property
    def content(self) -> str:
        """sha256, hex, of what is logged."""
        parts = [FORMAT, self.key, *(self.content_of(name) for name in sorted(self.experiment.runs))]
        gate = TypeAdapter(GateVerdict | None).dump_python(self.gate, mode="json")
        answers = TypeAdapter(dict[str, AnswerQuality]).dump_python(dict(self.answers), mode="json")
        return _sha256([*parts, json.dumps(gate, sort_keys=True), json.dumps(answers, sort_keys=True)])

    def content_of(self, strategy: str) -> str:
        """sha256, hex, of one strategy's part."""
        rows = [json.dumps(asdict(_untimed(q)), sort_keys=True) for q in self.experiment.runs[strategy]]
        return _sha256([FORMAT, strategy, *rows])


def read_record(paths: CollectionPaths, release_id: str, folder: Path, *, settings: GateSettings) -> EvaluationRecord:
    """Raises CorruptBuild where the release or its rankings can't be read; what else is missing is None."""
    experiment = read_experiment(folder)
    try:
        gate = read_gate_verdict(folder)
    except CorruptBuild:
        gate = None
    return EvaluationRecord(
        paths=paths,
        folder=folder,
        release=load_release(paths, release_id),
        experiment=experiment,
        questions=read_value(folder, QUESTIONS, EvalSet),
        gate=gate,
        latency=read_value(folder, LATENCY, LatencyReport),
        answers=_read_answers(folder),
        settings=gate.settings if gate is not None else settings,
        measured=datetime.fromtimestamp((folder / RETRIEVAL).stat().st_mtime, UTC),
    )


def evaluations_of(paths: CollectionPaths, release_id: str) -> tuple[Path, ...]:
    """Folders of the release's stored evaluations, sorted."""
    return tuple(sorted(file.parent for file in paths.release(release_id).glob(f"evaluations/*/{RETRIEVAL}")))


def _read_answers(folder: Path) -> dict[str, AnswerQuality]:
    found = (read_value(folder, file.stem, AnswerQuality) for file in sorted(folder.glob(ANSWERS)))
    return {quality.answerer: quality for quality in found if quality is not None}


def _untimed(run: QueryRun) -> QueryRun:
    return replace(run, seconds=None, timings_ms={})


def _sha256(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

"""Measuring the judges that a release's answers are judged by, and keeping the result beside the release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_pipeline.evaluation.answer_labels import AnswerSet
from rag_pipeline.evaluation.code_fingerprint import code_fingerprint
from rag_pipeline.evaluation.judges.quality import JudgeQuality, judge_quality
from rag_pipeline.evaluation.judges.registry import open_judges
from rag_pipeline.evaluation.results import read_value, write_value
from rag_pipeline.evaluation.split import Half
from rag_pipeline.llm.client import Llm
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.query_vector import query_model
from rag_pipeline.retrieval.release_file import read_release

STORED = "judges"


@dataclass(frozen=True, slots=True)
class JudgeReport:
    release_id: str
    qualities: tuple[JudgeQuality, ...]
    not_run: Mapping[str, str]
    """Judges that could not be measured, and why."""
    code: str = ""

    def quality_of(self, judge: str) -> JudgeQuality | None:
        return next((q for q in self.qualities if q.judge == judge), None)


def measure_judges(
    paths: CollectionPaths,
    release_id: str,
    answers: AnswerSet,
    *,
    models: Path,
    llm: Llm | None = None,
    names: Sequence[str] | None = None,
) -> JudgeReport:
    """Every judge that can run here, or those named, on the held-out half; the semantic one by the release's embedder.

    Verdicts and the report are kept: the same judge, answers and code are measured once.
    """
    release = read_release(paths.release(release_id))
    folder = paths.evaluation(release_id, answers.content_hash)
    embedder = query_model(models, release.embedder_fingerprint)
    found = open_judges(embedder, llm=llm, cache=paths.verdicts, names=names)
    stored = stored_judges(paths, release_id, answers)
    known = {q.fingerprint: q for q in stored.qualities if q.valid} if stored is not None else {}
    fresh = {
        judge.fingerprint: known.get(judge.fingerprint) or judge_quality(judge, answers, half=Half.HELD_OUT)
        for judge in found.judges
    }
    kept = tuple({**known, **fresh}.values())
    write_value(folder, STORED, JudgeReport(release_id, kept, found.not_run, code_fingerprint()))
    return JudgeReport(release_id, tuple(fresh.values()), found.not_run, code_fingerprint())


def stored_judges(paths: CollectionPaths, release_id: str, answers: AnswerSet) -> JudgeReport | None:
    """What was measured before by this code; None where nothing was."""
    stored = read_value(paths.evaluation(release_id, answers.content_hash), STORED, JudgeReport)
    return stored if stored is not None and stored.code == code_fingerprint() else None

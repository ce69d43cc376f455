"""Measured answers and judges as rows for people. A judge's own accuracy stands beside what it says."""

from rag_pipeline.evaluation.answer_quality import AnswerQuality, Measured
from rag_pipeline.evaluation.judges.measure import JudgeReport
from rag_pipeline.evaluation.judges.quality import Accuracy, JudgeQuality
from rag_pipeline.evaluation.leaderboard import Row


def answer_rows(quality: AnswerQuality) -> list[Row]:
    """One row a metric that needs no judge: its value, the questions it stands on, and of how many."""
    abstention = quality.abstention
    abstained, unanswerable = abstention.abstained, abstention.unanswerable
    rows = [
        _row("key-fact recall", quality.key_facts),
        _row("similarity to the reference", quality.similarity),
        *(_row(name.replace("_", " ") + " (ragas)", measured) for name, measured in quality.ragas.items()),
        {"metric": "abstention precision", "value": abstention.precision, "n": abstained, "of": abstained},
        {"metric": "abstention recall", "value": abstention.recall, "n": unanswerable, "of": unanswerable},
    ]
    if quality.tokens_mean is not None:
        n = sum(row.tokens is not None for row in quality.rows)
        rows.append({"metric": "tokens of context", "value": quality.tokens_mean, "n": n, "of": len(quality.rows)})
    return rows


def faithfulness_rows(quality: AnswerQuality, judges: JudgeReport | None) -> list[Row]:
    """One row a judge: its mean, its coverage, and how well it tells labelled sentences (else answers) apart."""
    rows: list[Row] = []
    for judged in quality.faithfulness:
        known = judges.quality_of(judged.judge) if judges is not None else None
        rows.append(
            {
                "judge": judged.judge,
                "faithfulness": judged.mean,
                "coverage": judged.coverage,
                "n": judged.judged,
                "notes": "; ".join(_notes(judged.valid, judged.constant, dict(judged.failures))),
                "its AUROC": _area(known),
                "its F1": accuracy.f1 if (accuracy := _accuracy(known)) else None,
            }
        )
    return rows


def judge_rows(report: JudgeReport) -> list[Row]:
    """One row a judge: by sentence where it judges sentences, by whole answers, and what it finds of each fault."""
    kinds = sorted({kind for q in report.qualities for kind in q.faults})
    rows: list[Row] = []
    for q in report.qualities:
        row: Row = {"judge": q.judge, "half": q.half.value}
        for name, accuracy in (("sentences", q.by_sentence), ("answers", q.by_answer)):
            row[f"AUROC, {name}"] = _with_interval(accuracy, "auroc")
            row[f"F1, {name}"] = _with_interval(accuracy, "f1")
            row[f"n {name}"] = accuracy.n if accuracy else 0
        for kind in kinds:
            row[f"{kind} found"] = f"{q.faults[kind].found}/{q.faults[kind].n}" if kind in q.faults else "-"
        row["notes"] = "; ".join(_notes(q.valid, q.constant, dict(q.failures)))
        rows.append(row)
    return rows


def _row(metric: str, measured: Measured) -> Row:
    return {"metric": metric, "value": measured.mean, "n": measured.n, "of": measured.of}


def _notes(valid: bool, constant: bool, failures: dict[str, int]) -> list[str]:
    notes = [] if valid else ["invalid: too few could be judged"]
    notes += ["constant: every answer got the same score"] if constant else []
    return notes + [f"{n} {reason}" for reason, n in sorted(failures.items())]


def _accuracy(quality: JudgeQuality | None) -> Accuracy | None:
    return None if quality is None or not quality.valid else quality.by_sentence or quality.by_answer


def _area(quality: JudgeQuality | None) -> str:
    accuracy = _accuracy(quality)
    return "not measured" if accuracy is None else _with_interval(accuracy, "auroc")


def _with_interval(accuracy: Accuracy | None, what: str) -> str:
    value = getattr(accuracy, what, None)
    low, high = getattr(accuracy, f"{what}_low", None), getattr(accuracy, f"{what}_high", None)
    return "-" if value is None else f"{value:.2f}" if low is None else f"{value:.2f} ({low:.2f} to {high:.2f})"

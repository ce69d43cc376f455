"""Everything that is wrong with an eval set, in itself and against a corpus, with file and line."""

from pathlib import Path

from rag_pipeline.evaluation.answer_labels import ANSWERS, read_answer_set, unresolved_passages
from rag_pipeline.evaluation.eval_set import LabelProblem
from rag_pipeline.evaluation.labels import JUDGEMENTS, read_eval_set
from rag_pipeline.evaluation.resolve import Corpus, resolve
from rag_pipeline.evaluation.split import split_halves


def check_eval_set(folder: Path, *, corpus: Corpus | None = None, split: str = "test") -> tuple[LabelProblem, ...]:
    """Errors and notices, by file and line; without a corpus, only what the files say of themselves.

    A folder with `answers.jsonl` is one of labelled answers. Raises InvalidEvalSet where the folder or one of its files
    is missing.
    """
    if (folder / ANSWERS).is_file():
        answers, in_itself = read_answer_set(folder)
        return (*in_itself, *(unresolved_passages(answers, corpus) if corpus is not None else ()))
    eval_set, found = read_eval_set(folder, split=split)
    problems = list(found)
    labels = f"{split}.tsv" if (folder / "qrels").is_dir() else JUDGEMENTS
    if corpus is not None:
        resolution = resolve(eval_set, corpus)
        problems += [LabelProblem(labels, u.line, f"query {u.query_id!r}: {u.reason}") for u in resolution.unresolved]
        problems += [
            LabelProblem(labels, u.line, f"query {u.query_id!r}: {u.reason}", "notice") for u in resolution.not_indexed
        ]
    problems += [LabelProblem(labels, 0, text, "notice") for text in split_halves(eval_set).notices]
    return tuple(sorted(problems, key=lambda p: (p.file, p.line, p.severity, p.message)))

"""Small sets of labelled answers."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rag_pipeline.evaluation.answer_labels import AnswerSet, load_answer_set


def write_answers(folder: Path, rows: Sequence[object]) -> Path:
    """Each row is an object to be written as JSON, or a line as it stands."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (folder / "answers.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def row(answer_id: str, *labels: object, **more: object) -> dict[str, object]:
    """One sentence a line of the answer; a label is True or the fault."""
    sentences = []
    for n, label in enumerate(labels):
        text = ("\n" if n else "") + f"Sentence {n} of {answer_id}."
        fault = {} if label is True else {"fault": label}
        sentences.append({"text": text, "faithful": label is True, **fault})
    return {
        "id": answer_id,
        "question": f"question {answer_id}?",
        "passages": [{"document": f"{answer_id}.md", "quote": f"passage of {answer_id}"}],
        "sentences": sentences,
        **more,
    }


def answer_set(folder: Path, labels: Mapping[str, Sequence[object]]) -> AnswerSet:
    return load_answer_set(write_answers(folder, [row(key, *found) for key, found in labels.items()]))

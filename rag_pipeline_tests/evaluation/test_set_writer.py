import json
import tomllib
from pathlib import Path

import pytest

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.eval_set import Judgement, Query
from rag_pipeline.evaluation.labels import load_eval_set
from rag_pipeline.evaluation.set_writer import Added, add_questions
from rag_pipeline.schema import Principal

FULL = Query("b", "zwei?", ("x", "y"), {"category": "a"}, Principal("ruth", ("g",)), "so", ("fact",))
LABELS = (
    Judgement("b", "a.md", quote="“quoted”\nlines", grade=3),
    Judgement("b", "a.md", quote="q", start=4, end=5, grade=1),
    Judgement("b", "b.md", section="H > K", grade=2),
)


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "set"
    added = add_questions(
        folder,
        [(Query("a", "one", ("unanswerable",)), ()), (FULL, LABELS)],
        about={"name": 'the "set"', "synthetic": True, "restricted": False},
    )
    assert added == Added(questions=2, judgements=3, kept=0)
    found = load_eval_set(folder)
    assert (found.name, found.queries, found.judgements) == (
        'the "set"',
        (Query("a", "one", ("unanswerable",)), FULL),
        LABELS,
    )
    assert tomllib.loads((folder / "eval_set.toml").read_text()) == {"name": 'the "set"', "synthetic": True}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    mine = '{"id": "a",   "text": "mine"}'
    (tmp_path / "queries.jsonl").write_text(mine)  # without a line end
    (tmp_path / "judgements.jsonl").write_text('{"query_id": "a", "document": "d.md", "grade": 3}\n')
    (tmp_path / "eval_set.toml").write_text('# mine\nname = "old"\nrestricted = false\n')
    added = add_questions(
        tmp_path, [(Query("a", "theirs"), LABELS), (FULL, LABELS)], about={"name": "new", "restricted": True}
    )
    assert added == Added(questions=1, judgements=3, kept=1)
    lines = (tmp_path / "queries.jsonl").read_text().splitlines()
    assert lines[0] == mine and json.loads(lines[1])["id"] == "b" and len(lines) == 2
    assert (tmp_path / "eval_set.toml").read_text() == '# mine\nname = "old"\nrestricted = true\n'
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert add_questions(tmp_path, [(FULL, LABELS)], about={"from_log": True}).kept == 1
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_set_that_can_not_be_read_is_not_added_to(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"id": "a", "text": "x"}\n{oops\n')
    with pytest.raises(InvalidEvalSet, match=r"queries\.jsonl:2"):
        add_questions(tmp_path, [(FULL, LABELS)], about={})
    assert not (tmp_path / "judgements.jsonl").exists()

import json
from pathlib import Path

from rag_pipeline.evaluation.eval_set import Query
from rag_pipeline.evaluation.judging import Judging
from rag_pipeline.evaluation.pooling import Pool, PooledPassage
from rag_pipeline.schema import Principal

TEXT = "# A\n\nfirst part\n\nsecond part\n\nsame\n\nsame"
SPANS = ((5, 15), (17, 28), (36, 40))


def pool(query_id: str = "q", *spans: tuple[int, int]) -> Pool:
    query = Query(query_id, f"text of {query_id}", ("t",), {"category": "x"}, Principal("ruth", ("g",)))
    passages = tuple(
        PooledPassage("a.md", start, end, "A", ("A", "B"), TEXT[start:end], lead="") for start, end in spans or SPANS
    )
    return Pool(query, "r1", passages, {p.key: ("bm25",) for p in passages}, {"vector": "x: y"})


def grade_all(judging: Judging, *grades: int) -> None:
    for grade in grades:
        task = judging.next()
        assert task is not None
        judging.grade(task, grade)


def test_an_interruption_loses_no_grade(tmp_path: Path) -> None:
    judging = Judging(tmp_path / "set")
    judging.add(pool())
    judging.add(pool("p", (5, 15)))
    grade_all(judging, 3, 0)
    again = Judging(tmp_path / "set")
    assert again.pools == judging.pools and again.grades == judging.grades
    task = again.next()
    assert task is not None and (task.number, task.passage.start) == (3, 36)
    again.add(pool("q", (0, 3)))  # has one already
    assert len(again.pools["q"].passages) == 3
    assert again.waiting == 2 and again.labelled({"a.md": TEXT}) == ([], [])
    grade_all(again, 1, 2)
    done, problems = Judging(tmp_path / "set").labelled({"a.md": TEXT})
    assert problems == [] and [q.tags for q, _ in done] == [("t", "pooled")] * 2
    assert [(j.quote, j.start, j.grade) for j in done[0][1]] == [("first part", None, 3), ("same", 36, 1)]
    assert done[0][0].principal == Principal("ruth", ("g",)) and done[0][0].filters == {"category": "x"}


def test_a_torn_line_is_asked_again_and_counted(tmp_path: Path) -> None:
    judging = Judging(tmp_path)
    judging.add(pool())
    grade_all(judging, 3, 2)
    file = tmp_path / "judging.jsonl"
    file.write_bytes(file.read_bytes()[:-8])
    again = Judging(tmp_path)
    task = again.next()
    assert again.unreadable == 1 and task is not None and task.number == 2
    again.grade(task, 1)  # not glued to the torn line
    assert Judging(tmp_path).grades["q"] == {"a.md@5:15": 3, "a.md@17:28": 1}


def test_the_last_grade_can_be_taken_back(tmp_path: Path) -> None:
    judging = Judging(tmp_path)
    judging.add(pool())
    assert not judging.undo()
    grade_all(judging, 3, 2)
    assert judging.undo()
    task = judging.next()
    assert task is not None and task.number == 2
    judging.grade(task, 0)
    assert Judging(tmp_path).grades["q"] == {"a.md@5:15": 3, "a.md@17:28": 0}
    assert judging.undo() and judging.undo() and not judging.undo()
    assert Judging(tmp_path).grades["q"] == {}


def test_a_question_without_an_answer_waits_for_a_decision(tmp_path: Path) -> None:
    judging = Judging(tmp_path)
    judging.add(pool())
    judging.add(Pool(Query("none", "nothing found"), "r1", (), {}, {}))
    grade_all(judging, 0, 0, 0)
    assert judging.next() is None and [p.query.id for p in judging.unsettled()] == ["q", "none"]
    assert judging.waiting == 2 and judging.labelled({"a.md": TEXT})[0] == []
    judging.settle("q", "left_out")
    judging.settle("none", "unanswerable")
    again = Judging(tmp_path)
    assert again.unsettled() == () and again.waiting == 0
    ((query, labels),), _ = again.labelled({"a.md": TEXT})
    assert (query.id, query.tags, labels) == ("none", ("pooled", "unanswerable"), ())


def test_a_skipped_question_comes_last(tmp_path: Path) -> None:
    judging = Judging(tmp_path)
    judging.add(pool("q"))
    judging.add(pool("p"))
    task = judging.next(skipped=frozenset({"q"}))
    assert task is not None and task.pool.query.id == "p"
    assert judging.next(skipped=frozenset({"q", "p"})) is None


def test_a_passage_that_moved_is_still_labelled_and_one_that_changed_is_told(tmp_path: Path) -> None:
    judging = Judging(tmp_path)
    judging.add(pool("q", SPANS[0], SPANS[1]))
    grade_all(judging, 3, 2)
    ((_, labels),), _ = judging.labelled({"a.md": "new line\n" + TEXT})
    assert [j.quote for j in labels] == ["first part", "second part"]
    done, problems = judging.labelled({"a.md": TEXT.replace("second", "2nd")})
    assert done == [] and len(problems) == 1 and "a.md@17:28 has changed" in problems[0]
    assert judging.labelled({})[0] == []


def test_who_found_it_is_kept_for_the_record(tmp_path: Path) -> None:
    Judging(tmp_path).add(pool())
    row = json.loads((tmp_path / "pools.jsonl").read_text())
    assert row["passages"][0]["found_by"] == ["bm25"] and row["release"] == "r1"
    assert Judging(tmp_path).pools["q"] == pool()


def test_what_was_shown_and_graded_is_for_its_owner_alone_in_any_folder(tmp_path: Path) -> None:
    open_to_all = tmp_path / "pre"
    open_to_all.mkdir()
    open_to_all.chmod(0o755)
    for folder in (open_to_all, tmp_path / "new"):
        judging = Judging(folder)
        judging.add(pool())
        grade_all(judging, 3)
        modes = {p.name: p.stat().st_mode & 0o777 for p in folder.iterdir()}
        assert modes == {"pools.jsonl": 0o600, "judging.jsonl": 0o600}
    assert open_to_all.stat().st_mode & 0o777 == 0o755  # somebody's own choice
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700

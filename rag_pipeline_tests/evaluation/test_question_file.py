import json
from pathlib import Path

import pytest

from rag_pipeline.errors import InvalidEvalSet
from rag_pipeline.evaluation.question_file import normal_text, question_id, read_questions, typed_questions
from rag_pipeline.schema import Principal

RUTH = Principal("ruth", ("b", "a"))


@pytest.mark.parametrize(
    "text", ["How  to\tRotate keys?", "how to rotate keys", "HOW TO ROTATE KEYS ?!", "ｈow to rotate keys。"]
)
def test_what_makes_two_questions_one(text: str) -> None:
    assert normal_text(text) == "how to rotate keys"


def test_the_id_is_of_the_question_its_filters_and_who_asks() -> None:
    one = question_id("q", "How?", filters={}, principal=None)
    assert one == question_id("q", "how", filters={}, principal=None) and one.startswith("q-")
    assert question_id("q", "How?", filters={"a": 1}, principal=None) != one
    assert question_id("q", "How?", filters={}, principal=RUTH) != one
    assert question_id("q", "How?", filters={}, principal=RUTH) == question_id(
        "q", "How?", filters={}, principal=Principal("ruth", ("a", "b"))
    )


def test_one_question_a_line(tmp_path: Path) -> None:
    file = tmp_path / "q.txt"
    file.write_bytes("\ufeffHow do pumps work?\r\n\r\n  What is E-4021?  \nhow do pumps work\n".encode())
    found = read_questions(file, principal=RUTH)
    assert [q.text for q in found] == ["How do pumps work?", "What is E-4021?"]
    assert all(q.principal == RUTH for q in found)
    assert typed_questions([]) == ()


def test_rows_keep_what_they_say(tmp_path: Path) -> None:
    file = tmp_path / "candidates.jsonl"
    rows = [
        {"id": "a", "text": "one", "tags": ["t"], "filters": {"category": "x"}},
        {"id": "b", "text": "two", "principal": {"identity": "bob", "groups": []}},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    one, two = read_questions(file, principal=RUTH)
    assert (one.id, one.tags, one.filters, one.principal) == ("a", ("t",), {"category": "x"}, RUTH)
    assert two.principal == Principal("bob")


def test_what_can_not_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidEvalSet, match="no such file"):
        read_questions(tmp_path / "none.txt")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9?\n")
    with pytest.raises(InvalidEvalSet, match="not valid UTF-8"):
        read_questions(tmp_path / "latin.txt")
    (tmp_path / "bad.jsonl").write_text('{"id": "a"}\n{"id": "b", "text": "x", "more": 1}\n')
    with pytest.raises(InvalidEvalSet, match=r"bad.jsonl:1: .*text(.|\n)*bad.jsonl:2: .*unknown key 'more'"):
        read_questions(tmp_path / "bad.jsonl")
    with pytest.raises(InvalidEvalSet, match="line 2"):
        typed_questions(["fine", "x" * 10_001])

import json

import pytest

from rag_pipeline import errors

pytestmark = pytest.mark.model


def test_without_an_expectation_it_shows_the_stages(run, published):
    answer = run("debug", "how are signing keys rotated?", "-c", "site", "--home", str(published))
    assert answer.code == 0, answer.err
    assert "what every stage ranked first" in answer.out
    assert "keys/rotation.md" in answer.out


def test_a_lost_passage_exits_0_and_is_told(run, published):
    asked = ("debug", "what does E-8003 mean?", "-c", "site", "--home", str(published))
    lost = run(*asked, "--expect", "keys/storage.md", "--set", "top_k=1")
    assert lost.code == 0, lost.err
    assert "keys/storage.md: cut" in lost.out and "return more sections: top_k=" in lost.out
    found = run(*asked, "--expect", "keys/rotation.md#the old key is still pinned", "--json").json
    (diagnosis,) = found["diagnoses"]
    assert (diagnosis["reason"], diagnosis["rank"]) == ("found", 1)
    assert {t["token"]: t["in_passage"] for t in diagnosis["terms"]}["e-8003"] is True


def test_through_whose_eyes(run, published):
    asked = ("debug", "band four", "-c", "site", "--home", str(published), "--expect", "people/salaries.md", "--json")
    reasons = [
        run(*asked, *more).json["diagnoses"][0]["reason"]
        for more in ((), ("--as", "maria", "--group", "people-ops"), ("--system",))
    ]
    assert reasons == ["not_permitted", "found", "found"]


def test_a_question_of_an_eval_set(run, published, tmp_path):
    folder = tmp_path / "questions"
    folder.mkdir()
    asks = {"id": "q1", "text": "where are keys kept?", "filters": {"source": "keys/storage.md"}}
    label = {"query_id": "q1", "document": "keys/storage.md", "quote": "hardware module", "grade": 3}
    (folder / "queries.jsonl").write_text(json.dumps(asks), "utf-8")
    (folder / "judgements.jsonl").write_text(json.dumps(label), "utf-8")
    asked = ("debug", "-c", "site", "--home", str(published), "--eval-set", str(folder), "--json", "--query-id")
    report = run(*asked, "q1").json
    assert (report["question"], report["filters"]) == ("where are keys kept?", {"source": "keys/storage.md"})
    assert [(d["expected"], d["reason"]) for d in report["diagnoses"]] == [("keys/storage.md#hardware module", "found")]
    unknown = run(*asked, "q2")
    assert unknown.code == errors.UnknownName.exit_code


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a question", "--query-id", "q1"],
        ["a question", "--group", "g"],
        ["a question", "--as", "maria", "--system"],
        ["--query-id", "q1", "--system"],
        ["a question", "--expect", ""],
        ["a question", "--expect", "keys/rotation.md", "--expect", " "],
        ["a question", "--expect", "#a heading alone"],
    ],
)
def test_wrong_usage(run, published, arguments):
    assert run("debug", *arguments, "-c", "site", "--home", str(published)).code == 2


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["--set", "candidates"], errors.InvalidSettings),
        (["--set", "candidate=20"], errors.UnknownName),
        (["--set", "candidates=many"], errors.InvalidSettings),
        (["--release", "0" * 20], errors.UnknownName),
        (["--strategy", "none"], errors.UnknownName),
    ],
)
def test_what_cannot_be_examined(run, published, arguments, kind):
    answer = run("debug", "keys", *arguments, "-c", "site", "--home", str(published))
    assert answer.code == kind.exit_code, answer.err

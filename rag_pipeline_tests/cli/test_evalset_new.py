import json
import re
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.cli import evalset_judge
from rag_pipeline.evaluation.labels import load_eval_set
from rag_pipeline_tests.cli.evalsets import CARE, SECRET, Run, pages, runner
from rag_pipeline_tests.local_server import Answer, local_server
from rag_pipeline_tests.served import Served

QUESTIONS = "how often is the pump oiled?\nwhen does a valve close?\n"


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    for name in ("URL", "MODEL", "KEY"):
        monkeypatch.delenv(f"RAG_PIPELINE_LLM_{name}", raising=False)
    served = Served(tmp_path / "home", monkeypatch)
    served.publish(pages())
    return served


@pytest.fixture
def run(served: Served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(served, capsys, monkeypatch)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    (tmp_path / "q.txt").write_text(QUESTIONS)
    return tmp_path / "q.txt"


def answers(out: str, right: str) -> list[int]:
    """Of every passage shown, 3 where it holds `right`, else 0, in the order shown."""
    shown = re.split(r"\n\[\d+/\d+\] ", out)[1:]
    return [3 if right in passage else 0 for passage in shown]


def test_typed_questions_judged_through_a_pipe_make_a_set_that_passes_the_check(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    # Three passages are public; the order is fixed by the seed, so a first look tells which is which.
    run("new", folder, typed="how often is the pump oiled?\n\n")
    seen = run("new", folder, typed="0\n0\n").out
    order = answers(seen, "oiled every thirty days")
    assert sorted(order[:3]) == [0, 0, 3] and SECRET[:20] not in seen
    typed = "u\nu\n" + "".join(f"{grade}\n" for grade in order[:3])  # nothing to take back from an earlier start
    other = tmp_path / "other"
    done = run("new", other, typed="how often is the pump oiled?\n\n" + typed)
    assert done.code == 0 and "nothing to take back" in done.out
    assert "1 questions added with 1 labels; 0 not judged in full, 0 left out" in done.out
    found = load_eval_set(other)
    assert found.queries[0].tags == ("pooled",) and found.name == "test_judged"
    assert [(j.document, j.grade) for j in found.judgements] == [("pump.md", 3)]
    assert found.judgements[0].quote is not None and found.judgements[0].quote.startswith(CARE)
    assert run("check", other).code == 0
    about = (other / "eval_set.toml").read_text()
    assert "depth 10 of bm25, vector, hybrid; seed 0" in about and "restricted" not in about


def test_a_stop_loses_nothing_and_the_same_command_goes_on(run: Run, tmp_path: Path, questions: Path) -> None:
    folder = tmp_path / "set"
    stopped = run("new", folder, "--questions", questions, typed="3\nq\n")
    assert stopped.code == 0 and "2 questions pooled" in stopped.out and "2 not judged in full" in stopped.out
    assert not (folder / "queries.jsonl").exists()
    again = run("new", folder, "--questions", questions, typed="0\n0\n1\n")  # the input ends: as q
    assert "0 questions pooled" in again.out and "2 were there already" in again.out
    assert "[2/3]" in again.out and "[1/3]" in again.out  # goes on with the second passage, then the next question
    assert "1 questions added with 1 labels; 1 not judged in full" in again.out
    assert len(load_eval_set(folder).queries) == 1
    last = run("new", folder, typed="0\n0\n")  # without questions: what waits is judged, nothing is asked for
    assert "Questions, one a line" not in last.out and "1 questions added" in last.out
    assert [
        sorted(j.grade for j in load_eval_set(folder).judgements_of[q.id]) for q in load_eval_set(folder).queries
    ] == [
        [3],
        [1],
    ]
    assert run("check", folder).code == 0


def test_leaving_by_ctrl_c_keeps_what_is_complete(
    run: Run, tmp_path: Path, questions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rag_pipeline.cli import evalset_pool

    lines = iter(["3", "0", "0"])

    def read() -> str:
        for line in lines:
            return line
        raise KeyboardInterrupt

    monkeypatch.setattr(evalset_pool, "read_line", read)
    left = run("new", tmp_path / "set", "--questions", questions)
    assert left.code == 130 and "1 questions added" in left.out
    assert len(load_eval_set(tmp_path / "set").queries) == 1


def test_the_judge_can_skip_take_back_and_say_that_there_is_no_answer(
    run: Run, tmp_path: Path, questions: Path
) -> None:
    folder = tmp_path / "set"
    typed = "?\n7\n3\nu\n0\n0\n0\nx\ny\ns\n"
    done = run("new", folder, "--questions", questions, typed=typed)
    assert done.out.count(evalset_judge.HELP) == 2  # "?" and "7"
    assert "No passage answers" in done.out and "1 questions added with 0 labels" in done.out
    (query,) = load_eval_set(folder).queries
    assert query.tags == ("pooled", "unanswerable")
    left = run("new", folder, typed="0\n0\n0\nn\n")
    assert "0 questions added" in left.out and "1 left out" in left.out
    assert run("check", folder).code == 0


def test_who_found_a_passage_is_not_shown(run: Run, tmp_path: Path, questions: Path) -> None:
    out = run("new", tmp_path / "set", "--questions", questions, "--strategies", "bm25,vector", typed="0\n").out
    judged = out[out.index("Question 1 of 2") :]
    assert not re.search(r"bm25|vector|score|rank", judged)


def test_restricted_documents_need_a_reader_and_mark_the_set(run: Run, tmp_path: Path) -> None:
    typed = "what is the budget of the board?\n\n" + "3\n" * 10
    public = run("new", tmp_path / "public", typed=typed)
    assert "secret.md" not in public.out and "keep it as private" not in public.out
    board = run("new", tmp_path / "board", "--as", "ann", "--group", "board", typed=typed)
    assert "secret.md" in board.out and "keep it as private as" in board.out and "asked as ann" in board.out
    assert "restricted = true" in (tmp_path / "board" / "eval_set.toml").read_text()
    (query,) = load_eval_set(tmp_path / "board").queries
    assert query.principal is not None and query.principal.groups == ("board",)
    assert (tmp_path / "board").stat().st_mode & 0o777 == 0o700
    assert run("new", tmp_path / "x", "--group", "board").code == 2


def test_every_file_is_for_its_owner_alone_in_a_folder_that_was_open_before(
    run: Run, tmp_path: Path, questions: Path
) -> None:
    folder = tmp_path / "pre"
    folder.mkdir()
    folder.chmod(0o755)
    run("new", folder, "--questions", questions, "--as", "ann", "--group", "board", typed="3\n" * 10)
    assert {p.name: p.stat().st_mode & 0o777 for p in folder.iterdir()} == dict.fromkeys(
        ("pools.jsonl", "judging.jsonl", "queries.jsonl", "judgements.jsonl", "eval_set.toml"), 0o600
    )
    assert folder.stat().st_mode & 0o777 == 0o755


def test_control_characters_do_not_reach_the_terminal(run: Run, served: Served, tmp_path: Path) -> None:
    from rag_pipeline_tests.stages import document

    served.publish([document("evil.md", "evil \x9b31m text of the pump")], name="2")
    out = run("new", tmp_path / "set", typed="evil \x1b[2J pump\n\n3\n").out
    assert "\x9b" not in out and "\x1b" not in out and "\\x9b31m" in out


def test_what_can_not_be_asked_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": "a", "text": "pump", "filters": {"colour": "red"}}\n')
    told = run("new", tmp_path / "set", "--questions", tmp_path / "q.jsonl")
    assert told.code == 15 and "question 'pump': unknown filter 'colour'" in told.err
    assert run("new", tmp_path / "set", "--strategies", "bm52").code == 5
    assert run("new", tmp_path / "set", "--synthetic", "3", "--strategies", "bm25").code == 2
    assert run("new", tmp_path / "set", "--questions", tmp_path / "none.txt").code == 15
    assert run("new", tmp_path / "set", "--strategies", "").code == 2


def test_json_leaves_standard_output_to_the_report(run: Run, tmp_path: Path, questions: Path) -> None:
    done = run("new", tmp_path / "set", "--questions", questions, "--json", typed="3\n3\n3\nq\n")
    report = json.loads(done.out)
    assert (report["added"], report["labels"], report["waiting"], report["finished"]) == (1, 3, 1, False)
    assert "Question 1 of 2" in done.err


def test_without_a_model_no_synthetic_questions(run: Run, tmp_path: Path) -> None:
    told = run("new", tmp_path / "set", "--synthetic", "3")
    assert told.code == 3 and "RAG_PIPELINE_LLM_URL" in told.err and not (tmp_path / "set").exists()


def model(body: Any) -> Answer:
    """A stub that asks about what it is shown; of the valve it quotes what is not there."""
    shown = body["messages"][-1]["content"]
    if "valve" in shown:
        said = {"question": "When is it shut?", "quote": "the valve closes on Sundays only", "answer": "On Sundays."}
    elif "nine million" in shown:
        said = {"question": "How much money is there?", "quote": "the board is nine million", "answer": "9 million."}
    else:
        said = {"question": "How often is it greased?", "quote": "oiled every thirty days", "answer": "Every 30 days."}
    return Answer({"choices": [{"message": {"content": json.dumps(said)}, "finish_reason": "stop"}]})


def test_synthetic_questions_are_checked_tagged_and_marked(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "set"
    with local_server() as server:
        server.script(model)
        monkeypatch.setenv("RAG_PIPELINE_LLM_URL", server.url + "/v1")
        monkeypatch.setenv("RAG_PIPELINE_LLM_MODEL", "tiny")
        done = run("new", folder, "--synthetic", "5")
        assert done.code == 0
        assert "1 questions made of 2 sections asked about (2 there are)" in done.out
        assert "1 refused or failed: quote: not in its section" in done.out
        assert not any("nine million" in json.dumps(asked.body) for asked in server.asked)
        board = run("new", folder, "--synthetic", "5", "--as", "ann", "--group", "board")
        assert "1 questions made" in board.out and "keep it as private" in board.out
        asked = len(server.asked)
        assert "0 questions made of 0 sections" in run("new", folder, "--synthetic", "2").out  # has two already
        assert len(server.asked) == asked
    found = load_eval_set(folder)
    assert [q.tags for q in found.queries] == [("synthetic",)] * 2
    assert {(j.document, j.quote) for j in found.judgements} == {
        ("pump.md", "oiled every thirty days"),
        ("secret.md", "the board is nine million"),
    }
    about = (folder / "eval_set.toml").read_text()
    assert "synthetic = true" in about and "restricted = true" in about and "tiny" in about
    assert run("check", folder).code == 0


def test_a_model_that_is_away_is_an_error_that_counts(
    run: Run, tmp_path: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rag_pipeline_tests.stages import document

    served.publish([document(f"{n}.md", f"{n} " + CARE * 6) for n in range(8)], name="2")
    with local_server() as server:
        server.script(Answer({}, status=400))
        monkeypatch.setenv("RAG_PIPELINE_LLM_URL", server.url + "/v1")
        monkeypatch.setenv("RAG_PIPELINE_LLM_MODEL", "tiny")
        told = run("new", tmp_path / "set", "--synthetic", "8")
        assert told.code == 16 and "5 refused or failed: model: http_400" in told.out and len(server.asked) == 5

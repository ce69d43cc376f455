import json
from pathlib import Path
from typing import Any

import pytest

from rag_pipeline.evaluation.labels import load_eval_set
from rag_pipeline.querylog.log import QueryLog
from rag_pipeline.schema import Principal
from rag_pipeline_tests.cli.evalsets import SECRET, Run, pages, runner
from rag_pipeline_tests.served import Served

ANN = Principal("ann", ("board",))


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    monkeypatch.delenv("RAG_PIPELINE_QUERY_LOG_KEY", raising=False)
    served = Served(tmp_path / "home", monkeypatch)
    served.publish(pages())
    return served


@pytest.fixture
def run(served: Served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(served, capsys, monkeypatch)


@pytest.fixture
def log(served: Served) -> QueryLog:
    return QueryLog(served.home.query_log, days=30, most_bytes=1_000_000)


def ask(served: Served, log: QueryLog, text: str, *, who: Principal | None = None, right: str | None = None) -> None:
    result = served.ask(text, principal=who)
    number = log.query(result, principal=who).query_id
    assert number is not None
    if right is not None:
        log.feedback(number, "useful", rank=next(hit.rank for hit in result.hits if hit.doc_id == right))


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_from_questions_to_a_set_and_candidates_that_can_be_judged(
    run: Run, served: Served, log: QueryLog, tmp_path: Path
) -> None:
    for text in ("How often is the pump oiled?", "how often is the pump oiled", "How often is the pump oiled?"):
        ask(served, log, text, right="pump.md")
    ask(served, log, "valve")
    folder = tmp_path / "set"
    done = run("from-log", folder)
    assert done.code == 0 and "4 recorded, 2 different questions" in done.out
    assert "1 added with 1 labels" in done.out and "read them before you share" in done.out
    found = load_eval_set(folder)
    assert [(q.text, q.tags) for q in found.queries] == [("How often is the pump oiled?", ("from_log",))]
    assert found.judgements[0].document == "pump.md" and found.judgements[0].grade == 3
    assert "from_log = true" in (folder / "eval_set.toml").read_text()
    assert [(r["text"], r["asked"], r["useful"], r["labels"]) for r in rows(folder / "asked.jsonl")] == [
        ("How often is the pump oiled?", 3, 3, 1),
        ("valve", 1, 0, 0),
    ]
    assert {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()} == dict.fromkeys(
        ("asked.jsonl", "candidates.jsonl", "eval_set.toml", "judgements.jsonl", "queries.jsonl"), 0o600
    )  # what people typed, whatever the umask
    assert run("check", folder).code == 0
    judged = run("new", folder, "--questions", folder / "candidates.jsonl", typed="3\n3\n3\n3\n")
    assert judged.code == 0 and "1 questions added" in judged.out
    assert {q.text for q in load_eval_set(folder).queries} == {"How often is the pump oiled?", "valve"}
    again = run("from-log", folder, "--rated")
    assert "0 added with 0 labels, 1 were there; 0 candidates" in again.out


def test_a_restricted_document_is_quoted_for_its_reader_alone_and_that_is_said(
    run: Run, served: Served, log: QueryLog, tmp_path: Path
) -> None:
    ask(served, log, "what is the budget of the board?", who=ANN, right="secret.md")
    plain = run("from-log", tmp_path / "plain")
    text = "".join(p.read_text("utf-8") for p in (tmp_path / "plain").iterdir())
    assert SECRET[:30] not in text and "secret.md" not in text and "ann" not in text
    assert "1 passages were called useful and not labelled: not readable by the one who is named" in plain.out
    assert "asked by users who are not named" in plain.out and not (tmp_path / "plain" / "queries.jsonl").exists()
    other = run("from-log", tmp_path / "other", "--as", "eve", "--group", "board")
    assert SECRET[:30] not in "".join(p.read_text("utf-8") for p in (tmp_path / "other").iterdir())
    assert "keep it as private" not in other.out
    named = run("from-log", tmp_path / "named", "--as", "ann", "--group", "board")
    assert "keep it as private" in named.out
    assert "restricted = true" in (tmp_path / "named" / "eval_set.toml").read_text()
    (query,) = load_eval_set(tmp_path / "named").queries
    assert query.principal == ANN
    assert run("check", tmp_path / "named").code == 0


def test_the_help_says_what_is_copied(run: Run) -> None:
    out = run("from-log", "--help").out
    assert "Privacy" in out and "as it was typed" in out and "Without --as" in out


def test_without_a_log_or_its_key(run: Run, served: Served, log: QueryLog, tmp_path: Path) -> None:
    ask(served, log, "pump")
    (log.folder / "asker.key").unlink()
    told = run("from-log", tmp_path / "set")
    assert told.code == 3 and "key is gone" in told.err
    for file in log.folder.iterdir():
        file.unlink()
    log.folder.rmdir()
    told = run("from-log", tmp_path / "set")
    assert told.code == 4 and "query_log = true" in told.err and not (tmp_path / "set").exists()


def test_json_and_damaged_lines(run: Run, served: Served, log: QueryLog, tmp_path: Path) -> None:
    ask(served, log, "pump")
    (segment,) = log.folder.glob("*.jsonl")
    with segment.open("a") as file:
        file.write("{torn\n")
    report = json.loads(run("from-log", tmp_path / "set", "--json").out)
    assert (report["records"], report["questions"], report["candidates"], report["unreadable_lines"]) == (1, 1, 1, 1)
    assert "1 lines of the log could not be read" in run("from-log", tmp_path / "set").out
    future = run("from-log", tmp_path / "later", "--since", "2200-01-01")
    assert "0 recorded, 0 different questions" in future.out

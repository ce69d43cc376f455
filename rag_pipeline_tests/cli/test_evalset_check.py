import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_pipeline.cli.main import main
from rag_pipeline.errors import InvalidEvalSet, NoRelease, UnknownName
from rag_pipeline_tests.evaluation.builders import write_set
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document, pumps, write_stages

QUERIES = [{"id": "oil", "text": "what does the pump move?"}]
GOOD = {"query_id": "oil", "document": "pump.md", "quote": "The pump moves oil through the valve.", "grade": 3}
STALE = {**GOOD, "quote": "nobody wrote this"}
TOLD = "error: judgements.jsonl:1: query 'oil': pump.md does not hold the quote 'nobody wrote this'"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    """The working directory's settings make its collection the default one."""
    monkeypatch.delenv("RAG_PIPELINE_COLLECTION", raising=False)
    monkeypatch.delenv("RAG_PIPELINE_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("rag_pipeline.toml").write_text("default_collection = 'test'\n")
    return Served(tmp_path / "home", monkeypatch)


@pytest.fixture
def check(served: Served, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["evalset", "check", *(str(a) for a in arguments), "--home", str(served.home.root)])
        captured = capsys.readouterr()
        return int(str(ended.value.code)), captured.out, captured.err

    return command


def stage(served: Served) -> None:
    """As a first run left it that read and did not publish."""
    snapshot, _, _ = write_stages(served.home.root.with_name("read"), pumps())
    shutil.copytree(snapshot, served.paths.snapshot("s1"))
    served.paths.latest("snapshots").write_text("s1\n")


def test_without_a_collection_the_default_one_is_what_labels_are_resolved_in(
    served: Served, check: Run, tmp_path: Path
) -> None:
    release = served.publish(pumps())
    code, out, _ = check(write_set(tmp_path / "set", QUERIES, [STALE]))
    assert code == InvalidEvalSet.exit_code and TOLD in out
    where = f"checked against collection test (the default; -c names another), release {release.release_id}"
    assert out.endswith(f"1 errors, 0 notices; {where}\n")
    assert check(write_set(tmp_path / "good", QUERIES, [GOOD]))[0] == 0


def test_the_collection_that_names_the_folder_comes_before_the_default_one(
    served: Served, check: Run, tmp_path: Path
) -> None:
    served.publish([document("other.md", "Nothing about it.")])
    folder = write_set(tmp_path / "set", QUERIES, [GOOD])
    table = f"eval_set = '{folder}'\nsources = []\n"
    settings = f"default_collection = 'test'\n[collections.handbook]\n{table}"
    Path("rag_pipeline.toml").write_text(settings)
    code, out, _ = check(folder)
    assert code == 0 and "labels were not resolved, because collection handbook has nothing indexed" in out
    Path("rag_pipeline.toml").write_text(f"{settings}[collections.test]\n{table}")
    code, out, _ = check(folder)  # both name it
    assert code == InvalidEvalSet.exit_code and "unknown document 'pump.md'" in out
    assert "checked against collection test, release" in out
    assert check()[1] == out


def test_where_no_release_is_in_service_the_documents_as_last_read_are(
    served: Served, check: Run, tmp_path: Path
) -> None:
    stage(served)
    folder = write_set(tmp_path / "set", QUERIES, [STALE])
    for named in ((), ("-c", "test")):
        code, out, _ = check(folder, *named)
        assert code == InvalidEvalSet.exit_code and TOLD in out
        assert "the documents as last read, no release is in service (snapshot s1)" in out
    report = json.loads(check(folder, "--json")[1])
    assert (report["release"], report["snapshot"], report["labels_resolved"]) == (None, "s1", True)


def test_with_nothing_to_resolve_in_it_says_so_and_how(served: Served, check: Run, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", QUERIES, [STALE])
    code, out, _ = check(folder)
    assert code == 0 and "0 errors" in out
    assert "labels were not resolved" in out and "run `rag-pipeline reindex -c test` first" in out
    report = json.loads(check(folder, "--json")[1])
    assert (report["collection"], report["labels_resolved"], report["errors"]) == ("test", False, 0)
    assert check(folder, "-c", "test")[0] == UnknownName.exit_code  # a collection that was asked for is there, or told
    served.paths.root.mkdir(parents=True)
    assert check(folder, "-c", "test")[0] == NoRelease.exit_code


def test_a_candidate_that_was_refused_is_named_by_its_id(served: Served, check: Run, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set", QUERIES, [GOOD])
    good = served.publish(pumps())
    emptied = [document("pump.md", "Nothing."), *pumps()[1:]]
    refused = served.publish(emptied, name="2").release_id
    served.paths.current.write_text(good.release_id + "\n")
    assert check(folder)[0] == 0
    code, out, _ = check(folder, "--release", refused)
    assert code == InvalidEvalSet.exit_code
    assert "pump.md does not hold the quote 'The pump moves oil through the valve.'" in out
    assert f"release {refused}\n" in out
    code, _, err = check(folder, "--release", "0" * 20)
    assert code == UnknownName.exit_code and refused in err
    assert check(folder, "--release", "")[0] == 2
    served.paths.current.unlink()  # a first one that was refused
    assert check(folder, "--release", refused)[0] == InvalidEvalSet.exit_code


def test_a_split_of_a_folder_that_has_none_is_a_usage_error(served: Served, check: Run, tmp_path: Path) -> None:
    served.publish(pumps())
    code, _, err = check(write_set(tmp_path / "set", QUERIES, [GOOD]), "--split", "dev")
    assert code == 2 and "has no such folder; leave --split out" in err
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    (beir / "queries.jsonl").write_text('{"_id": "1", "text": "x"}\n')
    for split, document_id in (("test", "pump.md"), ("dev", "ghost.md")):
        (beir / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\n1\t{document_id}\t1\n")
    assert check(beir)[0] == 0
    code, out, _ = check(beir, "--split", "dev")
    assert code == InvalidEvalSet.exit_code and "dev.tsv:2: query '1': unknown document 'ghost.md'" in out
    code, _, err = check(tmp_path / "none", "--split", "dev")
    assert code == InvalidEvalSet.exit_code and "no such file" in err

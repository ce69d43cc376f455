import multiprocessing
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from rag_pipeline.errors import StorageUnavailable
from rag_pipeline.querylog.log import QueryLog
from rag_pipeline.querylog.read import read_log
from rag_pipeline.querylog.segments import segments
from rag_pipeline.schema import Principal
from rag_pipeline_tests.evaluation.builders import result
from rag_pipeline_tests.querylog.conftest import Clock

OpenLog = Callable[..., QueryLog]
RUTH = Principal("ruth", ("finance",))


def asked(text: str, *sections: str):
    return replace(result(*sections), query=text)


def test_a_question_is_found_again_by_its_id(open_log: OpenLog, clock: Clock) -> None:
    log = open_log()
    first = log.query(asked("one", "a.md#0"), principal=None).query_id
    second = log.query(asked("two", "b.md#5"), principal=RUTH, filters={"category": "x"}).query_id
    assert first is not None and second is not None
    found = log.find(second)
    assert found is not None and (found.query, found.results[0].doc_id) == ("two", "b.md")
    assert found.asker == log.asker(RUTH) != log.asker(None)
    assert "ruth" not in next(iter(segments(log.folder))).path.read_text()
    clock.pass_days(1)
    again = log.find(first)
    assert again is not None and again.query == "one"
    assert log.find(first[:-1] + ("0" if first[-1] != "0" else "1")) is None
    assert log.find("../../etc/passwd") is None


def test_nothing_is_found_or_kept_beyond_its_days(open_log: OpenLog, clock: Clock) -> None:
    log = open_log(days=2)
    old = log.query(asked("old"), principal=None).query_id
    assert old is not None
    clock.pass_days(1)
    assert log.find(old) is not None
    clock.pass_days(1)
    assert log.find(old) is None  # even before anything was removed
    assert len(segments(log.folder)) == 1
    log.query(asked("new"), principal=None)  # another day: removes on its way
    assert [s.day for s in segments(log.folder)] == [clock().date()]


def test_a_start_removes_what_is_old(open_log: OpenLog, clock: Clock) -> None:
    log = open_log()
    log.query(asked("old"), principal=None)
    clock.pass_days(40)
    open_log()
    assert segments(log.folder) == ()


def test_the_size_is_bounded_and_old_days_go_first(open_log: OpenLog, clock: Clock) -> None:
    log = open_log(most_bytes=3000)
    while not (written := log.query(asked("x" * 300), principal=None)).failure:
        pass
    assert written.failure == "full" and written.query_id is None
    clock.pass_days(1)
    assert log.query(asked("x" * 300), principal=None).failure is None
    clock.pass_days(1)
    for _ in range(20):
        log.query(asked("x" * 300), principal=None)
        assert sum(s.path.stat().st_size for s in segments(log.folder)) <= 3000
    assert clock().date() in [s.day for s in segments(log.folder)]


def test_a_record_that_is_too_long_or_no_json_is_refused(open_log: OpenLog) -> None:
    log = open_log(most_bytes=100_000_000)
    assert log.query(asked("x" * 1_000_001), principal=None).failure == "too_large"
    assert log.query(asked("x"), principal=None, filters={"a": object()}).failure == "invalid"
    assert log.query(asked("x"), principal=None, filters={"a": float("nan")}).failure == "invalid"
    assert segments(log.folder) == ()


def test_a_folder_that_is_gone_is_made_again_and_one_that_cannot_be_is_a_failure(open_log: OpenLog) -> None:
    log = open_log()
    shutil.rmtree(log.folder)
    assert log.query(asked("x"), principal=None).failure is None
    shutil.rmtree(log.folder)
    log.folder.write_text("in the way")
    failure = log.query(asked("x"), principal=None).failure
    assert failure is not None and failure.startswith("os_error_")


def test_a_folder_that_cannot_be_made_is_told_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageUnavailable):
        QueryLog(tmp_path / "file" / "log", days=1, most_bytes=1000, environ={})


def test_an_empty_segment_holds_nothing(open_log: OpenLog, clock: Clock) -> None:
    log = open_log()
    (log.folder / f"{clock().date()}.jsonl").touch()
    assert log.find(f"{clock():%Y%m%d}-{'0' * 32}") is None


def _write_many(folder: Path) -> int:
    log = QueryLog(folder, days=30, most_bytes=100_000_000, environ={})

    def one(n: int) -> str | None:
        return log.query(asked(f"{n} " + "y" * 2000, "a.md#0"), principal=None).failure

    with ThreadPoolExecutor(4) as threads:
        return sum(failure is None for failure in threads.map(one, range(100)))


def test_processes_and_threads_write_whole_lines(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        counts = pool.map(_write_many, [tmp_path / "log"] * 3)
    rows = read_log(tmp_path / "log", days=30)
    assert (len(rows.queries), rows.unreadable) == (sum(counts), 0)
    assert sum(counts) >= 290  # "busy" is allowed, torn lines are not

"""Fresh processes over a hand-made release that is asked by BM25, so that they need no model."""

import subprocess

import pytest

from rag_pipeline.errors import StageFailed
from rag_pipeline.evaluation import speed_process
from rag_pipeline.evaluation.speed_process import cold_starts, peak_kib, reader_peak
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import pumps


@pytest.fixture
def served(tmp_path, monkeypatch):
    made = Served(tmp_path / "home", monkeypatch)
    made.content = {"default_strategy": "bm25"}
    return made


def test_a_cold_query_takes_time_of_the_clock_and_of_the_processor(served):
    served.publish(pumps())
    clock, used = cold_starts(served.home, "test", ["oil", "--version"])  # a question may look like an option
    assert clock > 0 and used > 0


def test_a_query_that_fails_is_not_a_fast_one(served):
    served.publish(pumps())
    with pytest.raises(StageFailed, match=r"cold_start could not run \(exit code 5\).*unknown collection 'other'"):
        cold_starts(served.home, "other", ["oil"])


def test_a_question_never_stands_in_a_command_line(served, monkeypatch):
    """Every user of a machine sees those, and a question may quote what only some may read."""
    commands = []
    real = subprocess.run

    def spied(command, **options):
        commands.append(command)
        return real(command, **options)

    monkeypatch.setattr(subprocess, "run", spied)
    release = served.publish(pumps())
    cold_starts(served.home, "test", ["salary band four"])
    reader_peak(served.home, "test", release.release_id, ["salary band four"])
    assert len(commands) == 2 and "salary" not in str(commands)


def test_a_query_that_hangs_is_told(served, monkeypatch):
    served.publish(pumps())
    monkeypatch.setattr(speed_process, "SECONDS", 0.01)
    with pytest.raises(StageFailed, match="timeout"):
        cold_starts(served.home, "test", ["oil"])


def test_the_memory_is_the_readers_own_and_not_what_this_process_needed(served):
    """`getrusage` of a child begins with its parent's mark."""
    release = served.publish(pumps())
    held = bytearray(900_000_000)
    peak = reader_peak(served.home, "test", release.release_id, ["oil", "create_agent"])
    assert peak is not None and 10 < peak < len(held) / 1e6


def test_a_reader_that_fails_is_told(served):
    served.publish(pumps())
    with pytest.raises(StageFailed, match="reader could not run"):
        reader_peak(served.home, "test", "0" * 20, ["oil"])


def test_where_the_system_does_not_tell_there_is_no_peak(tmp_path):
    assert peak_kib(tmp_path / "none") is None
    (tmp_path / "status").write_text("Name:\tx\nVmPeak:\t 9 kB\nVmHWM:\t   123456 kB\n")
    assert peak_kib(tmp_path / "status") == 123456

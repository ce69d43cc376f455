import json

import pytest

from rag_pipeline.errors import BuildBusy, NoRelease
from rag_pipeline.evaluation.speed_history import append_run, read_runs
from rag_pipeline.paths import Home
from rag_pipeline_tests.sites import COLLECTION

pytestmark = pytest.mark.model

OFF = "[tracking]\nenabled = false\n"


def test_figures_are_printed_and_kept(run, published, tmp_path):
    (tmp_path / "rag_pipeline.toml").write_text(OFF)
    where = ("--collection", COLLECTION, "--home", str(published))
    answer = run("benchmarks", *where, "--json")
    assert answer.code == 0
    told = answer.json
    assert told["logged"] is None and told["check"]["passed"]
    paths = Home(published).collection(COLLECTION)
    (first,) = read_runs(paths.benchmarks)
    assert told["run"]["figures"] == dict(first.figures) and first.failed == 0
    assert {"query.hybrid.p50_ms", "query_embedding.p50_ms", "reader_peak_mb"} <= set(first.figures)

    for day in (1, 2):  # three that were ten times as good: everything is worse now
        append_run(paths.benchmarks, with_figures(first, at=f"2026-01-0{day}T05:00:00.000000Z"))
    append_run(paths.benchmarks, with_figures(first, at="2026-01-03T05:00:00.000000Z"))
    answer = run("benchmarks", *where)
    assert answer.code == 0
    assert "median before" in answer.out and "worse" in answer.out and "run it again on a quiet machine" in answer.out


def with_figures(first, **fields):
    from dataclasses import replace

    tenth = {name: value * 10 if name.endswith("_per_second") else value / 10 for name, value in first.figures.items()}
    return replace(first, figures=tenth, **fields)


def test_a_store_that_cannot_be_used_is_told_and_the_figures_stand(run, published, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "./mlruns")
    answer = run("benchmarks", "--collection", COLLECTION, "--home", str(published))
    assert answer.code == 0 and "cold_start_ms" in answer.out
    assert "not logged" in answer.err and "is a folder" in answer.err


def test_a_build_is_waited_for_and_then_told(run, published, monkeypatch):
    import threading

    from rag_pipeline.cli import benchmarks
    from rag_pipeline.release.lock import build_lock

    monkeypatch.setattr(benchmarks, "LOCK_WAIT_SECONDS", 0.0)
    held, done = threading.Event(), threading.Event()

    def building():
        with build_lock(Home(published).collection(COLLECTION), wait_seconds=0):
            held.set()
            done.wait(60)

    thread = threading.Thread(target=building)
    thread.start()
    held.wait(60)
    try:
        answer = run("benchmarks", "--collection", COLLECTION, "--home", str(published), "--json")
    finally:
        done.set()
        thread.join()
    assert answer.code == BuildBusy.exit_code and "building" in json.loads(answer.out)["error"]["message"]


def test_nothing_indexed_is_told(run, tmp_path):
    assert run("benchmarks", "--home", str(tmp_path / "none")).code == NoRelease.exit_code

from dataclasses import replace

from rag_pipeline.evaluation.speed_history import FILE, SpeedRun, append_run, read_runs

MACHINE = {"host": "h", "processor": "p", "cores": "2", "duckdb": "1"}


def run(day: int, **fields) -> SpeedRun:
    made = SpeedRun(
        at=f"2026-01-{day:02}T05:00:00.000000Z",
        collection="docs",
        release_id="r1",
        build_key="b1",
        code="c1",
        machine=MACHINE,
        load=0.5,
        chunks=100,
        questions=50,
        failed=0,
        figures={"query.hybrid.p95_ms": 10.0},
    )
    return replace(made, **fields)


def test_runs_are_read_back_in_order(tmp_path):
    folder = tmp_path / "benchmarks"
    assert read_runs(folder) == ()
    append_run(folder, run(1))
    append_run(folder, run(2, load=None, figures={}))
    assert read_runs(folder) == (run(1), run(2, load=None, figures={}))


def test_the_oldest_are_dropped(tmp_path):
    for day in range(1, 6):
        append_run(tmp_path, run(day), keep=3)
    assert [found.at[8:10] for found in read_runs(tmp_path)] == ["03", "04", "05"]
    assert (tmp_path / FILE).read_text("utf-8").count("\n") == 3


def test_a_place_is_a_machine_and_not_the_versions_on_it():
    assert run(1).place == run(2, machine={**MACHINE, "duckdb": "2"}).place
    assert run(1).place != run(2, machine={**MACHINE, "cores": "4"}).place

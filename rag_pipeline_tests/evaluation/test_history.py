import json

import pytest

from rag_pipeline.evaluation.history import FILE, NIGHTS, Night, append_night, first_alike, read_nights, read_rankings
from rag_pipeline_tests.evaluation.builders import experiment, scored


def night(day: int, **fields) -> Night:
    values = {
        "at": f"2026-01-{day:02}T04:00:00.000000Z",
        "release_id": "r1",
        "build_key": "b1",
        "strategy": "hybrid",
        "eval_set": "small",
        "eval_set_hash": "e" * 64,
        "code": "c1",
        "machine": {"host": "h", "processor": "p", "cores": "2", "duckdb": "1"},
        "questions": 1,
        "scored": 1,
        "failed": 0,
        "metrics": {"ndcg_at_10": 0.5},
        "latency_n": 9,
        "latency_p50_ms": 5.0,
        "latency_p95_ms": 10.0,
    }
    return Night(**{**values, **fields})


def asked(release_id: str = "r1"):
    return experiment(release_id, {"hybrid": scored([0.5])})


def test_nights_are_read_back_in_order_with_their_rankings(tmp_path):
    for day in (1, 2):
        append_night(tmp_path / "h", night(day), asked(f"r{day}"))
    assert read_nights(tmp_path / "h") == (night(1), night(2))
    assert read_rankings(tmp_path / "h", night(2)) == asked("r2")
    assert read_nights(tmp_path / "none") == ()


def test_a_line_cut_short_costs_that_night_alone(tmp_path):
    append_night(tmp_path, night(1), asked())
    with (tmp_path / FILE).open("a") as file:
        file.write('{"at": "2026-01-0')
    append_night(tmp_path, night(3), asked())
    assert [n.at for n in read_nights(tmp_path)] == [night(1).at, night(3).at]


def test_old_rows_and_rankings_are_dropped_but_the_first_alike_stays(tmp_path):
    for day in range(1, 8):
        append_night(tmp_path, night(day, release_id="r0" if day < 3 else "r1"), asked(), keep_rows=5, keep_full=2)
    rows = read_nights(tmp_path)
    assert [n.at for n in rows] == [night(day).at for day in range(3, 8)]
    kept = sorted(file.stem for file in (tmp_path / NIGHTS).iterdir())
    assert kept == [night(day).file for day in (3, 6, 7)]
    assert read_rankings(tmp_path, rows[1]) is None


@pytest.mark.parametrize(("releases", "first"), [("aaa", 1), ("baa", 2), ("aba", 3), ("aab", None), ("", None)])
def test_the_first_alike_is_that_of_an_unbroken_run(releases, first):
    nights = [night(day, release_id=name) for day, name in enumerate(releases, start=1)]
    found = first_alike(nights, night(9, release_id="a"))
    assert (found and found.at) == (first and night(first).at)


def test_numbers_are_kept_to_the_last_bit(tmp_path):
    third = night(1, metrics={"ndcg_at_10": 1 / 3}, latency_p95_ms=0.1 + 0.2)
    append_night(tmp_path, third, asked())
    assert read_nights(tmp_path) == (third,)
    assert json.loads((tmp_path / FILE).read_text())["metrics"]["ndcg_at_10"] == 1 / 3

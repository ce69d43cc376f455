import pytest

from rag_pipeline.evaluation.speed_check import against_earlier, is_worse, usual
from rag_pipeline_tests.evaluation.test_speed_history import MACHINE, run

P95 = "query.hybrid.p95_ms"
RATE = "embedding.chunks_per_second"
BYTES = "index_bytes_per_chunk"


def runs(*values: float, name: str = P95, **last):
    """One run a day with this figure; `last` are other fields of the last one."""
    made = [run(day, figures={name: value}) for day, value in enumerate(values, start=1)]
    return [*made[:-1], run(len(values), figures={name: values[-1]}, **last)]


def test_without_enough_earlier_runs_nothing_is_judged():
    assert against_earlier([]).passed
    for few in (runs(10), runs(10, 10, 99)):
        found = against_earlier(few)
        assert found.passed and "fewer than 3 earlier runs" in found.message


def test_as_fast_as_usual_passes_with_its_numbers():
    found = against_earlier(runs(10, 12, 11, 15))
    assert found.passed and "1 figures within 1.5 times" in found.message
    assert found.numbers == {P95: 15.0, f"{P95}_median": 11.0}


def test_slower_than_one_and_a_half_times_the_median_is_told():
    found = against_earlier(runs(10, 12, 11, 17))
    assert not found.passed
    assert f"{P95} 17 (median 11)" in found.message and "load was 0.5 on 2 cores" in found.message
    assert found.message.endswith("before looking for more")


def test_questions_that_fail_have_no_times_and_are_told():
    assert not against_earlier(runs(10, 10, 10, 10, failed=2)).passed
    assert "2 questions failed, in earlier runs 0" in against_earlier(runs(10, 10, failed=2)).message
    always = [run(day, figures={P95: 10}, failed=2) for day in range(1, 6)]
    assert against_earlier(always).passed


def test_what_changed_since_the_last_run_on_this_machine_is_named():
    slow = runs(10, 10, 10, 99, code="c2", chunks=5000, release_id="r2", machine={**MACHINE, "duckdb": "2"})
    found = against_earlier(slow)
    for cause in ("release r1 -> r2", "chunks 100 -> 5000", "code c1 -> c2", "duckdb 1 -> 2"):
        assert cause in found.message
    assert "since" not in against_earlier(runs(10, 10, 10, 99)).message


@pytest.mark.parametrize(
    ("name", "usual", "now", "worse"),
    [
        (P95, 1.0, 2.9, False),  # less than 2 ms more
        (P95, 1.0, 3.1, True),
        (P95, 100.0, 149.0, False),
        (P95, 100.0, 151.0, True),
        (RATE, 90.0, 61.0, False),  # more is better
        (RATE, 90.0, 59.0, True),
        (RATE, 90.0, 900.0, False),
        (BYTES, 1000.0, 1499.0, False),
        (BYTES, 1000.0, 1501.0, True),
    ],
)
def test_worse_is_a_matter_of_direction_and_of_milliseconds(name, usual, now, worse):
    assert is_worse(name, now, usual) is worse


def test_other_machines_do_not_count():
    other = {**MACHINE, "host": "other"}
    there = [run(day, machine=other, figures={P95: 1.0}) for day in range(1, 9)]
    assert usual([*there, run(9)]) == {}
    assert usual([*there, *runs(10, 10, 10, 99)]) == {P95: 10.0}


def test_the_median_is_over_the_last_runs_and_over_those_that_measured_the_figure():
    assert usual(runs(*[100.0] * 9, *[10.0] * 14, 99.0)) == {P95: 10.0}
    without = [run(day, figures={}) for day in range(1, 9)]
    assert usual([*runs(10, 12), *without, run(20)]) == {}
    assert usual([*runs(10, 12, 11), *without, run(20)]) == {P95: 11.0}

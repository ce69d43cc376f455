import math
from dataclasses import replace

from rag_pipeline.evaluation.experiment import Experiment, RankedSection
from rag_pipeline.evaluation.history import Night
from rag_pipeline.evaluation.history_check import against_history, latency_against_history
from rag_pipeline.settings.gate import GateSettings
from rag_pipeline_tests.evaluation.builders import experiment, scored
from rag_pipeline_tests.evaluation.test_history import night

SETTINGS = GateSettings(resamples=499)
EQUAL = [i / 100 for i in range(100)]


class Nights:
    """Nights one after the other, each with what it returned."""

    def __init__(self) -> None:
        self.rows: list[Night] = []
        self.kept: dict[str, Experiment] = {}

    def add(self, scores, *, forget: bool = False, ranking: str = "a", texts: str = "", **fields) -> "Nights":
        row = night(len(self.rows) + 1, questions=len(scores), **fields)
        runs = tuple(
            replace(q, ranking=(RankedSection(ranking, "d", 0, 9),), text=f"{texts}{q.text}") for q in scored(scores)
        )
        self.rows.append(row)
        if not forget:
            self.kept[row.at] = experiment(row.release_id, {"hybrid": runs})
        return self

    def judged(self):
        return against_history(self.rows, rankings=lambda row: self.kept.get(row.at), settings=SETTINGS)


def test_without_a_night_before_there_is_nothing_to_compare_with():
    assert Nights().judged().check.passed
    first = Nights().add(EQUAL).judged()
    assert first.check.passed and "first night" in first.check.message


def test_equal_nights_pass():
    found = Nights().add(EQUAL).add(EQUAL).judged().check
    assert found.passed and found.numbers["changed"] == 0


def test_one_changed_ranking_without_a_known_cause_is_an_error_that_names_the_question():
    """Same release, same questions, same code, same machine: a change means that something isn't as it is thought."""
    nights = Nights().add(EQUAL).add(EQUAL)
    run = nights.kept[nights.rows[1].at].runs["hybrid"]
    turned = replace(run[7], ranking=(RankedSection("z", "d", 0, 9),))
    nights.kept[nights.rows[1].at] = experiment("r1", {"hybrid": (*run[:7], turned, *run[8:])})
    found = nights.judged()
    assert not found.check.passed and found.is_error
    assert "1 of 100 questions" in found.check.message and "'question 7'" in found.check.message
    assert "nothing known to have changed" in found.check.message


def test_a_change_in_the_last_bit_of_a_score_is_a_change():
    bits = [*EQUAL[:50], math.nextafter(EQUAL[50], 1), *EQUAL[51:]]
    assert Nights().add(EQUAL).add(bits).judged().check.numbers["changed"] == 1


def test_a_change_after_other_code_that_loses_nothing_is_a_warning_naming_it():
    found = Nights().add(EQUAL).add(EQUAL, ranking="b", code="c2").judged()
    assert not found.check.passed and not found.is_error
    assert "code c1 -> c2" in found.check.message
    machine = {**night(1).machine, "duckdb": "2"}
    assert "duckdb 1 -> 2" in Nights().add(EQUAL).add(EQUAL, ranking="b", machine=machine).judged().check.message


def test_a_loss_after_other_code_is_an_error():
    found = Nights().add(EQUAL).add([s * 0.8 for s in EQUAL], ranking="b", code="c2").judged()
    assert found.is_error and "lost 0.099 ndcg_at_10" in found.check.message
    assert "move the folder `regression` away" in found.check.message


def test_another_release_is_judged_as_the_gate_does():
    equal = Nights().add(EQUAL).add(EQUAL, ranking="b", release_id="r2").judged()
    assert equal.check.passed and "changed" not in equal.check.numbers
    worse = Nights().add(EQUAL).add([s * 0.8 for s in EQUAL], release_id="r2").judged()
    assert not worse.check.passed and worse.is_error
    better = Nights().add(EQUAL).add([min(1, s + 0.1) for s in EQUAL], release_id="r2").judged()
    assert better.check.passed


def test_other_questions_are_compared_where_they_are_the_same():
    """A question under an old id and in new words is another question."""
    kept = Nights().add(EQUAL).add([0.0, *EQUAL[1:]], eval_set_hash="f" * 64).judged()
    assert kept.check.passed


def test_nights_that_share_no_question_do_not_pass_as_alike():
    found = Nights().add(EQUAL).add([0.0] * 100, eval_set_hash="f" * 64, texts="new ").judged()
    assert not found.check.passed and not found.is_error
    assert "shares no question with the night of 2026-01-01" in found.check.message
    assert "as the night of" not in found.check.message


def test_nights_without_a_question_that_both_scored_do_not_pass_as_alike():
    nights = Nights().add(EQUAL).add(EQUAL, release_id="r2")
    run = nights.kept[nights.rows[0].at].runs["hybrid"]
    unscored = tuple(replace(q, state="failed", metrics={}) for q in run)
    nights.kept[nights.rows[0].at] = experiment("r1", {"hybrid": unscored})
    found = nights.judged()
    assert not found.check.passed and not found.is_error and "no question was scored both" in found.check.message


def test_every_reference_that_cannot_be_read_is_told():
    other = Nights().add(EQUAL, forget=True).add(EQUAL, release_id="r2").judged()
    assert not other.check.passed and not other.is_error and "2026-01-01" in other.check.message
    assert "can't be read" in other.check.message
    first = Nights().add(EQUAL, forget=True).add(EQUAL).add(EQUAL).judged()
    assert not first.check.passed and not first.is_error
    assert "its first night, 2026-01-01" in first.check.message and "can't be read" in first.check.message


def test_small_losses_do_not_add_up():
    """Each night within the margin of the one before it, and of other code, so that nothing else is found."""
    nights = Nights()
    for step in range(4):
        nights.add([max(0.0, s - 0.012 * step) for s in EQUAL], code=f"c{step}")
    found = nights.judged()
    assert found.is_error and "its first night, 2026-01-01" in found.check.message


def test_failed_questions_are_an_error_even_in_the_first_night():
    found = Nights().add(EQUAL, failed=2).judged()
    assert found.is_error and not found.check.passed and "2 of 100 questions failed" in found.check.message


def test_rankings_that_are_gone_are_told():
    lost = Nights().add(EQUAL).add(EQUAL, forget=True).judged()
    assert lost.is_error and "can't be read" in lost.check.message
    last = Nights().add(EQUAL, forget=True).add(EQUAL).judged()
    assert not last.check.passed and not last.is_error and "rankings were not compared" in last.check.message


def test_no_questions_at_all_are_no_regression():
    found = Nights().add([]).add([]).judged().check
    assert found.passed and "as the night of" not in found.message


def times(*milliseconds: float | None, **last) -> list[Night]:
    rows = [night(day, latency_p95_ms=ms) for day, ms in enumerate(milliseconds, start=1)]
    return [*rows[:-1], replace(rows[-1], **last)]


def test_slower_than_the_median_by_both_measures_is_told():
    assert latency_against_history(times(50, 50, 50, 74)).passed
    slow = latency_against_history(times(50, 50, 50, 76))
    assert not slow.passed and slow.numbers == {"p95_ms": 76, "nights": 3, "n": 9, "median_ms": 50}
    assert latency_against_history(times(5, 5, 5, 24)).passed  # five times as slow, and nobody notices
    assert not latency_against_history(times(5, 5, 5, 26)).passed


def test_one_slow_night_does_not_move_the_median():
    assert not latency_against_history(times(50, 500, 50, 50, 90)).passed


def test_too_few_nights_or_another_machine_say_so():
    assert "too few" in latency_against_history(times(50, 50, 500)).message
    elsewhere = latency_against_history(times(50, 50, 50, 500, machine={"host": "other"}))
    assert elsewhere.passed and elsewhere.numbers["nights"] == 0
    assert latency_against_history(times(50, 50, None)).passed
    assert latency_against_history([]).passed


def test_only_the_last_nights_count():
    assert not latency_against_history(times(*[500.0] * 20, *[50.0] * 14, 90)).passed

from dataclasses import replace

from rag_pipeline.evaluation.latency import LatencyReport, Percentiles
from rag_pipeline.evaluation.results import write_value
from rag_pipeline.tracking.record import evaluations_of
from rag_pipeline_tests.tracking.test_answer_metrics import quality


def test_the_content_is_that_of_rankings_and_verdicts_not_of_times(evaluated):
    first = evaluated.record()
    (evaluated.folder / "retrieval.json").unlink()
    evaluated.measure("hybrid", "bm25")
    times = LatencyReport(evaluated.release_id, "hybrid", {"total": Percentiles(9, 3.0, 5.5, 7.0)}, 2, 900.0, 0)
    write_value(evaluated.folder, "latency", times)
    second = evaluated.record()
    assert first.experiment != second.experiment  # the times differ
    assert first.content == second.content


def test_another_ranking_another_strategy_or_an_answer_is_other_content(evaluated):
    record = evaluated.record()
    run = record.experiment.runs["hybrid"]
    turned = replace(run[0], ranking=run[0].ranking[::-1])
    other = replace(record, experiment=replace(record.experiment, runs={"hybrid": (turned, *run[1:])}))
    assert other.content_of("hybrid") != record.content_of("hybrid")
    more = replace(record, experiment=replace(record.experiment, runs={"hybrid": run}))
    assert more.content_of("hybrid") == record.content_of("hybrid")
    write_value(evaluated.folder, "answers_llm", quality())
    assert len({record.content, other.content, more.content, evaluated.record().content}) == 4
    assert record.key == other.key == more.key


def test_a_damaged_answers_file_is_no_answers(evaluated):
    (evaluated.folder / "answers.json").write_text("{")
    assert evaluated.record().answers == {}


def test_evaluations_are_found_by_their_rankings(evaluated):
    (evaluated.folder.parent / "half-made").mkdir()
    assert evaluations_of(evaluated.paths, evaluated.release_id) == (evaluated.folder,)

import json
from dataclasses import asdict, replace

import pytest

from rag_pipeline.errors import NoRelease
from rag_pipeline.evaluation import latency
from rag_pipeline.evaluation.eval_set import EvalSet
from rag_pipeline.evaluation.latency import LatencyReport, Percentiles
from rag_pipeline.evaluation.speed import measure_speed, process_figures, query_figures, sample_texts, served_strategies
from rag_pipeline.evaluation.speed_history import read_runs
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline_tests.served import Served
from rag_pipeline_tests.stages import document, pumps

OWN = CollectionSettings()
AT = "2026-01-01T05:00:00.000000Z"


@pytest.fixture
def served(tmp_path, monkeypatch):
    monkeypatch.setattr(latency.query_vector, "forget", lambda: None)  # the fake model can't be opened again
    made = Served(tmp_path / "home", monkeypatch)
    # Fresh processes don't know the fake model: what they answer by default needs none.
    made.content = {"default_strategy": "bm25"}
    return made


def test_a_run_measures_everything_and_is_recorded(served):
    release = served.publish(pumps())
    reports = []
    run = measure_speed(served.home, "test", OWN, at=AT, progress=reports.append)
    assert (run.release_id, run.collection, run.chunks, run.failed) == (release.release_id, "test", 8, 0)
    assert set(run.figures) == {
        *(f"query.{name}.{p}_ms" for name in ("bm25", "hybrid") for p in ("p50", "p95")),
        *("cold_start_ms", "cold_start_cpu_ms", "open_index_ms", "index_bytes_per_chunk", "reader_peak_mb"),
        *("embedding.chunks_per_second", "embedding.cpu_ms_per_chunk"),
    }
    assert all(value > 0 for value in run.figures.values())
    assert run.questions > 0 and run.machine["cores"]
    assert read_runs(served.paths.benchmarks) == (run,)
    assert json.loads(json.dumps(asdict(run)))["at"] == AT
    assert [(r.done, r.total) for r in reports] == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_bytes_are_those_of_all_files_of_the_build(served):
    release = served.publish(pumps())
    run = measure_speed(served.home, "test", OWN, at=AT)
    build = served.paths.build(release.build_key)
    assert run.figures["index_bytes_per_chunk"] == sum(f.stat().st_size for f in build.rglob("*") if f.is_file()) / 8


def test_the_default_strategy_comes_first_and_then_those_of_contexts(served):
    release = served.publish(pumps())
    assert served_strategies(release) == ("bm25", "hybrid")
    assert served_strategies(replace(release, contexts={})) == ("bm25",)


def test_the_embedding_is_that_of_the_default_strategy():
    def report(strategy: str, **stages: float) -> LatencyReport:
        made = {name: Percentiles(9, value, value + 1, value + 2) for name, value in stages.items()}
        return LatencyReport("r1", strategy, made, 1, 5.0, 0)

    found = query_figures([report("hybrid", total=8.0, embed=6.0), report("vector", total=7.0, embed=5.0)])
    assert found == {
        "query.hybrid.p50_ms": 8.0,
        "query.hybrid.p95_ms": 9.0,
        "query.vector.p50_ms": 7.0,
        "query.vector.p95_ms": 8.0,
        "query_embedding.p50_ms": 6.0,
    }
    assert query_figures([report("hybrid")]) == {}  # no question could be asked


def test_the_sample_stays_where_the_corpus_hardly_changes(served):
    pages = [document(f"p{i:02}.md", f"Page {i} tells about valve {i}.") for i in range(40)]
    served.publish(pages)
    first = sample_texts(open_current(served.paths).index, count=10)
    served.publish([document("a-new-first-page.md", "It comes before all others."), *pages])
    second = sample_texts(open_current(served.paths).index, count=10)
    assert len(first) == len(second) == 10 and len(set(first) & set(second)) >= 9


def test_an_empty_index_has_no_figures_of_chunks(served):
    from rag_pipeline.settings.build import IndexSettings

    served.publish([], settings=IndexSettings())
    run = measure_speed(served.home, "test", OWN, at=AT)
    assert set(run.figures) == {"open_index_ms"} and run.questions == 0


def test_without_questions_no_process_is_started(served):
    served.publish(pumps())
    assert process_figures(served.home, open_current(served.paths), EvalSet("e", (), ())) == {}


def test_before_the_first_publish_there_is_nothing_to_measure(served):
    with pytest.raises(NoRelease):
        measure_speed(served.home, "test", OWN, at=AT)

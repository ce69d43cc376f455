"""The definitions as a product: they load, and what a person sees in the UI is there."""

import dagster as dg
import pytest

from rag_pipeline.defs.graph import all_definitions
from rag_pipeline.defs.resources import DataDirectory
from rag_pipeline.settings.load import load_settings
from rag_pipeline_tests.sites import site_settings, write_site


@pytest.fixture(scope="module")
def repository() -> dg.RepositoryDefinition:
    definitions = all_definitions(load_settings(environ={}))
    dg.Definitions.validate_loadable(definitions)
    return definitions.get_repository_def()


GRAPH = {
    "documents": set(),
    "chunks": {"documents"},
    "chunk_embeddings": {"chunks"},
    "candidate_index": {"chunk_embeddings"},
    "candidate_release": {"candidate_index"},
    "retrieval_quality": {"candidate_release"},
    "latency": {"candidate_release"},
    "leaderboard": {"retrieval_quality"},
    "judge_quality": {"candidate_release"},
    "answer_quality": {"candidate_release", "judge_quality"},
    "gate_verdict": {"retrieval_quality", "latency"},
    "published_release": {"gate_verdict"},
    "experiment_log": {"gate_verdict", "leaderboard", "answer_quality"},
    "regression_history": {"published_release"},
    "benchmarks": {"published_release"},
}
BLOCKING = {
    "documents": {"ledger_reconciles"},
    "chunks": {
        "no_empty_or_header_only_chunk",
        "every_chunk_has_a_parent_and_a_header_path",
        "search_text_fits_the_model",
        "chunk_text_equals_its_source_span",
    },
    "chunk_embeddings": {"every_chunk_has_a_sound_vector"},
    "candidate_index": {"index_is_not_empty", "build_verifies", "ann_recall_at_10"},
    "candidate_release": {"pinned_queries"},
    "regression_history": {"no_regression_against_history"},
}
WARNING = {
    "documents": {"no_failed_inputs"},
    "published_release": {"served_release_is_sound"},
    "latency": {"latency_within_budget"},
    "experiment_log": {"evaluations_are_logged"},
    "regression_history": {"latency_against_history"},
    "benchmarks": {"no_slow_down"},
}


def test_the_graph_is_the_one_the_readme_draws(repository):
    graph = repository.asset_graph
    found = {
        key.path[-1]: {parent.path[-1] for parent in graph.get(key).parent_keys}
        for key in graph.materializable_asset_keys
    }
    assert found == GRAPH
    assert {key.path[0] for key in graph.materializable_asset_keys} == {"agent_platform"}


def test_every_asset_tells_a_person_what_it_is(repository):
    for key in repository.asset_graph.materializable_asset_keys:
        node = repository.asset_graph.get(key)
        assert node.description
        assert node.group_name in {"corpus", "index", "release", "evaluation"}
        assert node.kinds
        assert node.code_version
        assert node.pools == {"agent_platform_writer"}


def test_the_checks_that_must_block_do(repository):
    graph = repository.asset_graph
    blocking: dict[str, set[str]] = {}
    warning: dict[str, set[str]] = {}
    for key in graph.asset_check_keys:
        kind = blocking if graph.get(key).blocking else warning
        kind.setdefault(key.asset_key.path[-1], set()).add(key.name)
        assert graph.get(key).description
    assert blocking == BLOCKING
    assert warning == WARNING


def test_a_collection_has_its_job_its_night_and_its_watch(repository):
    assert repository.has_job("agent_platform_reindex")
    assert repository.has_job("agent_platform_compare_strategies")
    assert repository.has_job("agent_platform_regression")
    assert repository.has_job("agent_platform_benchmarks")
    nights = {night.name: night for night in repository.schedule_defs}
    assert {name: night.cron_schedule for name, night in nights.items()} == {
        "agent_platform_nightly": "0 2 * * *",
        "agent_platform_nightly_regression": "0 4 * * *",
        "agent_platform_nightly_benchmarks": "0 5 * * *",
    }
    assert {night.execution_timezone for night in nights.values()} == {"UTC"}
    off = {name for name, night in nights.items() if night.default_status is dg.DefaultScheduleStatus.STOPPED}
    assert off == {"agent_platform_nightly_benchmarks"}
    for alert in ("alert_on_failed_run", "alert_on_regression"):
        assert repository.get_sensor_def(alert).default_status is dg.DefaultSensorStatus.RUNNING
    watch = repository.get_sensor_def("agent_platform_sources_changed")
    assert watch.default_status is dg.DefaultSensorStatus.STOPPED


def test_a_re_index_measures_no_speed_and_no_history(repository):
    keys = {key.path[-1] for key in repository.get_job("agent_platform_reindex").asset_layer.selected_asset_keys}
    assert {"benchmarks", "regression_history", "leaderboard"}.isdisjoint(keys) and "published_release" in keys


def test_two_collections_do_not_share_keys_or_writers():
    settings = load_settings(environ={})
    own = settings.collection("agent_platform")
    both = settings.model_copy(update={"collections": {"agent_platform": own, "other": own}})
    graph = all_definitions(both).get_repository_def().asset_graph
    assert {key.path[0] for key in graph.materializable_asset_keys} == {"agent_platform", "other"}
    assert {pool for key in graph.materializable_asset_keys for pool in graph.get(key).pools} == {
        "agent_platform_writer",
        "other_writer",
    }


def test_the_sensor_asks_for_a_run_when_a_file_changed_and_not_otherwise(tmp_path):
    source = write_site(tmp_path / "site")
    repository = all_definitions(site_settings(tmp_path / "home", source)).get_repository_def()
    sensor = repository.get_sensor_def("site_sources_changed")

    def tick(cursor: str | None):
        data = DataDirectory(path=str(tmp_path / "home"))
        with dg.build_sensor_context(cursor=cursor, repository_def=repository, resources={"data": data}) as context:
            return sensor.evaluate_tick(context)

    first = tick(None)
    assert len(first.run_requests) == 1
    assert tick(first.cursor).run_requests == []
    (source / "new.md").write_text("# New\n\nA page that was not there before.\n", "utf-8")
    assert len(tick(first.cursor).run_requests) == 1

"""`experiment_log` and the nightly regression inside their jobs, with the real model, on a small site."""

from concurrent.futures import ThreadPoolExecutor

import dagster as dg
import pytest

from rag_pipeline.defs import tracking
from rag_pipeline.defs.automation import job_name
from rag_pipeline.defs.collection import CollectionDefs
from rag_pipeline.defs.evaluation import compare_job_name
from rag_pipeline.defs.graph import all_definitions
from rag_pipeline.defs.launch import QUIET
from rag_pipeline.defs.regression import regression_job_name
from rag_pipeline.defs.resources import DataDirectory
from rag_pipeline.evaluation.history import FILE, read_nights
from rag_pipeline.paths import Home
from rag_pipeline.release.lock import build_lock
from rag_pipeline.release.stored import release_ids
from rag_pipeline.settings.collection import CollectionSettings
from rag_pipeline.settings.load import Settings
from rag_pipeline.settings.tracking import TrackingSettings
from rag_pipeline.tracking.record import evaluations_of
from rag_pipeline.tracking.state import read_state
from rag_pipeline_tests.sites import COLLECTION, data_directory, site_settings, write_site

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def site(tmp_path_factory, exported_models):
    folder = tmp_path_factory.mktemp("tracked")
    settings = site_settings(data_directory(folder / "home", exported_models), write_site(folder / "site"))
    few = {name: settings.strategies[name] for name in ("bm25", "hybrid")}
    return settings.model_copy(update={"strategies": few, "tracking": TrackingSettings(seconds=1)})


def run(settings, job: str, **options):
    with dg.DagsterInstance.ephemeral() as instance:
        job_def = all_definitions(settings).resolve_job_def(job)
        return job_def.execute_in_process(instance=instance, run_config=dict(QUIET), **options)


def metadata(result, asset: str):
    (event,) = [e for e in result.get_asset_materialization_events() if e.asset_key.path[-1] == asset]
    return {name: value.value for name, value in event.step_materialization_data.materialization.metadata.items()}


def check(result, name: str):
    (found,) = [c for c in result.get_asset_check_evaluations() if c.check_name == name]
    return found


def test_a_run_logs_its_candidate_after_publishing_and_a_comparison_adds_to_it(site):
    result = run(site, job_name(COLLECTION))
    order = [event.step_key for event in result.all_events if event.is_step_start]
    assert order.index(f"{COLLECTION}__published_release") < order.index(f"{COLLECTION}__experiment_log")
    assert check(result, "evaluations_are_logged").passed
    paths = Home(site.home).collection(COLLECTION)
    (folder,) = evaluations_of(paths, metadata(result, "experiment_log")["release"])
    first = read_state(folder)
    assert first.state == "sent" and dict(first.children).keys() == {"hybrid"}
    assert first.run_id in str(metadata(result, "experiment_log")["runs"])

    compared = run(site, compare_job_name(COLLECTION))
    assert check(compared, "evaluations_are_logged").passed
    second = read_state(folder)
    assert second.run_id == first.run_id and dict(second.children).keys() == {"hybrid", "bm25"}


def test_a_store_that_cannot_be_used_is_a_warning_and_the_release_is_published(site, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "./mlruns")
    result = run(site, job_name(COLLECTION))
    assert result.success
    found = check(result, "evaluations_are_logged")
    assert not found.passed and found.severity is dg.AssetCheckSeverity.WARN
    assert "eval log" in found.description and "is a folder" in found.description


def test_without_mlflow_the_asset_says_so_and_passes(site, monkeypatch):
    monkeypatch.setattr("rag_pipeline.tracking.checks.is_installed", lambda: False)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "./mlruns")
    result = run(site, job_name(COLLECTION))
    assert "rag-pipeline[eval]" in metadata(result, "experiment_log")["state"]
    assert check(result, "evaluations_are_logged").passed


def test_two_nights_are_alike_and_a_third_with_another_ranking_fails_its_run(site):
    paths = Home(site.home).collection(COLLECTION)
    for _ in range(2):
        assert run(site, regression_job_name(COLLECTION)).success
    first, second = read_nights(paths.regression)
    assert first.release_id in release_ids(paths) and first.metrics == second.metrics
    # Last night returned something else: the same release, questions, code and machine can't.
    night = paths.regression / "nights" / f"{second.file}.json"
    text = night.read_text("utf-8")
    assert '"section_id": "' in text
    night.write_text(text.replace('"section_id": "', '"section_id": "x', 1), "utf-8")
    failed = run(site, regression_job_name(COLLECTION), raise_on_error=False)
    assert not failed.success
    found = check(failed, "no_regression_against_history")
    assert not found.passed and found.severity is dg.AssetCheckSeverity.ERROR
    assert "are answered otherwise" in found.description
    assert check(failed, "latency_against_history").severity is dg.AssetCheckSeverity.WARN
    assert (paths.regression / FILE).read_text("utf-8").count("\n") == 3


def test_the_build_lock_is_free_while_a_server_is_slow(tmp_path, monkeypatch):
    free = []

    def build(paths, release_ids):
        with build_lock(paths, wait_seconds=0):
            free.extend(release_ids)

    def slow(settings, paths, release_ids):
        with ThreadPoolExecutor(1) as pool:  # a thread may take its own lock twice
            pool.submit(build, paths, release_ids).result()
        return iter(())

    monkeypatch.setattr(tracking, "log_releases", slow)
    paths = Home(tmp_path).collection(COLLECTION)
    paths.staging.mkdir(parents=True)
    paths.latest("candidate_release").write_text("r1")
    collection = CollectionDefs(COLLECTION, Settings(home=tmp_path, collections={COLLECTION: CollectionSettings()}))
    (asset,) = tracking.tracking_definitions(collection)
    asset(data=DataDirectory(path=str(tmp_path)))
    assert free == ["r1"]


def test_the_night_is_skipped_before_the_first_publish(site, tmp_path):
    repository = all_definitions(site).get_repository_def()
    schedule = repository.get_schedule_def(f"{COLLECTION}_nightly_regression")
    assert (schedule.cron_schedule, schedule.default_status) == ("0 4 * * *", dg.DefaultScheduleStatus.RUNNING)
    for home, expected in ((tmp_path, 0), (site.home, 1)):
        with dg.build_schedule_context(resources={"data": DataDirectory(path=str(home))}) as context:
            ticked = schedule.evaluate_tick(context)
        assert len(ticked.run_requests or ()) == expected


def test_the_definitions_name_the_check_as_the_asset_returns_it(site):
    keys = all_definitions(site).get_repository_def().asset_graph.asset_check_keys
    assert (tracking.LOGGED, tracking.EXPERIMENT_LOG) in {(key.name, key.asset_key.path[-1]) for key in keys}

"""`benchmarks` inside its job, with the real model, on a small site; and its schedule."""

from dataclasses import replace

import dagster as dg
import pytest

from rag_pipeline.defs.automation import job_name
from rag_pipeline.defs.benchmarks import benchmarks_job_name
from rag_pipeline.defs.graph import all_definitions
from rag_pipeline.defs.resources import DataDirectory
from rag_pipeline.evaluation.speed_history import append_run, read_runs
from rag_pipeline.paths import Home
from rag_pipeline.settings.tracking import TrackingSettings
from rag_pipeline.tracking.state import read_state
from rag_pipeline_tests.defs.test_tracking import check, metadata, run
from rag_pipeline_tests.sites import COLLECTION, data_directory, site_settings, write_site


@pytest.fixture(scope="module")
def site(tmp_path_factory, exported_models):
    folder = tmp_path_factory.mktemp("benchmarked")
    settings = site_settings(data_directory(folder / "home", exported_models), write_site(folder / "site"))
    assert run(settings, job_name(COLLECTION)).success
    return settings.model_copy(update={"tracking": TrackingSettings(seconds=1)})


@pytest.mark.model
def test_a_run_is_measured_logged_and_compared(site):
    result = run(site, benchmarks_job_name(COLLECTION))
    assert result.success and check(result, "no_slow_down").passed
    paths = Home(site.home).collection(COLLECTION)
    (first,) = read_runs(paths.benchmarks)
    told = metadata(result, "benchmarks")
    assert {name: told[name] for name in first.figures} == dict(first.figures)
    assert told["logged"] == read_state(paths.benchmarks).run_id and told["runs"] == 1

    quick = {name: value * 10 if name.endswith("_per_second") else value / 10 for name, value in first.figures.items()}
    for day in (1, 2, 3):
        append_run(paths.benchmarks, replace(first, at=f"2026-01-0{day}T05:00:00.000000Z", figures=quick))
    slow = run(site, benchmarks_job_name(COLLECTION))
    found = check(slow, "no_slow_down")
    assert slow.success  # a warning stops nothing
    assert not found.passed and found.severity is dg.AssetCheckSeverity.WARN
    assert "cold_start_ms" in found.description and "load was" in found.description


def test_the_schedule_is_off_and_skipped_before_the_first_publish(tmp_path):
    settings = site_settings(tmp_path / "home", write_site(tmp_path / "site"), benchmarks_cron="30 3 * * 0")
    schedule = all_definitions(settings).get_repository_def().get_schedule_def(f"{COLLECTION}_nightly_benchmarks")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("30 3 * * 0", "UTC")
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
    paths = Home(tmp_path / "home").collection(COLLECTION)
    for released, expected in ((False, 0), (True, 1)):
        if released:
            paths.root.mkdir(parents=True)
            paths.current.write_text("a" * 20 + "\n")
        with dg.build_schedule_context(resources={"data": DataDirectory(path=str(tmp_path / "home"))}) as context:
            ticked = schedule.evaluate_tick(context)
        assert len(ticked.run_requests or ()) == expected

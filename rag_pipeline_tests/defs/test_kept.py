"""The whole job, run again: what it takes from the run before, what it says of that, and what it never overlooks."""

import shutil
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from rag_pipeline.defs import kept as module
from rag_pipeline.defs.automation import job_name
from rag_pipeline.defs.graph import all_definitions
from rag_pipeline.defs.launch import QUIET
from rag_pipeline.kept import KEPT_FROM
from rag_pipeline.paths import CollectionPaths, Home
from rag_pipeline.retrieval.reader import forget
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline.settings.load import Settings
from rag_pipeline_tests.sites import COLLECTION, data_directory, site_settings, write_site

pytestmark = pytest.mark.model

KEPT = {
    "ledger_reconciles",
    "no_empty_or_header_only_chunk",
    "every_chunk_has_a_parent_and_a_header_path",
    "search_text_fits_the_model",
    "chunk_text_equals_its_source_span",
    "ann_recall_at_10",
    "pinned_queries",
    "build_verifies",
    "served_release_is_sound",
}
"""Checks that an unchanged run takes over."""


class Run:
    def __init__(self, settings: Settings) -> None:
        with dg.DagsterInstance.ephemeral() as instance:
            job = all_definitions(settings).resolve_job_def(job_name(COLLECTION))
            result = job.execute_in_process(instance=instance, run_config=dict(QUIET), raise_on_error=False)
            self.success = result.success
            evaluations = result.get_asset_check_evaluations()
            events = result.get_asset_materialization_events()
        self.checks = {e.check_name: e for e in evaluations}
        self.found: dict[str, dict[str, Any]] = {
            e.asset_key.path[-1]: {
                name: value.value for name, value in e.step_materialization_data.materialization.metadata.items()
            }
            for e in events
            if e.asset_key is not None
        }

    @property
    def kept(self) -> set[str]:
        return {name for name, check in self.checks.items() if KEPT_FROM in check.metadata}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory, exported_models: Path) -> tuple[Path, Path]:
    """(home, source) of a site that was indexed twice; tests copy the home's collection."""
    root = tmp_path_factory.mktemp("kept")
    source = write_site(root / "site")
    settings = site_settings(data_directory(root / "home", exported_models), source)
    assert Run(settings).success
    assert Run(settings).success
    return settings.home, source


@pytest.fixture
def site(indexed: tuple[Path, Path], tmp_path: Path, exported_models: Path) -> tuple[Settings, Path, CollectionPaths]:
    home, source = indexed
    mine = data_directory(tmp_path / "home", exported_models)
    for part in (COLLECTION, "embeddings"):
        shutil.copytree(home / part, mine / part)
    forget()
    # The same folder, so that the places of its files are the same.
    return site_settings(mine, source), source, Home(mine).collection(COLLECTION)


def test_a_run_with_nothing_new_says_of_every_result_that_it_is_kept(
    site: tuple[Settings, Path, CollectionPaths],
) -> None:
    settings, _, paths = site
    before = read_current(paths)
    run = Run(settings)
    assert run.success
    assert all(check.passed for check in run.checks.values())
    assert run.kept == KEPT
    assert run.found["documents"]["not_parsed_again"] == run.found["documents"]["documents"]
    assert run.found["chunks"]["reused"] is True
    assert run.found["chunk_embeddings"]["embedded"] == 0
    assert run.found["candidate_index"]["reused"] is True
    assert run.found["latency"]["measured"].endswith("Z")
    assert run.found["retrieval_quality"]["questions_made"].endswith("Z")
    assert run.found["gate_verdict"]["contents_compared"].endswith("Z")
    assert (run.found["published_release"]["changed"], read_current(paths)) == (False, before)


def test_what_other_code_found_out_is_not_kept(
    site: tuple[Settings, Path, CollectionPaths], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, _, paths = site
    before = read_current(paths)
    monkeypatch.setattr(module, "computed_by", lambda: "other code")
    run = Run(settings)
    assert run.success
    # The first to look finds it out anew; the second one of the same run need not.
    assert run.kept <= {"served_release_is_sound", "build_verifies"}
    assert run.found["latency"]["measured"] == "made in this run"
    assert read_current(paths) == before


@pytest.mark.parametrize("file", ["vectors.npy", "index.duckdb", "manifest.json"])
def test_a_byte_that_flipped_in_the_build_in_service_is_found_and_the_build_made_again(
    site: tuple[Settings, Path, CollectionPaths], file: str
) -> None:
    settings, _, paths = site
    before = read_current(paths)
    build = next(p for p in paths.builds.iterdir() if not p.name.startswith("."))
    damage(build / file)
    run = Run(settings)
    assert run.success
    assert run.found["candidate_index"]["reused"] is False
    assert [p.name for p in paths.builds.glob(".corrupt-*")] == [f".corrupt-{build.name}-1"]
    assert read_current(paths) == before
    assert "build_verifies" not in run.kept


def test_a_damaged_chunking_is_made_again_and_said(site: tuple[Settings, Path, CollectionPaths]) -> None:
    settings, _, paths = site
    folder = next((paths.staging / "chunkings").iterdir())
    good = (folder / "chunks.parquet").read_bytes()
    damage(folder / "chunks.parquet")
    run = Run(settings)
    assert run.success
    assert run.found["chunks"]["reused"] is False
    assert "chunks.parquet" in run.found["chunks"]["kept_and_not_usable"]
    assert (folder / "chunks.parquet").read_bytes() == good


def test_other_pinned_queries_are_asked(site: tuple[Settings, Path, CollectionPaths]) -> None:
    settings, source, _ = site
    pinned = [{"query": "rotate keys", "expect": "hardware module that nobody wrote of"}]
    run = Run(site_settings(settings.home, source, pinned=pinned))
    assert not run.success
    assert not run.checks["pinned_queries"].passed


def damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)

"""The whole job, run again: what it takes from the run before, what it says of that, and what it never overlooks."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from rag_pipeline.defs import kept as module
from rag_pipeline.defs.automation import job_name
from rag_pipeline.defs.graph import all_definitions
from rag_pipeline.defs.launch import QUIET
from rag_pipeline.index.verify import verify_build
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
    monkeypatch.setattr(module, "BY", "other code")
    run = Run(settings)
    assert run.success
    # The first to look compares the contents anew; the next ones of the same run need not.
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
    began = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    run = Run(settings)
    assert run.success
    assert run.found["candidate_index"]["reused"] is False
    assert [p.name for p in paths.builds.glob(".corrupt-*")] == [f".corrupt-{build.name}-1"]
    assert read_current(paths) == before
    # The new build was compared when it was made, in this run.
    assert str(run.checks["build_verifies"].metadata[KEPT_FROM].value) >= began
    assert verify_build(build) == ()


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


def test_a_bit_that_flipped_in_staged_vectors_gets_into_no_build(site: tuple[Settings, Path, CollectionPaths]) -> None:
    settings, source, paths = site
    folder = next((paths.staging / "vectors").iterdir())
    good = (folder / "vectors.npy").read_bytes()
    (folder / "vectors.npy").write_bytes(good[:-4] + bytes([good[-4] ^ 1]) + good[-3:])
    run = Run(site_settings(settings.home, source, index={"k1": 1.5}))
    assert run.success
    assert folder.name in run.found["chunk_embeddings"]["kept_and_not_usable"]
    assert run.found["chunk_embeddings"]["embedded"] == 0
    assert run.found["candidate_index"]["reused"] is False
    assert (folder / "vectors.npy").read_bytes() == good


@pytest.mark.parametrize(
    "name", ["inputs.kept", "chunked.kept", "token_counts.bin", "build_contents.kept", "known_item_probes.kept"]
)
def test_what_is_kept_and_damaged_is_found_out_again(site: tuple[Settings, Path, CollectionPaths], name: str) -> None:
    settings, _, paths = site
    before = read_current(paths)
    damage(paths.staging / name)
    run = Run(settings)
    assert run.success
    assert all(check.passed for check in run.checks.values())
    assert (run.found["published_release"]["changed"], read_current(paths)) == (False, before)
    again = Run(settings)
    assert again.kept == KEPT


def test_another_size_of_chunks_makes_chunks_build_and_measurements_anew(
    site: tuple[Settings, Path, CollectionPaths],
) -> None:
    settings, source, _ = site
    run = Run(site_settings(settings.home, source, chunking={"child_tokens": 40}))
    assert run.found["documents"]["not_parsed_again"] == run.found["documents"]["documents"]
    assert (run.found["chunks"]["reused"], run.found["chunks"]["documents_not_chunked_again"]) == (False, 0)
    assert run.found["candidate_index"]["reused"] is False
    assert run.found["latency"]["measured"] == "made in this run"
    # Each file is as it was, so what was read of it holds; the new build was compared in this very run.
    assert run.kept <= {"ledger_reconciles", "build_verifies", "served_release_is_sound"}


def test_floors_that_were_raised_refuse_the_next_release(site: tuple[Settings, Path, CollectionPaths]) -> None:
    settings, _, paths = site
    before = read_current(paths)
    changed = paths.root.parent.parent / "changed"
    write_site(changed)
    (changed / "more.md").write_text("# More\n\nA page about lanterns that hang above the door of the vault host.\n")
    refused = Run(site_settings(settings.home, changed, gate={"floors": {"recall_at_5": 1.1}}))
    assert refused.found["gate_verdict"]["decision"] == "refuse"
    assert read_current(paths) == before
    # The build and what was measured of it stand, the verdict is a new one.
    allowed = Run(site_settings(settings.home, changed))
    assert allowed.success
    assert allowed.found["candidate_index"]["reused"] is True
    assert read_current(paths) != before


def test_an_edited_eval_set_is_asked_at_once(site: tuple[Settings, Path, CollectionPaths], tmp_path: Path) -> None:
    settings, source, _ = site
    labels = tmp_path / "labels"
    write_labels(labels, "How often are signing keys rotated?")
    own = site_settings(settings.home, source, eval_set=str(labels))
    first, second = Run(own), Run(own)
    write_labels(labels, "How often must signing keys be rotated?")
    edited = Run(own)
    hashes = [run.found["retrieval_quality"]["eval_set_hash"] for run in (first, second, edited)]
    assert hashes[0] == hashes[1] != hashes[2]
    measured = [run.found["latency"]["measured"] for run in (first, second, edited)]
    assert [at == "made in this run" for at in measured] == [True, False, True]


def test_other_pinned_queries_are_asked(site: tuple[Settings, Path, CollectionPaths]) -> None:
    settings, source, _ = site
    pinned = [{"query": "rotate keys", "expect": "hardware module that nobody wrote of"}]
    run = Run(site_settings(settings.home, source, pinned=pinned))
    assert not run.success
    assert not run.checks["pinned_queries"].passed


def write_labels(folder: Path, question: str) -> None:
    folder.mkdir(exist_ok=True)
    query = {"id": "q1", "text": question}
    label = {"query_id": "q1", "document": "keys/rotation.md", "quote": "rotated every 90 days", "grade": 3}
    (folder / "queries.jsonl").write_text(json.dumps(query) + "\n", "utf-8")
    (folder / "judgements.jsonl").write_text(json.dumps(label) + "\n", "utf-8")


def damage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)

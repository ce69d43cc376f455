"""A run killed at any moment leaves what is served as it was, and the next run makes what one from nothing makes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rag_pipeline.defs.launch import reindex
from rag_pipeline.errors import BuildBusy, ReleaseRefused
from rag_pipeline.index.files import DATABASE
from rag_pipeline.index.manifest import read_manifest
from rag_pipeline.paths import Home
from rag_pipeline.release.lock import build_lock
from rag_pipeline.retrieval.retrieve import retrieve
from rag_pipeline_tests.sites import COLLECTION, data_directory, site_settings, write_site

pytestmark = pytest.mark.model

MOMENTS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Shares of a whole run's time; the first third is spent on imports."""


def start(source: Path, home: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "rag_pipeline", "reindex", "--source", str(source), "-c", COLLECTION]
    return subprocess.Popen(
        [*command, "--home", str(home), "--json"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=source.parent,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


def add_page(source: Path, number: int) -> None:
    text = " ".join(f"Paragraph {i} of page {number} tells about valve {number * 100 + i}." for i in range(60))
    (source / f"page{number}.md").write_text(f"# Page {number}\n\n{text}\n", "utf-8")


def build_hashes(home: Path, key: str) -> dict[str, str]:
    """Of all files of a build but the database, whose blocks DuckDB's threads take in any order."""
    files = read_manifest(Home(home).collection(COLLECTION).build(key)).files
    return {name: entry.sha256 for name, entry in files.items() if name != DATABASE}


def test_killing_a_run_never_changes_what_is_served(tmp_path: Path, exported_models: Path) -> None:
    source = write_site(tmp_path / "site")
    home = data_directory(tmp_path / "home", exported_models)
    began = time.monotonic()
    assert start(source, home).wait() == 0
    whole = time.monotonic() - began
    served = retrieve("rotate keys", collection=COLLECTION, home=home).release_id
    for number, moment in enumerate(MOMENTS):
        add_page(source, number)
        with (source / "keys" / "storage.md").open("a") as file:
            file.write(f"\nKey {number} was replaced.\n")
        process = start(source, home)
        time.sleep(whole * moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        answer = retrieve("rotate keys", collection=COLLECTION, home=home)
        assert answer.hits
        if answer.release_id != served:
            # It had got as far as publishing: then what it published is whole.
            served = answer.release_id
            found = retrieve(f"valve {number * 100 + 7}", collection=COLLECTION, home=home, strategy="bm25")
            assert found.hits[0].doc_id == f"page{number}.md"
    report = reindex(site_settings(home, source), COLLECTION)
    last = len(MOMENTS) - 1
    time.sleep(1.1)  # readers of this process look at CURRENT once a second
    found = retrieve(f"valve {last * 100 + 7}", collection=COLLECTION, home=home, strategy="bm25")
    assert (found.release_id, found.hits[0].doc_id) == (report.release, f"page{last}.md")
    assert not list((home / COLLECTION / "builds").glob(".tmp-*"))
    fresh = data_directory(tmp_path / "fresh", exported_models)
    assert reindex(site_settings(fresh, source), COLLECTION).build_key == report.build_key
    assert build_hashes(home, report.build_key) == build_hashes(fresh, report.build_key)


def test_the_second_of_two_builds_waits_or_is_refused(tmp_path: Path, exported_models: Path) -> None:
    source = write_site(tmp_path / "site")
    home = data_directory(tmp_path / "home", exported_models)
    paths = Home(home).collection(COLLECTION)
    with build_lock(paths, wait_seconds=0):
        waiting = start(source, home)
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(6)
        assert not paths.current.exists()
    assert waiting.wait() == 0
    assert paths.current.exists()
    other = subprocess.Popen([sys.executable, "-c", HOLD.format(root=str(paths.root))], stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(BuildBusy, match=str(other.pid)), build_lock(paths, wait_seconds=0):
            pass
    finally:
        other.kill()
        other.wait()
        other.stdout.close()
    with build_lock(paths, wait_seconds=5):
        pass


HOLD = """
import sys, time
from pathlib import Path
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.lock import build_lock
with build_lock(CollectionPaths(Path({root!r})), wait_seconds=5):
    print("held", flush=True)
    time.sleep(600)
"""


def test_two_runs_over_different_sources_never_mix(tmp_path: Path, exported_models: Path) -> None:
    """Steps hand over through pointers on disk; without a lock on the whole run one could publish the other's work."""
    home = data_directory(tmp_path / "home", exported_models)
    sources = [tmp_path / "a" / "site", tmp_path / "b" / "site"]
    for number, source in enumerate(sources):
        write_site(source)
        add_page(source, number)
    running = []
    for source in sources:
        running.append(start(source, home))
        time.sleep(0.4)
    outcomes = [process.wait() for process in running]
    assert 0 in outcomes
    assert set(outcomes) <= {0, ReleaseRefused.exit_code}
    pages = {
        hit.doc_id for hit in retrieve("valve 7 107", collection=COLLECTION, home=home, strategy="bm25", top_k=20).hits
    }
    assert len(pages & {"page0.md", "page1.md"}) == 1

"""Releases of real, small builds, and readers in other processes while they are replaced and collected."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_pipeline.errors import ReleaseRefused
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.create import create_release
from rag_pipeline.release.listing import list_releases
from rag_pipeline.release.publish import publish
from rag_pipeline.release.reproduce import reproduce
from rag_pipeline.release.retain import gc
from rag_pipeline.release.rollback import RolledBack, rollback
from rag_pipeline.release.structural import structural_checks
from rag_pipeline.release.verify import failures, verify_release
from rag_pipeline.schema import Release
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.release.standin import OWN, damage, settings, store_structural_verdict
from rag_pipeline_tests.stages import build, describe, document

EDITIONS = ("one", "two", "three")

BUSY_READER = """
import json, sys
from pathlib import Path
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.reader import open_current
paths, stop = CollectionPaths(Path(sys.argv[1])), Path(sys.argv[2])
seen, wrong, calls = [], [], 0
print("ready", flush=True)
last = False
while not last:
    last = stop.exists()  # one more call after it: that one must see the last release
    opened = open_current(paths)
    found = opened.index.fetch([0])[0].content
    if opened.index.manifest.build_key != opened.release.build_key:
        wrong.append(opened.release.release_id)
    if not seen or seen[-1] != [opened.release.release_id, found]:
        seen.append([opened.release.release_id, found])
    calls += 1
print(json.dumps({"seen": seen, "wrong": wrong, "calls": calls}), flush=True)
"""

SLOW_READER = """
import sys
from pathlib import Path
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.retrieval.reader import open_current
from rag_pipeline_tests.fakes import WordEmbedder
opened = open_current(CollectionPaths(Path(sys.argv[1])))
print(opened.release.release_id, flush=True)
sys.stdin.readline()
row = opened.index.nearest(WordEmbedder().embed(["edition"])[0], limit=1)[0]
print(opened.index.fetch([row])[0].content, flush=True)
"""


def release_of(paths: CollectionPaths, edition: str) -> Release:
    """A candidate whose one chunk says which edition it is."""
    made = build(
        paths.root.parent / "work", [document("a.md", f"edition {edition}")], name=edition, builds=paths.builds
    )
    return create_release(
        paths, collection="wiki", build_key=made.key, embedder=describe(WordEmbedder()), settings=settings()
    )


def judge_and_publish(paths: CollectionPaths, release: Release) -> str:
    store_structural_verdict(paths, release.release_id, structural_checks(paths, release.release_id, OWN))
    return publish(paths, release.release_id).current


def start(code: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture
def stop(tmp_path: Path) -> Iterator[Path]:
    """Readers end when this file appears, also when the test failed."""
    file = tmp_path / "stop"
    yield file
    file.touch()


def test_readers_in_other_processes_while_builds_are_made_replaced_and_collected(
    paths: CollectionPaths, stop: Path
) -> None:
    """New calls see the new release, running ones finish on theirs, and neither side ever meets a lock or a gap."""
    first = release_of(paths, "one")
    judge_and_publish(paths, first)
    with start(SLOW_READER, paths.root) as slow, start(BUSY_READER, paths.root, stop) as busy:
        assert line(slow) == first.release_id
        assert line(busy) == "ready"
        published = [first.release_id]
        for edition in EDITIONS[1:]:
            published.append(judge_and_publish(paths, release_of(paths, edition)))
            gc(paths, keep=1)
        assert paths.build(first.build_key).is_dir()
        assert slow.stdin is not None
        slow.stdin.write("go\n")
        slow.stdin.flush()
        assert line(slow) == "edition one"
        assert slow.wait(30) == 0
        stop.touch()
        report = json.loads(line(busy))
        assert busy.wait(30) == 0
    assert report["wrong"] == []
    assert report["calls"] > 10
    editions = [[name, f"edition {edition}"] for name, edition in zip(published, EDITIONS, strict=True)]
    assert [seen for seen in editions if seen in report["seen"]] == report["seen"]  # in order, and nothing else
    assert report["seen"][-1] == editions[-1]
    gc(paths, keep=1)
    assert [p.name for p in paths.builds.iterdir() if p.is_dir()] == [list_releases(paths)[0].build_key]


def test_a_damaged_candidate_is_refused_and_a_damaged_release_fallen_back_from(paths: CollectionPaths) -> None:
    """One flipped byte after a clean build: found by the full scan before it is served, or before going back to it."""
    releases = [release_of(paths, edition) for edition in EDITIONS]
    for release in releases:
        judge_and_publish(paths, release)
    candidate = release_of(paths, "four")
    damage(paths, candidate.build_key)
    with pytest.raises(ReleaseRefused, match=r"refuses it: build_verifies: .*index\.duckdb"):
        judge_and_publish(paths, candidate)
    damage(paths, releases[1].build_key)
    assert rollback(paths) == RolledBack(
        releases[2].release_id, releases[0].release_id, skipped=(releases[1].release_id,)
    )
    assert failures(verify_release(paths)) == ""
    assert reproduce(paths).same
    assert not reproduce(paths, releases[1].release_id).same
    (paths.build(releases[2].build_key) / "vectors.npy").unlink()
    assert {row.release_id: row.state for row in list_releases(paths)} == {
        releases[0].release_id: "good",
        releases[1].release_id: "good",  # a quick look does not read every byte
        releases[2].release_id: "corrupt",
        candidate.release_id: "good",
    }

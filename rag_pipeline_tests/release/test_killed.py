import json
import subprocess
import sys
from pathlib import Path

import pytest

from rag_pipeline.paths import CollectionPaths
from rag_pipeline_tests.release.standin import judge, make_release, publish_new


@pytest.mark.parametrize(
    ("operation", "at_least"), [("publish", 8), ("rollback", 8), ("gc", 30), ("create", 12), ("pin", 6)]
)
def test_killed_before_any_change_on_disk(
    paths: CollectionPaths, tmp_path: Path, operation: str, at_least: int
) -> None:
    """A process killed anywhere leaves CURRENT at a whole release, the old or the new, and no release without its
    build; the next run ends where the killed one would have."""
    for snapshot in ("s1", "s2", "s3"):
        publish_new(paths, snapshot)
    candidate = make_release(paths, "s4")
    judge(paths, candidate)
    command = [sys.executable, "-m", "rag_pipeline_tests.release.killpoints"]
    done = subprocess.run(
        [*command, str(paths.root), str(tmp_path / "scratch"), operation, candidate.release_id],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["wrong"] == []
    assert report["kills"] >= at_least

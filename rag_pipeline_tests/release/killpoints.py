"""Run one operation again and again in forked processes, each killed at a later change on disk than the one before.

Run as `python -m rag_pipeline_tests.release.killpoints <template folder> <scratch folder> <operation> <id>`; prints one
JSON object: how often it was killed, and what was wrong afterwards.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.history import read_history
from rag_pipeline.release.pointer import pin_champion
from rag_pipeline.release.publish import publish
from rag_pipeline.release.retain import gc
from rag_pipeline.release.rollback import rollback
from rag_pipeline.release.stored import release_ids
from rag_pipeline.release.verify import failures, verify_release
from rag_pipeline.retrieval.release_file import read_current
from rag_pipeline_tests.release.standin import make_release, verify

CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_DIRECTORY
"""Opening for writing, and opening a folder to flush it: the moment right after a rename. A kill before a mere read
leaves what a kill before the next change does."""

OPERATIONS: dict[str, Callable[[CollectionPaths, str], object]] = {
    "publish": lambda paths, name: publish(paths, name, verify=verify),
    "rollback": lambda paths, name: rollback(paths, verify=verify),
    "gc": lambda paths, name: gc(paths, keep=1, stale_seconds=0, verify=verify),
    "create": lambda paths, name: make_release(paths, "s1", weight=0.9),
    "pin": lambda paths, name: pin_champion(paths, name),
}


def run_killed(operation: Callable[[], object], kill_at: int) -> bool:
    """Whether a child that runs it was killed before its `kill_at`-th change, counted from 0."""
    child = os.fork()
    if child == 0:
        seen = -1

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal seen
            if event in CHANGES or (event == "open" and int(str(arguments[2])) & WRITING):
                seen += 1
                if seen == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        operation()
        os._exit(0)
    _, code = os.waitpid(child, 0)
    if os.WIFSIGNALED(code):
        return True
    assert os.WEXITSTATUS(code) == 0, f"the operation failed with {code}"
    return False


def faults(paths: CollectionPaths, allowed: set[str]) -> list[str]:
    """What a reader or the next run would stumble over."""
    found = []
    current = read_current(paths)
    if current not in allowed:
        found.append(f"CURRENT names {current}")
    for release_id in release_ids(paths):
        if failed := failures(verify_release(paths, release_id, verify=verify)):
            found.append(f"release {release_id}: {failed}")
    return found


def main(template: Path, scratch: Path, name: str, release_id: str) -> dict[str, object]:
    os.fsync = lambda _: None
    before = read_current(CollectionPaths(template))
    done = CollectionPaths(scratch / "done" / "wiki")
    shutil.copytree(template, done.root)
    OPERATIONS[name](done, release_id)
    after = read_current(done)
    wrong: list[str] = []
    kills, killed = 0, True
    while killed:
        paths = CollectionPaths(scratch / str(kills) / "wiki")
        shutil.copytree(template, paths.root)
        killed = run_killed(lambda paths=paths: OPERATIONS[name](paths, release_id), kills)  # type: ignore[misc]
        wrong += [f"{kills}: {fault}" for fault in faults(paths, {str(before), str(after)})]
        if read_current(paths) == before or name in ("gc", "create", "pin"):
            OPERATIONS[name](paths, release_id)  # and the same can be done again
        else:
            gc(paths, keep=9, verify=verify)  # any next step writes the line that the kill prevented
        if read_current(paths) != after or read_history(paths)[-1].release_id != after:
            wrong.append(f"{kills}: ended at {read_current(paths)}, history at {read_history(paths)[-1]}")
        if set(release_ids(paths)) != set(release_ids(done)):
            wrong.append(f"{kills}: other releases are left than without the kill")
        if name == "gc" and {p.name for p in paths.builds.iterdir()} != {p.name for p in done.builds.iterdir()}:
            wrong.append(f"{kills}: other builds are left than without the kill")
        shutil.rmtree(paths.root.parent)
        kills += killed
    return {"kills": kills, "wrong": wrong}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4])))

import signal
import subprocess
import sys
import threading
import time

import pytest

from rag_pipeline.errors import BuildBusy
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.lock import build_lock, publish_lock

HOLDER = """
import sys, time
from pathlib import Path
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.lock import build_lock
with build_lock(CollectionPaths(Path(sys.argv[1])), wait_seconds=0):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def holder(paths: CollectionPaths, seconds: float) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(paths.root), str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_of_two_is_refused_naming_the_first_and_a_kill_frees_it(paths: CollectionPaths) -> None:
    with holder(paths, 60) as process:
        message = rf"wiki: process {process.pid} on .* is building"
        with pytest.raises(BuildBusy, match=message), build_lock(paths, wait_seconds=0):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        with build_lock(paths, wait_seconds=0):
            pass


def test_the_second_of_two_waits(paths: CollectionPaths) -> None:
    with holder(paths, 0.3) as process, build_lock(paths, wait_seconds=None):
        assert process.wait(5) == 0


def test_waiting_ends(paths: CollectionPaths) -> None:
    with holder(paths, 60) as process:
        started = time.monotonic()
        with pytest.raises(BuildBusy, match=r"waited 0\.2 s"), build_lock(paths, wait_seconds=0.2):
            pass
        assert 0.2 <= time.monotonic() - started < 2
        process.kill()


def test_a_thread_may_take_it_again_but_no_other(paths: CollectionPaths) -> None:
    refused = []

    def other() -> None:
        try:
            with build_lock(paths, wait_seconds=0):
                pass
        except BuildBusy:
            refused.append(True)

    with build_lock(paths, wait_seconds=0):
        with build_lock(paths, wait_seconds=0):
            pass
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert refused == [True]
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert refused == [True]


def test_an_error_inside_frees_it_and_an_unsigned_lock_has_a_name_too(paths: CollectionPaths) -> None:
    with pytest.raises(RuntimeError), build_lock(paths, wait_seconds=0):
        raise RuntimeError
    with holder(paths, 60) as process:
        paths.build_lock.write_bytes(b"{")
        with pytest.raises(BuildBusy, match="another process is building"), build_lock(paths, wait_seconds=0):
            pass
        process.kill()


def test_building_does_not_keep_from_publishing(paths: CollectionPaths) -> None:
    with build_lock(paths, wait_seconds=0), publish_lock(paths, wait_seconds=0):
        pass

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rag_pipeline.index.lease import hold, hold_exclusive, is_held, try_exclusive

HOLDER = """
import sys, time
from pathlib import Path
from rag_pipeline.index.lease import hold
lease = hold(Path(sys.argv[1]))
print(lease.held, flush=True)
time.sleep(60)
"""


def test_held_until_the_last_reader_closes(tmp_path: Path) -> None:
    path = tmp_path / "leases" / "b.lock"
    assert not is_held(path)
    assert not path.exists()
    first, second = hold(path), hold(path)
    assert first.held and is_held(path)
    first.close()
    first.close()
    assert not first.held and is_held(path)
    second.close()
    assert not is_held(path)


def test_with_block(tmp_path: Path) -> None:
    with hold(tmp_path / "b.lock"):
        assert is_held(tmp_path / "b.lock")
    assert not is_held(tmp_path / "b.lock")


def test_another_process_holds_it_and_a_kill_frees_it(tmp_path: Path) -> None:
    path = tmp_path / "b.lock"
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        assert is_held(path)
        assert try_exclusive(path) is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not is_held(path)


def test_a_reader_that_waited_while_the_file_was_removed_holds_the_new_file(tmp_path: Path) -> None:
    """A lock on an unlinked file protects nothing: the next gc would see a fresh file that nobody holds."""
    path = tmp_path / "b.lock"
    started = threading.Event()
    leases = []

    def read() -> None:
        started.set()
        leases.append(hold(path))

    with hold_exclusive(path):
        reader = threading.Thread(target=read)
        reader.start()
        started.wait()
        reader.join(0.05)
        assert reader.is_alive()  # waits for the exclusive lock
        path.unlink()
    reader.join(5)
    assert is_held(path)
    leases[0].close()


def test_exclusive_is_refused_while_held(tmp_path: Path) -> None:
    path = tmp_path / "new" / "b.lock"
    with hold(path):
        assert try_exclusive(path) is None
    lease = try_exclusive(path)
    assert lease is not None
    assert is_held(path)
    lease.close()


@pytest.mark.parametrize("code", [30, 13])
def test_read_only_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """A container that mounts the data read-only must still be able to serve."""
    path = tmp_path / "b.lock"
    real = os.open

    def read_only(name: Path, flags: int, *rest: int) -> int:
        if flags & (os.O_CREAT | os.O_RDWR) and (flags & os.O_CREAT or Path(name).exists()):
            raise OSError(code, os.strerror(code))
        return real(name, flags, *rest)

    monkeypatch.setattr(os, "open", read_only)
    assert not hold(path).held
    path.write_bytes(b"")
    with hold(path) as lease:
        assert lease.held


def test_other_errors_rise(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        hold(tmp_path / "file" / "b.lock")

import hashlib
import os
from pathlib import Path

import pytest

from rag_pipeline import file_identity as module
from rag_pipeline.file_identity import RACY_SECONDS, content_hash, identity, is_settled

SECOND = 10**9


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_only_a_file_left_alone_for_a_while_is_settled() -> None:
    now = 1_000 * SECOND
    racy = int(RACY_SECONDS * SECOND)
    assert is_settled((1, 1, 1, now - racy - 1, now - racy - 1), now_ns=now)
    assert not is_settled((1, 1, 1, now - racy, now - racy - 1), now_ns=now)
    assert not is_settled((1, 1, 1, 0, now - 1), now_ns=now), "a file whose time was set back was still touched now"
    assert not is_settled((1, 1, 1, now + SECOND, 0), now_ns=now)


def test_a_change_that_keeps_size_and_time_is_another_identity(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"before")
    first, status = identity(file), file.stat()
    file.write_bytes(b"behind")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert identity(file) != first, "the inode's own time can't be set"


def test_a_settled_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"before")
    monkeypatch.setattr(module, "RACY_SECONDS", -3600.0)  # every file counts as settled
    assert content_hash(file) == sha256(b"before")
    assert (file.absolute(), identity(file)) in module._known
    with monkeypatch.context() as patch:
        patch.setattr(module.hashlib, "file_digest", None)  # reading would fail
        assert content_hash(file) == sha256(b"before")
    file.write_bytes(b"longer than before")
    assert content_hash(file) == sha256(b"longer than before")


def test_a_fresh_file_is_read_every_time(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"before")
    assert content_hash(file) == sha256(b"before")
    assert not [known for known in module._known if known[0] == file.absolute()]


def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RACY_SECONDS", -3600.0)
    monkeypatch.setattr(module, "_MOST", 3)
    for n in range(9):
        (tmp_path / str(n)).write_bytes(bytes([n]))
        assert content_hash(tmp_path / str(n)) == sha256(bytes([n]))
        assert len(module._known) <= 3

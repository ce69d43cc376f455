import os
from pathlib import Path

import pytest

from rag_pipeline.durable import (
    append_line,
    append_private,
    atomic_write,
    fsync_file,
    fsync_folder,
    write_json,
    write_private,
    write_text,
)


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_atomic_write_replaces_and_leaves_nothing_beside(tmp_path: Path) -> None:
    write_text(tmp_path / "f", "one é")
    atomic_write(tmp_path / "f", b"two")
    assert (tmp_path / "f").read_bytes() == b"two"
    write_text(tmp_path / "f", "é\n")
    assert (tmp_path / "f").read_bytes() == b"\xc3\xa9\n"
    assert names(tmp_path) == ["f"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    write_text(tmp_path / "f", "old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    if call == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_text(tmp_path / "f", "new")
    assert (tmp_path / "f").read_text() == "old"
    assert names(tmp_path) == ["f"]


def test_file_and_folder_are_flushed_in_that_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda fd: flushed.append(str(Path(f"/proc/self/fd/{fd}").readlink())))
    write_text(tmp_path / "f", "x")
    assert Path(flushed[0]).name.startswith(".tmp-f-")
    assert flushed[1:] == [str(tmp_path)]


def test_json_is_sorted_and_refuses_nan(tmp_path: Path) -> None:
    write_json(tmp_path / "j", {"b": "é", "a": [1, 2.5]})
    assert (tmp_path / "j").read_text("utf-8") == '{\n  "a": [\n    1,\n    2.5\n  ],\n  "b": "é"\n}\n'
    with pytest.raises(ValueError, match="Out of range"):
        write_json(tmp_path / "j", {"a": float("nan")})
    assert '"b"' in (tmp_path / "j").read_text("utf-8")


def test_append_closes_a_half_line(tmp_path: Path) -> None:
    file = tmp_path / "log"
    append_line(file, "one")
    with file.open("ab") as f:
        f.write(b'{"half')
    append_line(file, "two")
    append_line(file, "three")
    assert file.read_text() == 'one\n{"half\ntwo\nthree\n'


def test_fsync_of_missing_things_raises(tmp_path: Path) -> None:
    fsync_folder(tmp_path)
    with pytest.raises(FileNotFoundError):
        fsync_file(tmp_path / "none")
    (tmp_path / "f").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        fsync_folder(tmp_path / "f")


def test_private_text_is_for_its_owner_alone(tmp_path: Path) -> None:
    write_private(tmp_path / "report.html", "x")
    assert (tmp_path / "report.html").read_text() == "x"
    assert (tmp_path / "report.html").stat().st_mode & 0o777 == 0o600


def test_private_lines_are_for_their_owner_alone_from_the_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, seen = tmp_path / "lines", []
    monkeypatch.setattr(os, "fchmod", lambda fd, mode: seen.append((os.fstat(fd).st_mode & 0o777, mode)))
    before = os.umask(0)
    try:
        append_private(file, "one é")
    finally:
        os.umask(before)
    assert seen == [(0o600, 0o600)]  # made so, not closed afterwards
    monkeypatch.undo()
    file.chmod(0o644)  # as an earlier version made it
    with file.open("ab") as f:
        f.write(b"half")
    append_private(file, "two")
    assert file.read_text("utf-8") == "one é\nhalf\ntwo\n"
    assert file.stat().st_mode & 0o777 == 0o600

"""Writing small files and folders so that a crash leaves the old state or the new one, never a mixture.

Lives here: atomic replacement of one small file, and flushing files and folders to disk. What the files mean, and
large data, belong to the callers.
"""

import json
import os
import secrets
from pathlib import Path
from typing import BinaryIO

TEMPORARY = ".tmp-"
"""Prefix of names that are not finished; whoever lists a folder skips them, and gc removes old ones."""


def temporary_name(path: Path) -> Path:
    """A free sibling of `path`, on the same file system, so that a rename is atomic."""
    return path.with_name(f"{TEMPORARY}{path.name}-{os.getpid()}-{secrets.token_hex(4)}")


def atomic_write(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Replace `path` by a file holding `data`; durable when this returns. `mode` before the process's mask.

    Readers see the old content or the new. Raises OSError, and then `path` is as it was.
    """
    partial = temporary_name(path)
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    fsync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """`text` as UTF-8, exactly as given, written atomically."""
    atomic_write(path, text.encode("utf-8"))


def write_private(path: Path, text: str) -> None:
    """The same, readable by its owner alone: for what quotes documents that not everybody may read."""
    atomic_write(path, text.encode("utf-8"), mode=0o600)


def write_json(path: Path, value: object) -> None:
    """`value` as indented JSON with sorted keys, written atomically. Raises ValueError on NaN and infinity."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def append_line(path: Path, line: str) -> None:
    """Add one line at the end, durable when this returns; a half line left by an earlier crash is closed first."""
    with path.open("ab") as file:
        _append(file, path, line)
    fsync_folder(path.parent)


def append_private(path: Path, line: str) -> None:
    """The same, in a file that its owner alone can read: one that others could read is closed to them first.

    Raises OSError, PermissionError where another user owns the file.
    """
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), "ab") as file:
        os.fchmod(file.fileno(), 0o600)  # a file that was there has the mode it was made with
        _append(file, path, line)
    fsync_folder(path.parent)


def fsync_file(path: Path) -> None:
    """Flush a file that another library wrote."""
    _fsync(path, os.O_RDONLY)


def fsync_folder(folder: Path) -> None:
    """Flush a folder's entries: needed after a rename, a create or a delete in it."""
    _fsync(folder, os.O_RDONLY | os.O_DIRECTORY)


def _fsync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _append(file: BinaryIO, path: Path, line: str) -> None:
    if file.tell() and _last_byte(path) != b"\n":
        file.write(b"\n")
    file.write(line.encode("utf-8") + b"\n")
    file.flush()
    os.fsync(file.fileno())


def _last_byte(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1)

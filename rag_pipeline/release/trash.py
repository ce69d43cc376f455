"""Removing folders so that a kill leaves each one whole or gone: rename first, delete later.

What may be removed is decided by `retain`.
"""

import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from secrets import token_hex

from rag_pipeline.durable import TEMPORARY, fsync_folder
from rag_pipeline.index.lease import is_held, try_exclusive
from rag_pipeline.release.sizes import size_of

TRASH = ".trash-"
CORRUPT = ".corrupt-"
"""Prefix of a damaged folder that was set aside."""


class Trash:
    """`put` takes things out of reach one by one; `empty` deletes them."""

    def __init__(self, *, dry_run: bool) -> None:
        self.dry_run = dry_run
        self.bytes = 0
        self._inside: list[Path] = []

    def put(self, path: Path, *, lease: Path | None = None) -> bool:
        """Whether it was taken; False where a reader holds its `lease`, whose file goes along."""
        if self.dry_run:
            if lease is not None and is_held(lease):
                return False
            self.bytes += size_of(path)
            return True
        if lease is None:
            self._rename(path)
            return True
        if (exclusive := try_exclusive(lease)) is None:
            return False
        with exclusive:
            self._rename(path)
            lease.unlink(missing_ok=True)
        return True

    def put_lock_files(self, builds: Path) -> None:
        """The builders' lock files of builds that are gone, unless somebody is building one again."""
        for lock in () if self.dry_run else sorted(builds.glob(".*.lock")):
            if lock.name.startswith(TEMPORARY) or (builds / lock.stem.removeprefix(".")).exists():
                continue
            if (exclusive := try_exclusive(lock)) is not None:
                with exclusive:
                    lock.unlink(missing_ok=True)

    def empty(self) -> None:
        for path in self._inside:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        self._inside.clear()

    def _rename(self, path: Path) -> None:
        self.bytes += size_of(path)
        target = path
        if not path.name.startswith(TRASH):
            target = path.rename(path.with_name(f"{TRASH}{path.name.lstrip('.')}-{token_hex(4)}"))
            fsync_folder(path.parent)
        self._inside.append(target)


def leftovers(folders: Iterable[Path], *, stale_seconds: float) -> list[Path]:
    """What earlier runs left: everything half removed, and what is unfinished or damaged and was not touched since."""
    found = []
    for folder in folders:
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            unfinished = path.name.startswith((TEMPORARY, CORRUPT)) and not _in_work(path)
            if path.name.startswith(TRASH) or (unfinished and _seconds_untouched(path) >= stale_seconds):
                found.append(path)
    return found


def _in_work(path: Path) -> bool:
    """Whether a builder holds the lock of this temporary folder; `path` may be the folder or the lock file."""
    return is_held(path if path.suffix == ".lock" else path.with_name(path.name + ".lock"))


def _seconds_untouched(path: Path) -> float:
    """Since it, or anything in it, was last written to; 0 where something vanishes meanwhile: somebody is at it."""
    try:
        inside = path.rglob("*") if path.is_dir() and not path.is_symlink() else ()
        newest: float = max(p.lstat().st_mtime for p in (path, *inside))
    except FileNotFoundError:
        return 0.0
    return time.time() - newest

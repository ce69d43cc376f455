"""Source folders: what lies in a local folder or behind an fsspec URL, in one order, and how to open it.

Lives here: walking, links and hidden names. Which of the files are wanted is decided in scan.py. A link is followed
only to a file inside the source; a linked folder is reported and not entered, because its files are read where they
really are, and so no loop can form and nothing outside is ever read.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

import fsspec
from fsspec.implementations.local import LocalFileSystem

from rag_pipeline.errors import InvalidSource

_STAMPS = ("ETag", "etag", "LastModified", "mtime", "created")
Prune = Callable[[str], str]
"""Why the folder of a path (with a slash at the end) is not to be entered, or ""."""


@dataclass(frozen=True, slots=True)
class Found:
    """One name in a folder; a folder's path ends with a slash."""

    path: str
    """Relative to the source, POSIX; bytes that are no UTF-8 are surrogates, as `os.fsdecode` makes them."""
    kind: str = "file"
    """"file", or why it can't be read: "hidden", "outside", "dangling_link", "link_loop", "linked_folder",
    "not_a_file", "unreadable", or the reason that `prune` gave."""
    size: int | None = None
    stamp: str = ""
    """Changes when the file does, as far as its folder knows: modification time or entity tag."""
    detail: str = ""


class Folder(Protocol):
    def walk(self, prune: Prune) -> Iterator[Found]:
        """Everything below, in any order; a folder that `prune` has a reason against is one name with that kind."""
        ...

    def open(self, path: str) -> BinaryIO:
        """Raises OSError."""
        ...

    def location(self, path: str) -> str:
        """A path or URL that a person can open."""
        ...


def open_folder(path: str) -> Folder:
    """The folder a source names. Raises InvalidSource where it is missing, not a folder, or can't be reached."""
    if not path.strip():
        raise InvalidSource("a source has an empty path; name a folder in the collection's `sources`")
    if "://" not in path and "::" not in path:
        return _local(Path(path).expanduser(), path)
    try:
        files, root = fsspec.core.url_to_fs(path)
        if isinstance(files, LocalFileSystem):
            return _local(Path(root), path)
        if files.isfile(root):
            raise InvalidSource(f"source {path!r} is a file, not a folder; name the folder that holds it")
        if not files.isdir(root):
            raise InvalidSource(f"source {path!r} does not exist; check the URL in the collection's `sources`")
    except (ImportError, ValueError) as error:
        raise InvalidSource(
            f"source {path!r} can't be opened: {error}; check the URL or install its package"
        ) from error
    except OSError as error:
        raise InvalidSource(f"source {path!r} can't be read: {error}; check access and network") from error
    return RemoteFolder(files, root)


def _local(root: Path, path: str) -> "LocalFolder":
    if root.is_dir():
        return LocalFolder(root.absolute())
    if root.exists():
        raise InvalidSource(f"source {path!r} is a file, not a folder; name the folder that holds it")
    where = root.absolute()
    raise InvalidSource(f"source {path!r} does not exist ({where}); create it or correct the collection's `sources`")


class LocalFolder:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._real = os.path.realpath(root)

    def walk(self, prune: Prune) -> Iterator[Found]:
        pending = [""]
        while pending:
            folder = pending.pop()
            try:
                with os.scandir(self._root / folder) as entries:
                    names = sorted(entries, key=lambda e: e.name)
            except OSError as error:
                if not folder:
                    message = f"source {str(self._root)!r} can't be read: {error.strerror}; check its permissions"
                    raise InvalidSource(message) from error
                yield Found(folder, "unreadable", detail=error.strerror or str(error))
                continue
            for entry in names:
                path = folder + entry.name
                if entry.name.startswith("."):
                    yield Found(path + ("/" if entry.is_dir(follow_symlinks=False) else ""), "hidden")
                elif entry.is_symlink():
                    yield self._link(path)
                elif entry.is_dir():
                    if kind := prune(path + "/"):
                        yield Found(path + "/", kind)
                    else:
                        pending.append(path + "/")
                else:
                    yield self._file(path)

    def open(self, path: str) -> BinaryIO:
        # Looked at again: what was a file when the folder was walked may be a link out of the source by now.
        real = os.path.realpath(self._root / path, strict=True)
        if not self._holds(real):
            raise OSError(errno.EPERM, "leads out of the source", path)
        return cast(BinaryIO, os.fdopen(os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb"))

    def location(self, path: str) -> str:
        return str(self._root / path)

    def _holds(self, real: str) -> bool:
        return real == self._real or real.startswith(self._real.rstrip(os.sep) + os.sep)

    def _link(self, path: str) -> Found:
        full = self._root / path
        try:
            real = os.path.realpath(full, strict=True)
        except OSError as error:
            if error.errno == errno.ELOOP:
                return Found(path, "link_loop", detail="links to itself")
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return Found(path, "dangling_link", detail=f"links to {str(full.readlink())!r}, which does not exist")
            return Found(path, "unreadable", detail=error.strerror or str(error))
        if not self._holds(real):
            return Found(path, "outside", detail="links out of the source; links are followed only inside it")
        if not Path(real).is_dir():
            return self._file(path)
        target = os.path.relpath(real, self._real)
        if (os.path.realpath(full.parent) + os.sep).startswith(real + os.sep):
            return Found(path, "link_loop", detail=f"links to a folder that it lies in, {target!r}")
        return Found(path, "linked_folder", detail=f"its files are read as {target!r}")

    def _file(self, path: str) -> Found:
        try:
            status = (self._root / path).stat()
        except OSError as error:
            return Found(path, "unreadable", detail=error.strerror or str(error))
        if not stat.S_ISREG(status.st_mode):
            # Reading a pipe would wait for a writer for ever.
            return Found(path, "not_a_file", detail="a pipe, socket or device")
        return Found(path, size=status.st_size, stamp=str(status.st_mtime_ns))


class RemoteFolder:
    """Behind an fsspec file system; such folders have no links."""

    def __init__(self, files: Any, root: str) -> None:
        self._files = files
        self._root = root.rstrip("/")

    def walk(self, prune: Prune) -> Iterator[Found]:
        seen: set[str] = set()
        # A process that lives long would see an old listing for ever.
        self._files.invalidate_cache()
        for full, info in sorted(self._files.find(self._root, detail=True).items()):
            path = full[len(self._root) :].lstrip("/")
            left_out = _left_out(path, prune)
            if left_out is None:
                stamp = next(
                    (str(info[k]) for k in ("ETag", "etag", "LastModified", "mtime", "created") if info.get(k)), ""
                )
                yield Found(path, size=info.get("size"), stamp=stamp)
            elif left_out.path not in seen:
                seen.add(left_out.path)
                yield left_out

    def open(self, path: str) -> BinaryIO:
        return cast(BinaryIO, self._files.open(f"{self._root}/{path}", "rb"))

    def location(self, path: str) -> str:
        return str(self._files.unstrip_protocol(f"{self._root}/{path}"))


def _left_out(path: str, prune: Prune) -> Found | None:
    """The outermost hidden or excluded part of a path."""
    parts = path.split("/")
    for depth, part in enumerate(parts, 1):
        here = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
        if part.startswith("."):
            return Found(here, "hidden")
        if here.endswith("/") and (kind := prune(here)):
            return Found(here, kind)
    return None

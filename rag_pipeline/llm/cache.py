"""Replies by the hash of everything that was asked: bounded in memory, and in a folder where one is given.

A failure is never kept. A file that can't be read or written costs a call, never an error.
"""

import contextlib
import hashlib
import json
import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PRUNE_EVERY = 50


def reply_key(asked: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(asked, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


class ReplyCache:
    """The least recently used entry goes first. Safe to use from several threads."""

    def __init__(self, entries: int, *, folder: Path | None = None) -> None:
        self.entries = entries
        self.folder = folder
        self.hits = 0
        self.misses = 0
        self._kept: OrderedDict[str, str] = OrderedDict()
        self._writes = 0
        self._lock = threading.Lock()

    def get(self, key: str) -> str | None:
        with self._lock:
            text = self._kept.get(key)
            if text is None and self.folder is not None and self.entries:
                text = _read(self.folder / f"{key}.json", key)
            if text is None:
                self.misses += 1
                return None
            self.hits += 1
            self._keep(key, text)
            return text

    def put(self, key: str, text: str) -> None:
        if not self.entries:
            return
        with self._lock:
            self._keep(key, text)
            if self.folder is not None:
                _write(self.folder / f"{key}.json", key, text)
                self._writes += 1
                if self._writes % PRUNE_EVERY == 1:
                    _prune(self.folder, self.entries)

    def _keep(self, key: str, text: str) -> None:
        self._kept[key] = text
        self._kept.move_to_end(key)
        while len(self._kept) > self.entries:
            self._kept.popitem(last=False)


def _read(path: Path, key: str) -> str | None:
    try:
        stored = json.loads(path.read_text("utf-8"))
        return stored["text"] if stored["key"] == key and isinstance(stored["text"], str) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, key: str, text: str) -> None:
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".partial")  # for its owner alone
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"key": key, "text": text}, file)
        Path(name).replace(path)


def _prune(folder: Path, entries: int) -> None:
    """Down to `entries` files, the oldest first."""
    with contextlib.suppress(OSError):
        files = sorted(folder.glob("*.json"), key=lambda file: (file.stat().st_mtime_ns, file.name))
        for file in files[: max(0, len(files) - entries)]:
            file.unlink(missing_ok=True)

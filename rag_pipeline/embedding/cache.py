"""Vectors of one model, stored once by content: append-only, safe for several writers, whole after any crash.

A segment is two files of one name: `<name>.vectors.npy` (n, dimension) and `<name>.keys.npy` (n, 4). The keys file is
renamed into place last and thereby commits the segment; what has no keys file does not exist. The folder belongs to
one model fingerprint, which already covers prefixes and limits, so a key covers the role and the exact text.
"""

import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.durable import fsync_folder, temporary_name, write_json
from rag_pipeline.embedding.base import Role, Vectors
from rag_pipeline.embedding.soundness import Rejection, rejections, unsound
from rag_pipeline.errors import CorruptBuild, IncompatibleBuild

Keys = NDArray[np.uint64]
"""Shape (n, 4): the 32 bytes of a sha256 a row."""
BLOCK = 4096
"""Rows read at once."""
_VECTORS, _KEYS, _CARD = ".vectors.npy", ".keys.npy", "cache.json"


def text_key(text: str, *, role: Role) -> bytes:
    """sha256 of the role and the exact text, 32 bytes."""
    return hashlib.sha256(role.encode() + b"\0" + text.encode("utf-8", "surrogatepass")).digest()


def as_keys(digests: Iterable[bytes]) -> Keys:
    return np.frombuffer(b"".join(digests), np.uint64).reshape(-1, 4)


@dataclass(frozen=True, slots=True)
class _Index:
    """All keys, sorted by their first word, each with its segment and row; the newest segment wins."""

    keys: Keys
    segment: NDArray[np.int32]
    row: NDArray[np.int64]

    def positions(self, wanted: Keys) -> NDArray[np.int64]:
        """Position of each key, -1 where absent."""
        if not len(self.keys) or not len(wanted):
            return np.full(len(wanted), -1, np.int64)
        at = np.searchsorted(self.keys[:, 0], wanted[:, 0])
        at = np.minimum(at, len(self.keys) - 1)
        # Two keys that share 64 bits would hide one of them: a miss and a second embedding, never a wrong vector.
        return np.where((self.keys[at] == wanted).all(axis=1), at, -1)


class VectorCache:
    """Sees the segments that existed when it was opened, and its own."""

    def __init__(self, folder: Path, *, fingerprint: str, dimension: int) -> None:
        """Creates the folder. Raises IncompatibleBuild naming both when it is another model's; CorruptBuild for a card
        that can't be read, unless the folder's name says whose it is: then the card is written again."""
        self.folder = folder
        self.dimension = dimension
        self.problems: list[str] = []
        """Segments that were left out, with the reason."""
        folder.mkdir(parents=True, exist_ok=True)
        self._claim({"fingerprint": fingerprint, "dimension": dimension})
        self._segments: list[tuple[str, Keys]] = []
        for path in sorted(folder.glob(f"*{_VECTORS}")):
            self._read_segment(path.name.removesuffix(_VECTORS))
        self._index: _Index | None = None

    def put(self, keys: Keys, vectors: Vectors) -> tuple[Rejection, ...]:
        """Store one vector a key, durable when this returns; the unsound ones are left out and returned.

        A vector is sound when it has this model's dimension, finite numbers and unit length. Raises ValueError when
        keys and vectors differ in number.
        """
        if len(keys) != len(vectors):
            raise ValueError(f"{len(keys)} keys for {len(vectors)} vectors")
        rejected = rejections(vectors, self.dimension)
        keep = np.ones(len(keys), bool)
        keep[[r.position for r in rejected]] = False
        if keep.any():
            self._write_segment(np.ascontiguousarray(keys[keep]), np.ascontiguousarray(vectors[keep], np.float32))
        return rejected

    def find(self, keys: Keys) -> NDArray[np.bool_]:
        """Which keys have a vector that can be read and is sound; reads every one of them, a block at a time."""
        found = np.zeros(len(keys), bool)
        for first in range(0, len(keys), BLOCK):
            block = keys[first : first + BLOCK]
            found[first : first + BLOCK] = self._read(block)[1]
        return found

    def get_many(self, keys: Keys) -> Vectors:
        """Vectors in the order of `keys`, read from the mapped files. Raises KeyError for an absent or damaged one."""
        vectors, found = self._read(keys)
        if not found.all():
            raise KeyError(f"{int((~found).sum())} of {len(keys)} vectors are not in {self.folder}")
        return vectors

    def _read(self, keys: Keys) -> tuple[Vectors, NDArray[np.bool_]]:
        index = self._sorted()
        at = index.positions(keys)
        out = np.zeros((len(keys), self.dimension), np.float32)
        present = np.flatnonzero(at >= 0)
        segments = index.segment[at[present]]
        for number in np.unique(segments):
            mine = present[segments == number]
            # Opened and dropped here: a thousand segments must not hold a thousand file descriptors.
            mapped = np.load(self.folder / (self._segments[number][0] + _VECTORS), mmap_mode="r")
            out[mine] = mapped[index.row[at[mine]]]
        return out, (at >= 0) & ~unsound(out)

    def _sorted(self) -> _Index:
        if self._index is None:
            keys = np.concatenate([np.zeros((0, 4), np.uint64), *(k for _, k in self._segments)])
            sizes = [len(k) for _, k in self._segments]
            segment = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
            row = np.concatenate([np.zeros(0, np.int64), *(np.arange(n) for n in sizes)])
            # Newest first, then a stable sort: searchsorted finds the newest of equal keys.
            order = np.argsort(keys[::-1, 0], kind="stable")
            order = len(keys) - 1 - order
            self._index = _Index(keys[order], segment[order], row[order])
        return self._index

    def _write_segment(self, keys: Keys, vectors: Vectors) -> None:
        name = f"{time.time_ns():020d}-{secrets.token_hex(6)}"
        for array, path in ((vectors, self.folder / (name + _VECTORS)), (keys, self.folder / (name + _KEYS))):
            _save(array, path)
        self._segments.append((name, keys))
        self._index = None

    def _read_segment(self, name: str) -> None:
        try:
            keys = np.load(self.folder / (name + _KEYS))
            vectors = np.load(self.folder / (name + _VECTORS), mmap_mode="r")
        except FileNotFoundError:
            self.problems.append(f"{name}: not committed (being written, or cut off by a crash)")
            return
        except (OSError, ValueError, EOFError) as error:
            self.problems.append(f"{name}: not readable ({error})")
            return
        if keys.dtype != np.uint64 or keys.ndim != 2 or vectors.dtype != np.float32:
            self.problems.append(f"{name}: not a segment of this store")
        elif keys.shape != (len(vectors), 4) or vectors.shape[1:] != (self.dimension,):
            self.problems.append(f"{name}: {keys.shape} keys for {vectors.shape} vectors of dimension {self.dimension}")
        else:
            self._segments.append((name, keys))

    def _claim(self, mine: dict[str, str | int]) -> None:
        card = self.folder / _CARD
        if not card.is_file():
            write_json(card, mine)
            return
        try:
            found = json.loads(card.read_text("utf-8"))
        except ValueError as error:
            if self.folder.name != mine["fingerprint"]:
                raise CorruptBuild(f"{card} is not readable ({error}); delete {self.folder} and embed again") from error
            self.problems.append(f"{_CARD}: not readable ({error}), so it was written again")
            write_json(card, mine)
            return
        if found != mine:
            raise IncompatibleBuild(
                f"{self.folder} holds vectors of {found}, the embedder is {mine}; give every model its own folder"
            )


def _save(array: NDArray[np.generic], path: Path) -> None:
    partial = temporary_name(path)
    try:
        with partial.open("xb") as file:
            np.save(file, array)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    fsync_folder(path.parent)

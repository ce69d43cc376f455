"""How many tokens texts have, each counted once: what was counted for the chunking before is known by its content.

Lives here: keeping counts beside the latest chunking. What a count must not exceed is checks.py's. The file is compared
with its checksum before it is used; a damaged one, other code or another tokenizer's has no say, and all are counted.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rag_pipeline.durable import atomic_write
from rag_pipeline.kept import Binding, recall, remember
from rag_pipeline.made_by import made_by
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.text.tokenizer import Tokenizer, count_many

KEPT = "token_counts"
PACKAGES = ("text", "chunking/kept_counts")
LIBRARIES = ("tokenizers", "regex")
BY = made_by(PACKAGES, LIBRARIES)
"""Taken when this is imported: a long process runs that code, whatever its files become."""
KEY_BYTES = 16
_ROW = np.dtype([("key", np.uint8, (KEY_BYTES,)), ("count", np.int64)])


class KeptCounts:
    """Counts of texts; those that the last call, of any process, was asked for too are not counted again."""

    def __init__(self, paths: CollectionPaths, tokenizer: Tokenizer) -> None:
        self._paths = paths
        self._tokenizer = tokenizer
        self.counted = 0
        """Texts that the last call counted."""

    def __call__(self, texts: Sequence[str]) -> list[int]:
        """Special tokens not included, as `count_many`. What was asked for takes the place of what was kept."""
        keys = [_key(text) for text in texts]
        known = self._known()
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        self.counted = len(new)
        counts = known | dict(zip(new, count_many(self._tokenizer, list(new.values())), strict=True))
        kept = {key: counts[key] for key in keys}
        if kept != known:
            self._keep(kept)
        return [kept[key] for key in keys]

    def _known(self) -> dict[bytes, int]:
        record = recall(self._paths.kept(KEPT), self._binding())
        if record is None or not self._file().is_file():
            return {}
        data = self._file().read_bytes()
        if hashlib.sha256(data).hexdigest() != record.value:
            return {}
        rows = np.frombuffer(data, _ROW)
        return dict(zip(map(bytes, rows["key"]), rows["count"].tolist(), strict=True))

    def _keep(self, counts: dict[bytes, int]) -> None:
        rows = np.zeros(len(counts), _ROW)
        rows["key"] = np.frombuffer(b"".join(counts), np.uint8).reshape(-1, KEY_BYTES)
        rows["count"] = list(counts.values())
        self._paths.staging.mkdir(parents=True, exist_ok=True)
        data = rows.tobytes()
        atomic_write(self._file(), data)
        # Of what was meant to be written: what another process put there meanwhile is not this tokenizer's.
        remember(self._paths.kept(KEPT), self._binding(), hashlib.sha256(data).hexdigest())

    def _file(self) -> Path:
        return self._paths.staging / "token_counts.bin"

    def _binding(self) -> Binding:
        return {"tokenizer": self._tokenizer.fingerprint, "by": BY}


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()

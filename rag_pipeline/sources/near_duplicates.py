"""Documents that are nearly alike, such as revisions that differ by a date: reported, never removed.

A document's sketch is the smallest hashes of its five-word shingles (bottom-k sketch; Broder 1997, "On the resemblance
and containment of documents"). Two documents are compared when they share one of their smallest few; the estimate is
the share of common values among the smallest k of both together.
"""

import re
import zlib

import numpy as np
from numpy.typing import NDArray

SHINGLE = 5
SKETCH = 64
PROBES = 8
THRESHOLD = 0.7
"""Estimated share of common shingles from which two documents are reported."""
MIN_WORDS = 30
MAX_WORDS = 20_000
MAX_DOCUMENTS = 100_000
MAX_REPORTS = 500
_BUCKET = 16
_WORD = re.compile(r"\w+")
Sketch = NDArray[np.uint64]


class NearDuplicates:
    """Takes documents one by one, and tells of each the earlier one that is most alike."""

    def __init__(self) -> None:
        self._sketches: list[Sketch] = []
        self._ids: list[str] = []
        self._buckets: dict[int, list[int]] = {}
        self.reported = 0
        self.stopped = ""
        """Why later documents were not looked at."""

    @property
    def looks_on(self) -> bool:
        """False after so many documents or reports that later ones are not looked at."""
        return self.reported < MAX_REPORTS and len(self._ids) < MAX_DOCUMENTS

    def nearest(self, doc_id: str, text: str, *, sketch: Sketch | None = None) -> tuple[str, float] | None:
        """Id of the most similar earlier document and the estimate, where it reaches THRESHOLD.

        `sketch` is `sketch_of(text)` where that is known.
        """
        if not self.looks_on:
            self.stopped = f"looked no further after {self.reported} reports among {len(self._ids)} documents"
            return None
        sketch = sketch_of(text) if sketch is None else sketch
        if sketch is None:
            return None
        probes = [int(v) for v in sketch[:PROBES]]
        candidates = sorted({i for value in probes for i in self._buckets.get(value, ())})
        best = max(((similarity(sketch, self._sketches[i]), -i) for i in candidates), default=(0.0, 0))
        for value in probes:
            bucket = self._buckets.setdefault(value, [])
            # Boilerplate shingles gather many documents; the first few are enough to find a relative.
            if len(bucket) < _BUCKET:
                bucket.append(len(self._ids))
        self._sketches.append(sketch)
        self._ids.append(doc_id)
        if best[0] < THRESHOLD:
            return None
        self.reported += 1
        return self._ids[-best[1]], best[0]


def sketch_of(text: str) -> Sketch | None:
    """The SKETCH smallest shingle hashes, ascending; None for texts of fewer than MIN_WORDS words."""
    words = []
    for match in _WORD.finditer(text):
        words.append(zlib.crc32(match[0].lower().encode("utf-8")))
        if len(words) == MAX_WORDS:
            break
    if len(words) < MIN_WORDS:
        return None
    hashed = np.array(words, np.uint64)
    count = len(words) - SHINGLE + 1
    shingles = np.zeros(count, np.uint64)
    for i in range(SHINGLE):
        shingles = _mixed(shingles + hashed[i : i + count])
    unique = np.unique(shingles)
    return unique[:SKETCH].copy()


def similarity(a: Sketch, b: Sketch) -> float:
    """Estimated Jaccard similarity of the two shingle sets."""
    smallest = np.union1d(a, b)[:SKETCH]
    both = np.isin(smallest, a, assume_unique=True) & np.isin(smallest, b, assume_unique=True)
    return float(both.sum() / len(smallest))


def _mixed(values: Sketch) -> Sketch:
    """The finaliser of splitmix64 (Steele, Lea and Flood 2014), on arrays that wrap around."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))

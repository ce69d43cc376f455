"""MemoryStore: what an agent remembers between turns, runs and users.

Three tiers, each with its own life time:

=========  =======================  =====================  ==========================
tier       backing store            default life time      eviction
=========  =======================  =====================  ==========================
working    process memory           one run                oldest turn first
episodic   PostgreSQL ``agents``    30 days                by ``expires_at``
semantic   retrieval collection     until deleted          none
=========  =======================  =====================  ==========================

A namespace is written ``tenant/agent/scope``. One writer at a time, any number of readers.
"""

from __future__ import annotations

import datetime as dt
import threading
from dataclasses import dataclass
from typing import Iterator

WORKING_TOKEN_BUDGET = 32_000
COMPACT_AT = 0.80
COMPACT_TO = 0.45
EPISODE_TTL = dt.timedelta(days=30)
MAX_ITEM_BYTES = 65_536

_locks: dict[str, threading.Lock] = {}


class NamespaceLocked(RuntimeError):
    """Another writer holds the namespace."""


@dataclass(frozen=True)
class MemoryItem:
    key: str
    text: str
    tier: str
    created_at: dt.datetime
    expires_at: dt.datetime | None = None
    pinned: bool = False


class MemoryStore:
    """Handle to one namespace."""

    def __init__(self, namespace: str, lock: threading.Lock) -> None:
        self.namespace = namespace
        self._lock = lock
        self._working: list[MemoryItem] = []

    @classmethod
    def open(cls, tenant: str, agent: str, *, scope: str = "agent", wait_s: float = 3.0) -> "MemoryStore":
        """Open a namespace for writing; raises NamespaceLocked after ``wait_s`` seconds."""
        namespace = f"{tenant}/{agent}/{scope}"
        lock = _locks.setdefault(namespace, threading.Lock())
        if not lock.acquire(timeout=wait_s):
            raise NamespaceLocked(f"{namespace} is held by another writer")
        return cls(namespace, lock)

    def release(self) -> None:
        self._lock.release()

    def remember(self, key: str, text: str, *, tier: str = "working", pinned: bool = False) -> MemoryItem:
        """Store one item. Items above 64 KiB are refused with E-4131."""
        if len(text.encode()) > MAX_ITEM_BYTES:
            raise ValueError("E-4131: memory item larger than 64 KiB")
        now = dt.datetime.now(dt.timezone.utc)
        expires = now + EPISODE_TTL if tier == "episodic" and not pinned else None
        item = MemoryItem(key, text, tier, now, expires, pinned)
        if tier == "working":
            self._working.append(item)
            self._maybe_compact()
        return item

    def recall(self, query: str, *, limit: int = 6, min_score: float = 0.25) -> Iterator[MemoryItem]:
        """Search semantic memory first and episodic memory second.

        Hits of both tiers are merged; when the same key occurs in both, the episodic
        item is preferred because it is the more recent one.
        """
        raise NotImplementedError("provided by the storage driver")

    def forget(self, subject: str) -> int:
        """Erase every item that mentions a data subject; returns the number removed.

        Pinned items are erased as well. The call is recorded in ``audit.erasure``.
        """
        raise NotImplementedError("provided by the storage driver")

    def _maybe_compact(self) -> None:
        """Summarise the oldest turns once working memory is 80 % full, down to 45 %."""
        used = sum(len(i.text) // 4 for i in self._working)
        if used < WORKING_TOKEN_BUDGET * COMPACT_AT:
            return
        while used > WORKING_TOKEN_BUDGET * COMPACT_TO and len(self._working) > 2:
            victim = next((i for i in self._working if not i.pinned), None)
            if victim is None:
                break
            self._working.remove(victim)
            used -= len(victim.text) // 4

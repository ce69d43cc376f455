"""EventBus: at-least-once delivery of platform events to subscribers and webhooks.

Events are appended to a partitioned log (12 partitions, chosen by tenant hash). Order is
kept inside a partition only. Consumers drop duplicates with ``event_id``; the bus itself
remembers ids for a window of 10 minutes.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping

PARTITIONS = 12
DEDUPE_WINDOW_S = 600
MAX_DELIVERIES = 5
MAX_EVENT_BYTES = 128 * 1024

#: Waiting time before the 2nd, 3rd, 4th and 5th delivery of the same event.
REDELIVERY_DELAYS_S = (10, 60, 300, 1_800)


@dataclass(frozen=True)
class Event:
    """One event. ``kind`` is dotted lower case, for example ``agent.created``."""

    kind: str
    tenant: str
    payload: Mapping[str, Any]
    event_id: str = field(default_factory=lambda: "evt_" + uuid.uuid4().hex)
    at: float = field(default_factory=time.time)

    def partition(self) -> int:
        digest = hashlib.sha256(self.tenant.encode()).digest()
        return digest[0] % PARTITIONS


class EventBus:
    """In-process facade; the transport is chosen by ``events.driver``."""

    def __init__(self, transport) -> None:
        self._transport = transport
        self._seen: OrderedDict[str, float] = OrderedDict()
        self._handlers: dict[str, list[Callable[[Event], None]]] = {}

    def subscribe(self, pattern: str, handler: Callable[[Event], None]) -> None:
        """``agent.*`` matches one level, ``agent.#`` any number of levels."""
        self._handlers.setdefault(pattern, []).append(handler)

    def publish(self, event: Event) -> bool:
        """Append an event; returns False when it was dropped as a duplicate."""
        body = json.dumps(event.payload, separators=(",", ":")).encode()
        if len(body) > MAX_EVENT_BYTES:
            raise ValueError("E-9051: event payload larger than 128 KiB")
        self._expire()
        if event.event_id in self._seen:
            return False
        self._seen[event.event_id] = time.monotonic()
        self._transport.append(event.partition(), event, body)
        return True

    def dead_letter(self, event: Event, deliveries: int) -> bool:
        """After the fifth failed delivery an event moves to ``_dead.<kind>``."""
        if deliveries < MAX_DELIVERIES:
            return False
        self._transport.append_dead(f"_dead.{event.kind}", event)
        return True

    def _expire(self) -> None:
        limit = time.monotonic() - DEDUPE_WINDOW_S
        while self._seen and next(iter(self._seen.values())) < limit:
            self._seen.popitem(last=False)

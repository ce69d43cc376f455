"""Cron-like triggers that enqueue workflow runs. Steps are not run here.

Schedules use five-field cron expressions in the tenant's time zone. When the clock jumps
forward, skipped slots are enqueued once; when it jumps back, repeated slots are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Shortest permitted interval between two runs of the same schedule.
MIN_INTERVAL_S = 300

#: Missed slots older than this are not caught up after an outage.
CATCH_UP_WINDOW_S = 3 * 3600


@dataclass
class Schedule:
    schedule_id: str
    cron: str
    timezone: str = "UTC"
    overlap: str = "skip"      # skip | queue | replace
    max_queued: int = 5


def should_enqueue(schedule: Schedule, running: int, queued: int) -> bool:
    """Apply the overlap rule of a schedule.

    * ``skip``: nothing is enqueued while a run is in progress.
    * ``queue``: at most ``max_queued`` runs may wait.
    * ``replace``: the run in progress is cancelled first.
    """
    if schedule.overlap == "skip":
        return running == 0
    if schedule.overlap == "queue":
        return queued < schedule.max_queued
    return True

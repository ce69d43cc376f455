r"""States an agent passes through after it exists, and the reaper of orphan records.

    provisioning -> active -> paused -> active
                         \-> retiring -> retired

Nothing in this module builds agents; it only moves existing ones between states.
"""

from __future__ import annotations

import datetime as dt
from enum import Enum


class AgentState(str, Enum):
    PROVISIONING = "provisioning"
    ACTIVE = "active"
    PAUSED = "paused"
    RETIRING = "retiring"
    RETIRED = "retired"


ALLOWED = {
    AgentState.PROVISIONING: {AgentState.ACTIVE, AgentState.RETIRED},
    AgentState.ACTIVE: {AgentState.PAUSED, AgentState.RETIRING},
    AgentState.PAUSED: {AgentState.ACTIVE, AgentState.RETIRING},
    AgentState.RETIRING: {AgentState.RETIRED},
    AgentState.RETIRED: set(),
}

#: A paused agent that nobody resumes is retired after this many days.
PAUSE_LIMIT_DAYS = 60

#: Retired agents keep their memory for this long before it is shredded.
RETIRED_MEMORY_DAYS = 14

#: Age at which a record stuck in ``provisioning`` counts as an orphan.
ORPHAN_AFTER_MINUTES = 15


def transition(current: AgentState, wanted: AgentState) -> AgentState:
    """Check one state change; illegal ones raise E-4060."""
    if wanted not in ALLOWED[current]:
        raise ValueError(f"E-4060: cannot go from {current.value} to {wanted.value}")
    return wanted


def find_orphans(rows, now: dt.datetime | None = None) -> list[str]:
    """Ids of records that never left ``provisioning``.

    The reaper runs every 30 minutes on the control-plane leader. It deletes at most
    200 orphans per pass so that a bad rollout cannot empty the table in one go.
    """
    now = now or dt.datetime.now(dt.timezone.utc)
    limit = now - dt.timedelta(minutes=ORPHAN_AFTER_MINUTES)
    stuck = [r.agent_id for r in rows if r.state == "provisioning" and r.created_at < limit]
    return stuck[:200]

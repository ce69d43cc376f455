"""The history of CURRENT and of the champion: one line for every change, and what can be read from it.

Only ever appended to.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from rag_pipeline.durable import append_line
from rag_pipeline.errors import CorruptBuild
from rag_pipeline.paths import CollectionPaths
from rag_pipeline.release.clock import now, whoami
from rag_pipeline.retrieval.release_file import read_current

Action = Literal["published", "forced", "rolled_back", "found", "pinned", "unpinned"]
"""`found`: CURRENT had changed without a line, because the change was killed right after the swap or made by hand."""

OF_CHAMPION = frozenset({"pinned", "unpinned"})


@dataclass(frozen=True, slots=True)
class Change:
    at: str
    who: str
    action: Action
    release_id: str
    previous: str | None
    reason: str


def record(
    paths: CollectionPaths,
    action: Action,
    release_id: str,
    *,
    previous: str | None,
    reason: str,
    who: str | None = None,
) -> None:
    """Append one change; call under the publish lock."""
    change = Change(
        at=now(), who=who or whoami(), action=action, release_id=release_id, previous=previous, reason=reason
    )
    append_line(paths.history, json.dumps(asdict(change), ensure_ascii=False))


def read_history(paths: CollectionPaths) -> tuple[Change, ...]:
    """All changes of CURRENT, oldest first. A line cut short by a crash is left out; `catch_up` writes what it said."""
    return tuple(change for change in read_all_changes(paths) if change.action not in OF_CHAMPION)


def read_all_changes(paths: CollectionPaths) -> tuple[Change, ...]:
    """Those of the champion too."""
    try:
        lines = paths.history.read_text("utf-8", "replace").split("\n")
    except FileNotFoundError:
        return ()
    changes = []
    for line in lines:
        try:
            changes.append(Change(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return tuple(changes)


def catch_up(paths: CollectionPaths) -> None:
    """Write the missing line where CURRENT is not what the history last said; call under the publish lock."""
    try:
        current = read_current(paths)
    except CorruptBuild:
        return  # whoever changes CURRENT next sees the same error and decides
    changes = read_history(paths)
    last = changes[-1].release_id if changes else None
    if current is not None and current != last:
        record(paths, "found", current, previous=last, reason="CURRENT had changed without a record")


def served(changes: Iterable[Change]) -> tuple[str, ...]:
    """The releases one can go back through, the one in service first.

    Publishing puts a release on top; rolling back takes off everything above the one returned to, so that rolling
    back twice goes back two, not to and fro.
    """
    stack: list[str] = []
    for change in changes:
        if change.action == "rolled_back" and change.release_id in stack:
            del stack[stack.index(change.release_id) + 1 :]
        else:
            if change.release_id in stack:
                stack.remove(change.release_id)
            stack.append(change.release_id)
    return tuple(reversed(stack))


def last_served(changes: Iterable[Change]) -> tuple[str, ...]:
    """Every release that was ever in service, the one most recently put there first."""
    order: dict[str, None] = {}
    for change in changes:
        order.pop(change.release_id, None)
        order[change.release_id] = None
    return tuple(reversed(order))


def withdrawn(changes: Iterable[Change]) -> dict[str, Change]:
    """The releases that a rollback took out of service and that nobody put back since, each with that rollback."""
    changes = tuple(changes)
    gone = set(last_served(changes)) - set(served(changes))
    rollbacks = [n for n, change in enumerate(changes) if change.action == "rolled_back"]
    return {
        name: next(changes[n] for n in rollbacks if name not in served(changes[: n + 1]) and n > _last(changes, name))
        for name in gone
    }


def _last(changes: tuple[Change, ...], release_id: str) -> int:
    return max(n for n, change in enumerate(changes) if change.release_id == release_id)

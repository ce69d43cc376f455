"""What an earlier run found out and this one need not find out again, each result bound to all that it depends on.

Lives here: storing one result a file, and giving it back only for an equal binding. What belongs into a binding is the
callers' to say: contents, never names or times. A damaged file is no result; failures are never kept.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rag_pipeline.checks import CheckResult
from rag_pipeline.durable import write_json

Binding = Mapping[str, Any]
"""Values that JSON has."""
KEPT_FROM = "kept_from"
"""Name under which a check's numbers say when it was really made."""


@dataclass(frozen=True, slots=True)
class Kept:
    at: str
    """When it was found out, ISO 8601, UTC."""
    value: Any


def recall(file: Path, binding: Binding) -> Kept | None:
    """What `file` holds for this binding; None where it holds nothing, something else, or is damaged."""
    try:
        stored = json.loads(file.read_bytes())
        found = stored["binding"], stored["at"], stored["value"]
        intact = stored["checksum"] == _checksum(*found)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Kept(found[1], found[2]) if intact and found[0] == _plain(binding) else None


def remember(file: Path, binding: Binding, value: Any) -> None:
    """In place of what `file` held before. `value` is anything JSON has; floats come back exactly as they were."""
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    plain = _plain(binding)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_json(file, {"binding": plain, "at": at, "value": value, "checksum": _checksum(plain, at, _plain(value))})


def kept_check(file: Path, binding: Binding, check: Callable[[], CheckResult]) -> CheckResult:
    """The passed result that is kept for this binding, saying since when; else a new one, kept where it passed."""
    known = recall(file, binding)
    if known is not None:
        message, numbers = known.value
        return CheckResult(True, message, {**numbers, KEPT_FROM: known.at})
    result = check()
    if result.passed:
        remember(file, binding, [result.message, dict(result.numbers)])
    return result


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, sort_keys=True, ensure_ascii=False))


def _checksum(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode("utf-8")).hexdigest()

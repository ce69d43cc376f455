"""Registry of the tools an installation offers to its agents.

Tools are registered at start-up from ``/etc/corvane/tools.d/*.yaml`` and, since 3.3,
at run time through ``POST /v1/tools``. A registration at run time is visible to every
control-plane replica within 10 seconds (the refresh interval of the registry).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Callable

#: Built-in tools that cannot be unregistered.
BUILTIN = ("clock.now", "memory.search", "retrieval.query", "handoff.human")

#: Consecutive failures after which a tool's circuit opens (E-4110).
CIRCUIT_THRESHOLD = 6
CIRCUIT_COOLDOWN_S = 45


class UnknownToolError(KeyError):
    """The registry has no tool of that name (surfaces as E-4021)."""


class ToolVersionError(ValueError):
    """The tool exists, but not in the requested major version (E-4022)."""


@dataclass(frozen=True)
class ToolSpec:
    """What a tool declares about itself."""

    name: str
    major: int
    handler: Callable[..., object]
    input_schema: dict
    timeout_s: int = 30
    max_result_bytes: int = 262_144
    idempotent: bool = False
    preview: bool = False
    deprecated_in: str | None = None


@dataclass(frozen=True)
class BoundTool:
    """A tool specification tied to a tenant."""

    name: str
    spec: ToolSpec
    tenant: str
    credential_ref: str | None = None


class ToolRegistry:
    """Thread-safe map from tool name and major version to its specification."""

    def __init__(self) -> None:
        self._specs: dict[str, dict[int, ToolSpec]] = {}
        self._failures: dict[str, int] = {}
        self._lock = threading.RLock()

    def register(self, spec: ToolSpec, *, replace: bool = False) -> None:
        """Add a tool. Re-registering the same major needs ``replace=True``."""
        with self._lock:
            majors = self._specs.setdefault(spec.name, {})
            if spec.major in majors and not replace:
                raise ValueError(f"E-4025: {spec.name}@{spec.major} is already registered")
            majors[spec.major] = spec

    def unregister(self, name: str) -> None:
        """Remove every version of a tool; built-in tools are protected (E-4026)."""
        if name in BUILTIN:
            raise ValueError(f"E-4026: {name} is built in")
        with self._lock:
            self._specs.pop(name, None)

    def bind(self, ref: str, *, tenant: str) -> BoundTool:
        """Resolve ``name`` or ``name@major`` for a tenant."""
        name, _, major = ref.partition("@")
        with self._lock:
            majors = self._specs.get(name)
            if not majors:
                raise UnknownToolError(name)
            if major:
                spec = majors.get(int(major))
                if spec is None:
                    raise ToolVersionError(f"E-4022: {name} has majors {sorted(majors)}")
            else:
                stable = [m for m, s in majors.items() if not s.preview]
                spec = majors[max(stable or majors)]
        return BoundTool(name, spec, tenant, credential_ref=f"vault://{tenant}/tools/{name}")

    def record(self, name: str, ok: bool) -> bool:
        """Feed the circuit breaker; returns True when the circuit is now open."""
        with self._lock:
            self._failures[name] = 0 if ok else self._failures.get(name, 0) + 1
            return self._failures[name] >= CIRCUIT_THRESHOLD

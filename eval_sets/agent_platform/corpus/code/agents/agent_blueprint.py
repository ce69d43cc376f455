"""Blueprints: the declarative description from which agents are built.

A blueprint is a YAML document with a ``name``, a ``version`` in MAJOR.MINOR form,
an optional ``extends`` and the settings listed in :class:`AgentBlueprint`. Blueprints
are immutable once published: to change one, publish a higher version.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Mapping

_NAME = re.compile(r"^[a-z][a-z0-9-]{2,47}$")

#: How many ``extends`` levels are followed before E-4008 is raised.
MAX_ANCESTORS = 4


class BlueprintError(ValueError):
    """A blueprint is malformed (E-4003) or its lineage is too deep (E-4008)."""


@dataclass(frozen=True)
class AgentBlueprint:
    """Validated blueprint.

    ``tools`` holds references of the form ``name`` or ``name@major``. Without a major
    version the newest major that is not marked *preview* is taken.
    """

    OVERRIDABLE: ClassVar[frozenset[str]] = frozenset(
        {"temperature", "max_output_tokens", "memory_scope", "locale"}
    )

    name: str
    version: str
    model: str = "corvane-reason-3"
    instructions: str = ""
    tools: tuple[str, ...] = ()
    memory_scope: str = "agent"          # agent | user | workflow | none
    temperature: float = 0.2
    max_output_tokens: int = 4096
    locale: str = "en"
    extends: str | None = None
    policies: tuple[str, ...] = ("baseline",)
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise BlueprintError(
                f"E-4003: blueprint name {self.name!r} must have 3 to 48 characters, "
                "start with a letter and use only a-z, 0-9 and '-'"
            )
        if not 0.0 <= self.temperature <= 1.5:
            raise BlueprintError("E-4003: temperature must lie between 0.0 and 1.5")
        if len(self.instructions) > 24_000:
            raise BlueprintError("E-4003: instructions are limited to 24,000 characters")

    def with_overrides(self, overrides: Mapping[str, Any]) -> "AgentBlueprint":
        """Return a copy with call-time overrides applied.

        Keys outside ``OVERRIDABLE`` are refused rather than ignored, because silently
        dropping ``tools`` in 2.9 made agents run with more rights than intended.
        """
        illegal = set(overrides) - self.OVERRIDABLE
        if illegal:
            raise BlueprintError(f"E-4005: not overridable: {', '.join(sorted(illegal))}")
        return replace(self, **overrides)

    def merge_parent(self, parent: "AgentBlueprint") -> "AgentBlueprint":
        """Combine with a parent: lists are united, scalars of the child win.

        ``instructions`` is the exception: the parent's text is put first, followed by a
        blank line and the child's text.
        """
        text = "\n\n".join(t for t in (parent.instructions, self.instructions) if t)
        return replace(
            self,
            instructions=text,
            tools=tuple(dict.fromkeys(parent.tools + self.tools)),
            policies=tuple(dict.fromkeys(parent.policies + self.policies)),
            metadata={**parent.metadata, **self.metadata},
        )


class BlueprintCatalogue:
    """Read-through catalogue over ``agents.blueprint`` with a small LRU in front."""

    def __init__(self, db, *, cache_size: int = 512, ttl_s: int = 300) -> None:
        self._db = db
        self._cache_size = cache_size
        self._ttl_s = ttl_s
        self._lru: dict[tuple[str, str | None], AgentBlueprint] = {}

    def get(self, name: str, version: str | None = None) -> AgentBlueprint | None:
        """Look a blueprint up; ``version=None`` means the newest published version."""
        key = (name, version)
        if key not in self._lru:
            chain = self._db.fetch_lineage(name, version, limit=MAX_ANCESTORS + 1)
            if not chain:
                return None
            if len(chain) > MAX_ANCESTORS:
                raise BlueprintError(f"E-4008: {name} has more than {MAX_ANCESTORS} ancestors")
            merged = chain[-1]
            for child in reversed(chain[:-1]):
                merged = child.merge_parent(merged)
            if len(self._lru) >= self._cache_size:
                self._lru.pop(next(iter(self._lru)))
            self._lru[key] = merged
        return self._lru[key]

    def insert_agent(self, tenant, name, blueprint, tools, labels) -> str:
        """Insert the agent row; a unique violation on (tenant, name) becomes E-4015."""
        return self._db.insert_agent(tenant, name, blueprint, tools, labels)

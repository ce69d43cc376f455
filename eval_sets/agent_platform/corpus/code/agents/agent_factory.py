"""AgentFactory: how the Corvane Agent Platform turns a blueprint into a running agent.

How AgentFactory works
----------------------
``AgentFactory`` is the only supported way to construct an agent. Its single public
entry point, :meth:`AgentFactory.create_agent`, walks through five stages in order:

1. **Resolve the blueprint.** The name (and optional version pin) is looked up in the
   blueprint catalogue; parent blueprints are merged, deepest ancestor first.
2. **Bind tools.** Every tool named by the blueprint is looked up in the
   :class:`ToolRegistry`. An unknown name stops creation with E-4021.
3. **Open memory.** A :class:`MemoryStore` namespace ``tenant/agent/scope`` is opened
   and an exclusive writer lock is taken for the duration of the creation.
4. **Apply the policy guard.** The tenant's policy bundle is evaluated against the
   merged blueprint. The guard may narrow the tool list but can never widen it.
5. **Register and announce.** The agent row is inserted, and ``agent.created`` is
   published on the :class:`EventBus` once the transaction has committed.

If a stage fails, the stages that already ran are undone in reverse order. A failure
during that undo is reported as E-4055 and leaves an *orphan record* which the
``corvane agents reap`` command removes.

The factory is safe to share between threads. It keeps no per-agent state; the only
shared state is the blueprint cache (512 entries, 300 seconds to live).
"""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping

from corvane.agents.agent_blueprint import AgentBlueprint, BlueprintCatalogue
from corvane.agents.tool_registry import BoundTool, ToolRegistry, UnknownToolError
from corvane.events.event_bus import Event, EventBus
from corvane.memory.memory_store import MemoryStore, NamespaceLocked
from corvane.policy.policy_guard import PolicyGuard, Verdict

log = logging.getLogger("corvane.agents.factory")

#: Seconds after which an unfinished creation is abandoned (E-4050).
CREATE_TIMEOUT_S = 20

#: Upper bound of tools per agent, by plan.
TOOLS_PER_AGENT = {"starter": 6, "team": 12, "business": 24, "enterprise": 64}


class AgentCreationError(RuntimeError):
    """Raised when :meth:`AgentFactory.create_agent` cannot finish.

    ``code`` is one of the E-40xx codes, ``stage`` the name of the failed stage.
    """

    def __init__(self, code: str, stage: str, message: str) -> None:
        super().__init__(f"{code} [{stage}] {message}")
        self.code = code
        self.stage = stage


@dataclass(frozen=True)
class Agent:
    """A created agent, ready to be handed to a workflow."""

    agent_id: str
    tenant: str
    name: str
    blueprint: AgentBlueprint
    tools: tuple[BoundTool, ...]
    memory: MemoryStore
    verdict: Verdict
    labels: Mapping[str, str] = field(default_factory=dict)


class AgentFactory:
    """Creates agents from blueprints.

    Parameters
    ----------
    catalogue:
        Source of blueprints.
    tools:
        The tool registry of this installation.
    guard:
        Policy guard; ``None`` is accepted only when ``CORVANE_ENV`` is ``dev``.
    bus:
        Event bus on which ``agent.created`` and ``agent.creation_failed`` are sent.
    clock:
        Monotonic clock, replaceable in unit tests.
    """

    def __init__(
        self,
        catalogue: BlueprintCatalogue,
        tools: ToolRegistry,
        guard: PolicyGuard | None,
        bus: EventBus,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._catalogue = catalogue
        self._tools = tools
        self._guard = guard
        self._bus = bus
        self._clock = clock

    def create_agent(
        self,
        blueprint: str,
        *,
        tenant: str,
        name: str,
        version: str | None = None,
        overrides: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        dry_run: bool = False,
    ) -> Agent:
        """Create one agent and return it.

        ``overrides`` may set only the keys listed in ``AgentBlueprint.OVERRIDABLE``
        (temperature, max_output_tokens, memory_scope and locale). ``dry_run=True``
        runs the first four stages and undoes them, so nothing is stored and no
        event leaves the process.

        Raises
        ------
        AgentCreationError
            E-4001 blueprint not found, E-4012 plan quota reached, E-4015 name taken,
            E-4021 unknown tool, E-4033 namespace locked, E-4041 denied by policy,
            E-4050 timeout.
        """
        deadline = self._clock() + CREATE_TIMEOUT_S
        with ExitStack() as undo:
            merged = self._resolve(blueprint, version, overrides or {})
            self._check_deadline(deadline, "resolve")

            bound = self._bind_tools(merged, tenant)
            self._check_deadline(deadline, "bind")

            memory = self._open_memory(tenant, name, merged)
            undo.callback(memory.release)
            self._check_deadline(deadline, "memory")

            verdict = self._apply_guard(merged, bound, tenant)
            allowed = tuple(t for t in bound if t.name in verdict.allowed_tools)
            self._check_deadline(deadline, "guard")

            if dry_run:
                return Agent("dry-run", tenant, name, merged, allowed, memory, verdict)

            agent_id = self._register(tenant, name, merged, allowed, labels or {})
            undo.pop_all()

        self._bus.publish(Event("agent.created", tenant, {"agent_id": agent_id}))
        log.info("agent %s created from %s@%s", agent_id, merged.name, merged.version)
        return Agent(agent_id, tenant, name, merged, allowed, memory, verdict, labels or {})

    # -- stages ---------------------------------------------------------------

    def _resolve(self, name: str, version: str | None, overrides: Mapping[str, Any]) -> AgentBlueprint:
        """Stage 1. Merge the blueprint with its ancestors (at most four levels)."""
        found = self._catalogue.get(name, version)
        if found is None:
            raise AgentCreationError("E-4001", "resolve", f"no blueprint {name!r}")
        return found.with_overrides(overrides)

    def _bind_tools(self, blueprint: AgentBlueprint, tenant: str) -> list[BoundTool]:
        """Stage 2. All missing tools are collected, so E-4021 lists every one."""
        bound: list[BoundTool] = []
        missing: list[str] = []
        for ref in blueprint.tools:
            try:
                bound.append(self._tools.bind(ref, tenant=tenant))
            except UnknownToolError:
                missing.append(ref)
        if missing:
            raise AgentCreationError("E-4021", "bind", "unknown tools: " + ", ".join(missing))
        return bound

    def _open_memory(self, tenant: str, name: str, blueprint: AgentBlueprint) -> MemoryStore:
        """Stage 3. Waits up to 3 seconds for the namespace lock."""
        try:
            return MemoryStore.open(tenant, name, scope=blueprint.memory_scope, wait_s=3)
        except NamespaceLocked as exc:
            raise AgentCreationError("E-4033", "memory", str(exc)) from exc

    def _apply_guard(self, blueprint: AgentBlueprint, bound: list[BoundTool], tenant: str) -> Verdict:
        """Stage 4. A missing guard means allow-all and is rejected outside ``dev``."""
        if self._guard is None:
            return Verdict.allow_all(t.name for t in bound)
        verdict = self._guard.review_blueprint(blueprint, tenant=tenant)
        if verdict.denied:
            raise AgentCreationError("E-4041", "guard", verdict.reason)
        return verdict

    def _register(self, tenant, name, blueprint, tools, labels) -> str:
        """Stage 5. Insert into ``agents.agent``; the id is ``agt_`` plus a ULID."""
        return self._catalogue.insert_agent(tenant, name, blueprint, tools, labels)

    def _check_deadline(self, deadline: float, stage: str) -> None:
        if self._clock() > deadline:
            raise AgentCreationError("E-4050", stage, f"not finished in {CREATE_TIMEOUT_S} s")

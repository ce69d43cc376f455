"""PolicyGuard: decides what an agent may do, at creation and at every tool call.

Policies come in bundles (YAML, signed). Rules are evaluated top to bottom; the first
matching ``deny`` wins over any ``allow``. When no rule matches, the bundle's ``default`` is
used, which is ``deny`` for bundles of schema version 2 and ``allow`` for version 1.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Iterable

APPROVAL_TTL = dt.timedelta(hours=72)
DECISION_BUDGET_MS = 40


@dataclass(frozen=True)
class Verdict:
    denied: bool
    reason: str
    allowed_tools: frozenset[str]
    obligations: tuple[str, ...] = ()

    @classmethod
    def allow_all(cls, names: Iterable[str]) -> "Verdict":
        return cls(False, "no guard", frozenset(names))


@dataclass
class SpendMeter:
    """Running cost of one workflow run, in US cents."""

    limit_cents: int
    used_cents: int = 0

    def charge(self, cents: int) -> None:
        """Book a cost; E-4210 once the run's budget is used up."""
        if self.used_cents + cents > self.limit_cents:
            raise PermissionError(f"E-4210 run budget of {self.limit_cents} cents used up")
        self.used_cents += cents


class PolicyGuard:
    def __init__(self, bundles, approvals, clock=lambda: dt.datetime.now(dt.timezone.utc)) -> None:
        self._bundles = bundles
        self._approvals = approvals
        self._clock = clock

    def review_blueprint(self, blueprint, *, tenant: str) -> Verdict:
        """Evaluate a blueprint. Several bundles: the intersection of their tools is allowed."""
        allowed = set(t.partition("@")[0] for t in blueprint.tools)
        for name in blueprint.policies:
            bundle = self._bundles.load(tenant, name)
            if bundle is None:
                return Verdict(True, f"E-4040 policy bundle {name} missing", frozenset())
            allowed &= bundle.tools_allowed(allowed)
        if blueprint.tools and not allowed:
            return Verdict(True, "no tool left after policy review", frozenset())
        return Verdict(False, "ok", frozenset(allowed))

    def check_call(self, agent, tool: str, arguments: dict) -> None:
        """Check one tool call. Raises E-4201 (denied) or E-4205 (approval needed).

        An approval is bound to the hash of the arguments and is valid for 72 hours; using
        it later raises E-4212. If the decision takes more than 40 ms, the call is denied.
        """
        started = self._clock()
        decision = self._bundles.decide(agent, tool, arguments)
        if (self._clock() - started) > dt.timedelta(milliseconds=DECISION_BUDGET_MS):
            raise PermissionError("E-4208 policy decision too slow, denied")
        if decision == "deny":
            raise PermissionError(f"E-4201 {tool} denied")
        if decision == "approve":
            granted = self._approvals.find(agent.agent_id, tool, arguments)
            if granted is None:
                raise PermissionError(f"E-4205 {tool} needs approval")
            if self._clock() - granted.at > APPROVAL_TTL:
                raise PermissionError("E-4212 approval expired")

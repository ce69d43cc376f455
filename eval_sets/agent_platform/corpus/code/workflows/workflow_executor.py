"""Workflow execution: the WorkflowExecutor runs a WorkflowGraph step by step.

Workflow execution in short
---------------------------
:meth:`WorkflowExecutor.run` takes a validated :class:`WorkflowGraph` and its inputs and
drives it to completion:

* steps whose predecessors are done go into a ready queue, ordered by priority and then
  by the time at which they became ready;
* up to ``max_parallel`` steps (16 by default) run at the same time;
* after every step a checkpoint is written, so that a crashed run continues with the
  first step that has no stored :class:`StepResult`;
* a failed step is retried with exponential backoff, and once the attempts are used up
  the run fails with E-5021 unless the step carries an ``on_error`` edge;
* the worker that owns a run holds a lease of 45 seconds and renews it every 15 seconds.
  A worker that loses its lease stops at once (E-5024) and another one takes over.

Workflow execution is *at least once* per step. Steps with side effects should either be
marked ``idempotent`` or use the ``idempotency_key`` handed to them.
"""

from __future__ import annotations

import heapq
import logging
import random
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping

from corvane.events.event_bus import Event, EventBus
from corvane.workflows.workflow_graph import Node, WorkflowGraph

log = logging.getLogger("corvane.workflows.executor")


@dataclass(frozen=True)
class RetryPolicy:
    """Backoff between attempts: ``base * factor ** (n - 1)``, capped, with jitter."""

    max_attempts: int = 4
    base_s: float = 2.0
    factor: float = 2.5
    cap_s: float = 60.0
    jitter: float = 0.2

    def delay(self, attempt: int) -> float:
        raw = min(self.cap_s, self.base_s * self.factor ** (attempt - 1))
        return raw * random.uniform(1 - self.jitter, 1 + self.jitter)


@dataclass(frozen=True)
class StepResult:
    """Outcome of one step. ``status`` is ok, skipped, failed or cancelled."""

    node: str
    status: str
    output: Any = None
    error_code: str | None = None
    attempts: int = 1
    duration_ms: int = 0


@dataclass
class RunState:
    run_id: str
    inputs: Mapping[str, Any]
    results: dict[str, StepResult] = field(default_factory=dict)
    cancelled: bool = False


class WorkflowError(RuntimeError):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code} {message}")
        self.code = code


class WorkflowExecutor:
    """Executes workflows: schedules ready steps, retries, checkpoints and resumes.

    One executor serves one worker process and may run several workflows one after the
    other. It is not safe to call :meth:`run` from two threads at the same time.
    """

    LEASE_S = 45
    HEARTBEAT_S = 15

    def __init__(
        self,
        store,
        bus: EventBus,
        *,
        max_parallel: int = 16,
        step_timeout_s: int = 120,
        retry: RetryPolicy = RetryPolicy(),
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store = store
        self._bus = bus
        self._max_parallel = max_parallel
        self._step_timeout_s = step_timeout_s
        self._retry = retry
        self._sleep = sleep

    def run(
        self,
        graph: WorkflowGraph,
        inputs: Mapping[str, Any],
        *,
        run_id: str | None = None,
        resume: bool = True,
    ) -> dict[str, StepResult]:
        """Run ``graph`` to the end and return one StepResult per node.

        With ``resume=True`` (the default) results stored under ``run_id`` are reused.
        ``resume=False`` discards them and bumps the run's *generation* number, which is
        part of every idempotency key.
        """
        graph.validate()
        state = self._load_or_create(graph, inputs, run_id, resume)
        ready: list[tuple[int, float, str]] = []
        for node in graph.ready(state.results):
            heapq.heappush(ready, (node.priority, time.monotonic(), node.name))

        running: dict[Future, Node] = {}
        with ThreadPoolExecutor(self._max_parallel) as pool:
            while ready or running:
                self._store.renew_lease(state.run_id, self.LEASE_S)
                while ready and len(running) < self._max_parallel and not state.cancelled:
                    _, _, name = heapq.heappop(ready)
                    node = graph.node(name)
                    running[pool.submit(self._run_step, node, state)] = node
                done, _ = wait(running, timeout=self.HEARTBEAT_S, return_when=FIRST_COMPLETED)
                for future in done:
                    node = running.pop(future)
                    result = future.result()
                    state.results[node.name] = result
                    self._store.checkpoint(state.run_id, result)
                    if result.status == "failed" and not graph.handles_error(node.name):
                        self._compensate(graph, state)
                        raise WorkflowError(result.error_code or "E-5021", node.name)
                    for nxt in graph.successors_ready(node.name, state.results):
                        heapq.heappush(ready, (nxt.priority, time.monotonic(), nxt.name))
        self._bus.publish(Event("workflow.finished", graph.tenant, {"run_id": state.run_id}))
        return state.results

    def cancel(self, state: RunState) -> None:
        """Stop starting new steps; steps already running get 30 seconds to finish."""
        state.cancelled = True
        self._store.mark_cancelled(state.run_id, grace_s=30)

    def _run_step(self, node: Node, state: RunState) -> StepResult:
        started = time.monotonic()
        policy = node.retry or self._retry
        for attempt in range(1, policy.max_attempts + 1):
            try:
                output = node.call(
                    inputs=state.inputs,
                    upstream={k: r.output for k, r in state.results.items()},
                    idempotency_key=f"{state.run_id}:{node.name}",
                    timeout_s=node.timeout_s or self._step_timeout_s,
                )
            except node.non_retryable as exc:
                return StepResult(node.name, "failed", error_code=getattr(exc, "code", "E-5020"))
            except Exception as exc:  # noqa: BLE001 - every failure counts as an attempt
                log.warning("step %s attempt %d failed: %s", node.name, attempt, exc)
                if attempt == policy.max_attempts:
                    return StepResult(node.name, "failed", error_code="E-5021", attempts=attempt)
                self._sleep(policy.delay(attempt))
            else:
                elapsed = int((time.monotonic() - started) * 1000)
                return StepResult(node.name, "ok", output, None, attempt, elapsed)
        raise AssertionError("unreachable")

    def _compensate(self, graph: WorkflowGraph, state: RunState) -> None:
        """Call ``compensate`` of finished steps, newest first; errors become E-5044."""
        for name in reversed(list(state.results)):
            node = graph.node(name)
            if node.compensate and state.results[name].status == "ok":
                try:
                    node.compensate(state.results[name].output)
                except Exception:  # noqa: BLE001
                    log.exception("E-5044 compensation of %s failed", name)

    def _load_or_create(self, graph, inputs, run_id, resume) -> RunState:
        if run_id and resume:
            stored = self._store.load(run_id)
            if stored is not None:
                return stored
        return self._store.create(graph, inputs, run_id)

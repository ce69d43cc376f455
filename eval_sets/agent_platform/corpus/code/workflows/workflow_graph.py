"""WorkflowGraph: nodes, edges and the checks made before anything is started.

The graph is a directed acyclic graph. Loops are expressed with a ``foreach`` node, whose
body is a sub-graph, never with a back edge.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping

MAX_NODES = 400
MAX_FANOUT = 50
FOREACH_LIMIT = 1_000


class GraphError(ValueError):
    """Structural problem; the message starts with its E-50xx code."""


@dataclass
class Node:
    name: str
    call: Callable[..., Any]
    priority: int = 100                 # lower runs earlier
    timeout_s: int | None = None
    retry: Any = None
    idempotent: bool = False
    compensate: Callable[[Any], None] | None = None
    non_retryable: tuple[type[Exception], ...] = ()
    join: str = "all"                   # all | any


@dataclass(frozen=True)
class Edge:
    source: str
    target: str
    when: str = "ok"                    # ok | on_error | always


class WorkflowGraph:
    """Holds nodes and edges of one workflow version."""

    def __init__(self, name: str, tenant: str, version: int = 1) -> None:
        self.name = name
        self.tenant = tenant
        self.version = version
        self._nodes: dict[str, Node] = {}
        self._edges: list[Edge] = []

    def add(self, node: Node) -> "WorkflowGraph":
        if node.name in self._nodes:
            raise GraphError(f"E-5003 duplicate node {node.name}")
        self._nodes[node.name] = node
        return self

    def connect(self, source: str, target: str, when: str = "ok") -> "WorkflowGraph":
        self._edges.append(Edge(source, target, when))
        return self

    def node(self, name: str) -> Node:
        return self._nodes[name]

    def validate(self) -> None:
        """Run all structural checks.

        Order of the checks: size (E-5004), unknown end points (E-5006), entry node
        present (E-5005), cycle (E-5001), unreachable node (E-5002), fan-out (E-5007).
        Only the first problem is reported.
        """
        if len(self._nodes) > MAX_NODES:
            raise GraphError(f"E-5004 more than {MAX_NODES} nodes")
        for e in self._edges:
            if e.source not in self._nodes or e.target not in self._nodes:
                raise GraphError(f"E-5006 edge {e.source} -> {e.target} has an unknown end")
        entries = [n for n in self._nodes if not any(e.target == n for e in self._edges)]
        if not entries:
            raise GraphError("E-5005 no entry node")
        order = self.topological_order()
        if len(order) != len(self._nodes):
            raise GraphError("E-5001 the graph has a cycle")
        for name in self._nodes:
            if sum(e.source == name for e in self._edges) > MAX_FANOUT:
                raise GraphError(f"E-5007 {name} has more than {MAX_FANOUT} successors")

    def topological_order(self) -> list[str]:
        """Kahn's algorithm; ties are broken by insertion order."""
        degree = {n: 0 for n in self._nodes}
        for e in self._edges:
            degree[e.target] += 1
        queue = deque(n for n, d in degree.items() if d == 0)
        order: list[str] = []
        while queue:
            current = queue.popleft()
            order.append(current)
            for e in self._edges:
                if e.source == current:
                    degree[e.target] -= 1
                    if degree[e.target] == 0:
                        queue.append(e.target)
        return order

    def ready(self, results: Mapping[str, Any]) -> Iterable[Node]:
        """Nodes without a result whose incoming edges are satisfied."""
        for name, node in self._nodes.items():
            if name not in results and self._satisfied(node, results):
                yield node

    def successors_ready(self, name: str, results: Mapping[str, Any]) -> Iterable[Node]:
        targets = {e.target for e in self._edges if e.source == name}
        return (n for n in self.ready(results) if n.name in targets)

    def handles_error(self, name: str) -> bool:
        return any(e.source == name and e.when in ("on_error", "always") for e in self._edges)

    def _satisfied(self, node: Node, results: Mapping[str, Any]) -> bool:
        incoming = [e for e in self._edges if e.target == node.name]
        if not incoming:
            return True
        met = [self._edge_met(e, results) for e in incoming]
        return any(met) if node.join == "any" else all(met)

    @staticmethod
    def _edge_met(edge: Edge, results: Mapping[str, Any]) -> bool:
        result = results.get(edge.source)
        if result is None:
            return False
        if edge.when == "always":
            return True
        return (result.status == "ok") == (edge.when == "ok")

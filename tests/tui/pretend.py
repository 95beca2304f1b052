"""A cluster on which nothing is done: the test hears what is asked of it, and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placetui.observe.operations import Failure, Reporter
from placetui.placement.plan import GPU, Plan

ADDRESS = "10.0.0.1:6379"


class PretendedOperation:
    """Something that was asked for."""

    def __init__(self, kind: str, reporter: Reporter, body: Mapping[str, Any]) -> None:
        self.kind = kind
        self.body = body
        self.interrupted = False
        self.answers: list[Any] = []
        self._reporter = reporter

    def interrupt(self) -> None:
        self.interrupted = True

    def answer(self, value: Any) -> None:
        self.answers.append(value)

    # What the test does

    def tell(self, **step: Any) -> None:
        self._reporter.told(step)

    def succeed(self, **result: Any) -> None:
        self._reporter.finished(result)

    def fail(self, message: str, hint: str = "", *, interrupted: bool = False, **details: Any) -> None:
        self._reporter.finished(Failure(message, hint, interrupted, details))

    def check(self, plan: Plan, *, ask: bool = True) -> None:
        """All steps of a launch up to the question whether to go on."""
        self._bundles = sum(node.gpus for node in plan.nodes)
        nodes = [
            {"rank": node.rank, "node_id": f"id{node.rank}", "ip": f"10.0.0.{node.rank + 1}", "host": node.name,
             "gpus": node.gpus}
            for node in plan.nodes
        ]  # fmt: skip
        self.tell(step="connect", address=ADDRESS, ray="2.60.0", nodes=len(nodes))
        self.tell(step="match", by="RLINF_NODE_RANK", nodes=nodes, warnings=[])
        self.tell(
            step="check",
            nodes=[
                {"node_rank": one["rank"], "node": one["ip"], "resource": "GPU"}
                | dict.fromkeys(("needed", "free", "total"), one["gpus"])
                for one in nodes
            ],
            groups={name: component.world_size for name, component in plan.components.items()},
            expected=[
                {
                    "component": name,
                    "rank": one.rank,
                    "node_rank": one.cluster_node_rank,
                    "node": f"10.0.0.{one.cluster_node_rank + 1}",
                    "planned": list(one.local_hardware_ranks) if plan.kind_of(one) == GPU else [],
                    "gpu_ids": [str(index) for index in one.local_hardware_ranks],
                }
                for name, component in plan.components.items()
                for one in component.placements
            ],
        )
        if ask:
            self.tell(step="check", question="launch")

    def reserve(self, moved: list[dict[str, Any]] | None = None) -> None:
        self.tell(step="reserve", bundles=self._bundles)
        self.tell(step="probe", seconds=0.1, devices=[], moved=moved or [])

    def start(self, plan: Plan, state: str = "alive") -> None:
        """Every rank is in this state now."""
        for name, component in plan.components.items():
            for rank in range(component.world_size):
                self.tell(step="launch", component=name, rank=rank, state=state)

    def be_ready(self, plan: Plan) -> None:
        ranks = [
            {"component": name, "rank": one.rank, "node": "10.0.0.1", "pid": 1000 + one.rank}
            for name, component in plan.components.items()
            for one in component.placements
        ]
        self.tell(step="ready", job=self.body["job"], ranks=ranks)


class PretendedOperations:
    """Operations of which nothing comes but what the test says."""

    def __init__(self, refusal: str = "") -> None:
        self.refusal = refusal
        self.begun: list[PretendedOperation] = []
        self.replies: dict[str, Mapping[str, Any] | Failure] = {}
        """By kind, what is answered at once."""

    def begin(self, kind: str, reporter: Reporter, *, timeout: float = 60.0, **body: Any) -> PretendedOperation:
        operation = PretendedOperation(kind, reporter, body)
        self.begun.append(operation)
        if kind in self.replies:
            reporter.finished(self.replies[kind])
        return operation

    def of(self, kind: str) -> PretendedOperation:
        """The last that was asked for of a kind."""
        return [operation for operation in self.begun if operation.kind == kind][-1]

    def asked(self, kind: str) -> bool:
        return any(operation.kind == kind for operation in self.begun)

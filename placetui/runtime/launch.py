"""Starting the ranks: the first of each component, then all others at once, then everybody's worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from placetui.placement.environment import (
    NAMESPACE,
    interpreter,
    rank_environment,
    visible_devices_variable,
    worker_name,
)
from placetui.placement.plan import SHARE_UNITS, Plan
from placetui.placement.problems import listing
from placetui.runtime import making, private, shell
from placetui.runtime.demand import ENGINES, Demand, LaunchOptions, Seat
from placetui.runtime.engines import EnginePart, engine_arguments, sizes_by_node
from placetui.runtime.errors import ClusterError, first_line
from placetui.runtime.making import Making
from placetui.runtime.model import RayNode
from placetui.runtime.ordering import Order
from placetui.runtime.waiting import Patience

Rank = tuple[str, int]
"""Component and rank."""

_MODEL = "accelerator_type:"
"""Before the name of a node's accelerator, among its resources."""


@dataclass(frozen=True)
class Setting:
    """All that is known when ranks can be started."""

    job: str | None
    """None for a group of a program, whose ranks have names of their own and end with it."""

    plan: Plan
    """With the devices that were obtained."""

    demand: Demand
    order: Order
    nodes: Sequence[RayNode]
    groups: Sequence[Any]
    """By logical device, the placement group that has it."""

    python_path: Sequence[str]
    uid: str = ""
    """Of the job."""

    namespace: str = NAMESPACE


class Launcher:
    """Starts the ranks of a job."""

    def __init__(
        self,
        ray: Any,
        setting: Setting,
        patience: Patience,
        report: Callable[[str, int, str], None],
        keep: Callable[[Making], None] | None = None,
    ) -> None:
        self._ray = ray
        self._setting = setting
        self._patience = patience
        self._report = report
        self._keep = keep
        self._options = {name: LaunchOptions.read(setting.plan, name) for name in setting.plan.components}
        self._actors: dict[Rank, Any] = {}
        self._made: dict[Rank, Making] = {}
        self._greetings: dict[Rank, Mapping[str, Any]] = {}
        private.ship_by_value(shell, private)
        self._shell = ray.remote(shell.Shell)

    def run(self) -> list[dict[str, Any]]:
        """Start everything; the ranks as `up --json` tells them.

        Raises:
            ClusterError: a rank did not come up.
        """
        seats = self._setting.demand.seats
        first = [seat for seat in seats if seat.rank == 0]
        self._create(first)
        self._greet(first)
        others = [seat for seat in seats if seat.rank != 0]
        self._create(others)
        self._greet(others)
        engines = self._engines()
        if self._keep:
            self._keep_all(seats, engines, self._keep)
        self._construct(seats, engines)
        return [self._describe(seat, engines) for seat in seats]

    def handles(self, component: str) -> list[Any]:
        """Actors of the ranks that were started, by rank."""
        return [self._actors[one] for one in sorted(self._actors) if one[0] == component]

    def _create(self, seats: Sequence[Seat]) -> None:
        for seat in seats:
            self._patience.check(lambda: f"{len(self._actors)} ranks are started")
            made = self._making(seat)
            try:
                actor = self._shell.options(**made.options()).remote(made.spec)
            except Exception as problem:
                raise failed_rank(seat.component, seat.rank, first_line(problem)) from problem
            self._actors[seat.component, seat.rank] = actor
            self._made[seat.component, seat.rank] = made
            self._report(seat.component, seat.rank, "starting")

    def _greet(self, seats: Sequence[Seat]) -> None:
        asked = {self._actors[seat.component, seat.rank].begin.remote(): seat for seat in seats}
        for seat, reference in self._patience.gather(self._ray, asked, lambda left: f"{_names(left)} did not start"):
            self._greetings[seat.component, seat.rank] = self._outcome(seat, reference)

    def _keep_all(
        self, seats: Sequence[Seat], engines: Mapping[int, Mapping[str, Any]], keep: Callable[[Making], None]
    ) -> None:
        """Keep what everybody is made from: before a worker is built that may have to be built again."""
        for seat in seats:
            self._patience.check(lambda: "what the ranks are made from is being stored")
            greeting = self._greetings[seat.component, seat.rank]
            made = self._made[seat.component, seat.rank]
            master = {name: greeting[name] for name in ("master_addr", "master_port")}
            keep(replace(made, spec={**made.spec, **master}, engine=self._engine_of(seat, engines)))

    def _construct(self, seats: Sequence[Seat], engines: Mapping[int, Mapping[str, Any]]) -> None:
        asked = {
            self._actors[seat.component, seat.rank].construct.remote(self._engine_of(seat, engines)): seat
            for seat in seats
        }
        slow = "the worker's constructor has not returned on"
        for seat, reference in self._patience.gather(self._ray, asked, lambda left: f"{slow} {_names(left)}"):
            outcome = self._outcome(seat, reference)
            if "error" in outcome:
                raise failed_rank(seat.component, seat.rank, outcome["error"], outcome["traceback"])
            self._report(seat.component, seat.rank, "alive")

    def _outcome(self, seat: Seat, reference: Any) -> Mapping[str, Any]:
        try:
            outcome: Mapping[str, Any] = self._ray.get(reference)
        except Exception as problem:
            lines = [line for line in str(problem).splitlines() if line.strip()]
            raise failed_rank(seat.component, seat.rank, first_line(problem), lines[-shell.LAST_LINES :]) from problem
        return outcome

    def _making(self, seat: Seat) -> Making:
        setting = self._setting
        environment = self._environment(seat)
        # Told to Ray it would be taken for the node's own list; the shell sets it.
        variable = visible_devices_variable(
            setting.plan.components[seat.component].placements[seat.rank].accelerator_type
        )
        runtime_env: dict[str, Any] = {"env_vars": {k: v for k, v in environment.items() if k != variable}}
        if python := interpreter(setting.plan, seat.component, seat.rank):
            runtime_env["py_executable"] = python
        return Making(
            name=worker_name(seat.component, seat.rank, setting.job),
            namespace=setting.namespace,
            detached=setting.job is not None,
            num_gpus=seat.gpu_units / SHARE_UNITS,
            num_cpus=seat.cpu_units / SHARE_UNITS,
            max_restarts=self._options[seat.component].max_restarts,
            max_concurrency=self._options[seat.component].max_concurrency,
            runtime_env=runtime_env,
            node=setting.nodes[seat.node].id,
            spec=self._spec(seat, environment),
            group=setting.groups[seat.bundles[0]].id.hex() if seat.bundles else "",
            bundle=setting.order.bundles[seat.bundles[0]].bundle if seat.bundles else 0,
            captures=self._is_engine(seat),
        )

    def _spec(self, seat: Seat, environment: Mapping[str, str]) -> dict[str, Any]:
        options = self._options[seat.component]
        master = self._greetings.get((seat.component, 0), {})
        return {
            "key": making.key(self._setting.job or "", self._setting.uid, seat.component, seat.rank),
            "rank": seat.rank,
            "world_size": self._setting.plan.components[seat.component].world_size,
            "environment": dict(environment),
            "python_path": list(self._setting.python_path),
            "worker": options.worker,
            "args": options.args,
            "kwargs": dict(options.kwargs),
            "master_addr": master.get("master_addr"),
            "master_port": master.get("master_port"),
        }

    def _environment(self, seat: Seat) -> dict[str, str]:
        nodes = self._setting.nodes
        named = [name for name in nodes[seat.node].resources if name.startswith(_MODEL)]
        environment = rank_environment(
            self._setting.plan,
            seat.component,
            seat.rank,
            job=self._setting.job,
            addresses=[node.ip for node in nodes],
            model=named[0].removeprefix(_MODEL) if named else None,
            master_port=self._greetings.get((seat.component, 0), {}).get("master_port"),
        )
        return {**environment, "CLUSTER_NAMESPACE": self._setting.namespace}

    # Engines

    def _is_engine(self, seat: Seat) -> bool:
        return self._setting.plan.mode == "slime" and seat.component == ENGINES

    def _engine_of(self, seat: Seat, engines: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        return dict(engines[seat.rank]) if self._is_engine(seat) else {}

    def _engines(self) -> dict[int, dict[str, Any]]:
        """Arguments of the engine ranks; each node is asked for free ports by one of its own."""
        seats = [seat for seat in self._setting.demand.seats if self._is_engine(seat)]
        if not seats:
            return {}
        parts_per_engine = self._setting.plan.components[ENGINES].parts_per_engine
        parts = [
            EnginePart(seat.rank, seat.node, self._setting.order.gpu_ids(seat)[0], parts_per_engine) for seat in seats
        ]
        written = self._options[ENGINES].kwargs.get("dp_size", 1)
        dp_size = written if type(written) is int and written > 0 else 1
        sizes = sizes_by_node(parts, dp_size)
        asked = {}
        for seat in seats:
            if seat.node in sizes:
                finder = self._actors[seat.component, seat.rank].find_ports
                asked[finder.remote(sizes.pop(seat.node))] = seat
        ports = {
            seat.node: self._found_ports(seat, reference)
            for seat, reference in self._patience.gather(self._ray, asked, lambda left: f"ports of {_names(left)}")
        }
        return engine_arguments(parts, [node.ip for node in self._setting.nodes], ports, dp_size)

    def _found_ports(self, seat: Seat, reference: Any) -> list[int]:
        try:
            return list(self._ray.get(reference))
        except Exception as problem:
            raise failed_rank(seat.component, seat.rank, first_line(problem)) from problem

    def _describe(self, seat: Seat, engines: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        greeting = self._greetings[seat.component, seat.rank]
        found = {
            "component": seat.component,
            "rank": seat.rank,
            "node": self._setting.nodes[seat.node].ip,
            "node_rank": seat.node,
            "gpu_ids": self._setting.order.gpu_ids(seat),
            "share": seat.gpu_units / SHARE_UNITS if seat.bundles else None,
            "pid": greeting["pid"],
            "actor_id": private.actor_id(self._actors[seat.component, seat.rank]),
        }
        return {**found, "engine": self._engine_of(seat, engines)} if self._is_engine(seat) else found


def failed_rank(component: str, rank: int, reason: str, traceback: Sequence[str] = ()) -> ClusterError:
    """What to say about a rank that did not come up."""
    return ClusterError(
        f"{component}:{rank} did not come up: {reason}",
        component=component,
        rank=rank,
        traceback=list(traceback),
    )


def _names(seats: Sequence[Seat]) -> str:
    return listing((f"{seat.component}:{seat.rank}" for seat in seats), 6)

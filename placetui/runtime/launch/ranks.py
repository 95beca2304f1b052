"""Starting the ranks: the first of each component, then all others at once, then everybody's worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from placetui.placement.environment import (
    NAMESPACE,
    interpreter,
    rank_environment,
    visible_devices_variable,
    worker_name,
)
from placetui.placement.plan import SHARE_UNITS, Plan, RankOfEngine
from placetui.placement.wording import listing
from placetui.runtime import remote
from placetui.runtime.errors import RankFailure
from placetui.runtime.gcs.driver import actor_id, ship_by_value, upload_code
from placetui.runtime.gcs.model import RayNode
from placetui.runtime.jobs import rank_spec
from placetui.runtime.jobs.rank_spec import RankSpec
from placetui.runtime.launch.demand import ENGINES, Demand, LaunchOptions, RankNeeds
from placetui.runtime.launch.ordering import Order
from placetui.runtime.policy import Deadline
from placetui.runtime.remote import rank_actor

Rank = tuple[str, int]
_MODEL = "accelerator_type:"
"""Before the name of a node's accelerator, among its resources."""


@dataclass
class Launcher:
    """Starts the ranks of a job."""

    ray: Any
    job: str | None
    """None for a group of a program, whose ranks have their own names and end with it."""

    plan: Plan
    """With the devices that were obtained."""

    demand: Demand
    order: Order
    nodes: Sequence[RayNode]
    groups: Sequence[Any]
    """By logical device, the placement group that has it."""

    python_path: Sequence[str]
    deadline: Deadline
    report: Callable[[str, int, str], None] = lambda component, rank, state: None
    """Hears how each rank comes up."""

    keep: Callable[[RankSpec], None] | None = None
    """Stores what a rank is made from."""

    meanwhile: Callable[[], object] = bool
    """Called now and then while ranks are awaited, before any of them runs code."""

    uid: str = ""
    namespace: str = NAMESPACE
    working_dir: str = ""
    """For components whose runtime environment has none."""

    def __post_init__(self) -> None:
        self._options = {name: LaunchOptions.read(self.plan, name) for name in self.plan.components}
        self._actors: dict[Rank, Any] = {}
        self._made: dict[Rank, RankSpec] = {}
        self._greetings: dict[Rank, Mapping[str, Any]] = {}
        self._engines: dict[int, dict[str, Any]] = {}
        self._runtime_envs: dict[str, Mapping[str, Any]] = {}
        ship_by_value(remote)
        self._rank_actor = self.ray.remote(rank_actor.RankActor)

    def run(self) -> list[dict[str, Any]]:
        """Start everything; the ranks as `up --json` tells them."""
        ranks = self.demand.ranks
        first = [needs for needs in ranks if needs.rank == 0]
        self._create(first)
        self._greet(first)
        others = [needs for needs in ranks if needs.rank != 0]
        self._create(others)
        self._greet(others)
        self._engines = self._engine_arguments()
        if self.keep:
            self._keep_all(ranks, self.keep)
        self._construct(ranks)
        return [self._describe(needs) for needs in ranks]

    def handles(self, component: str) -> list[Any]:
        """Actors of the ranks that were started, by rank."""
        return [self._actors[one] for one in sorted(self._actors) if one[0] == component]

    def _create(self, ranks: Sequence[RankNeeds]) -> None:
        for needs in ranks:
            self.deadline.check(lambda: f"{len(self._actors)} ranks are started")
            made = self._making(needs)
            try:
                actor = self._rank_actor.options(**made.options()).remote(made.spec)
            except Exception as problem:
                raise RankFailure.of(problem).error(*needs.key) from problem
            self._actors[needs.key] = actor
            self._made[needs.key] = made
            self.report(*needs.key, "starting")

    def _greet(self, ranks: Sequence[RankNeeds]) -> None:
        asked = {self._actors[needs.key].begin.remote(): needs for needs in ranks}
        for needs, greeting in self._answers(asked, "{} did not start", self.meanwhile):
            self._greetings[needs.key] = greeting

    def _keep_all(self, ranks: Sequence[RankNeeds], keep: Callable[[RankSpec], None]) -> None:
        """Keep what everybody is made from: before a worker is built that may have to be built again."""
        for needs in ranks:
            self.deadline.check(lambda: "storing the launch data of the ranks")
            greeting = self._greetings[needs.key]
            made = self._made[needs.key]
            master = {name: greeting[name] for name in ("master_addr", "master_port")}
            complete = replace(made, spec={**made.spec, **master}, engine=self._engine_of(needs))
            keep(complete.without(self._options[needs.component].secret))

    def _construct(self, ranks: Sequence[RankNeeds]) -> None:
        asked = {self._actors[needs.key].construct.remote(self._engine_of(needs)): needs for needs in ranks}
        for needs, outcome in self._answers(asked, "the worker's constructor has not returned on {}"):
            if "error" in outcome:
                raise RankFailure(outcome["error"], tuple(outcome["traceback"])).error(*needs.key)
            self.report(*needs.key, "alive")

    def _answers(
        self, asked: Mapping[Any, RankNeeds], waiting_for: str, meanwhile: Callable[[], object] = bool
    ) -> Iterator[tuple[RankNeeds, Any]]:
        """What ranks answer, as it comes; `waiting_for` has room for those that have not yet."""
        for needs, reference in self.deadline.gather(
            self.ray, asked, lambda left: waiting_for.format(listing(map(str, left), 6)), meanwhile
        ):
            try:
                answer = self.ray.get(reference)
            except Exception as problem:
                raise RankFailure.of(problem).error(*needs.key) from problem
            yield needs, answer

    def _making(self, needs: RankNeeds) -> RankSpec:
        environment = self._environment(needs)
        # Told to Ray it would be taken for the node's own list; its actor sets it.
        variable = visible_devices_variable(
            self.plan.components[needs.component].placements[needs.rank].accelerator_type
        )
        runtime_env = dict(self._runtime_env(needs.component))
        given = {str(name): str(value) for name, value in (runtime_env.get("env_vars") or {}).items()}
        environment = {**given, **environment}
        runtime_env["env_vars"] = {name: value for name, value in environment.items() if name != variable}
        if python := interpreter(self.plan, needs.component, needs.rank):
            runtime_env["py_executable"] = python
        return RankSpec(
            name=worker_name(needs.component, needs.rank, self.job),
            namespace=self.namespace,
            detached=self.job is not None,
            num_gpus=needs.gpu_units / SHARE_UNITS,
            device=self.nodes[needs.node].device,
            num_cpus=needs.cpu_units / SHARE_UNITS,
            max_restarts=self._options[needs.component].max_restarts,
            max_concurrency=self._options[needs.component].max_concurrency,
            runtime_env=runtime_env,
            node=self.nodes[needs.node].id,
            spec=self._spec(needs, environment),
            group=self.groups[needs.bundles[0]].id.hex() if needs.bundles else "",
            bundle=self.order.bundles[needs.bundles[0]].bundle if needs.bundles else 0,
            captures=self._is_engine(needs),
        )

    def _runtime_env(self, component: str) -> Mapping[str, Any]:
        """Of a component, with its code in the cluster; sent once."""
        if component not in self._runtime_envs:
            written = dict(self._options[component].runtime_env)
            if self.working_dir:
                written.setdefault("working_dir", self.working_dir)
            local = {"working_dir", "py_modules"} & set(written)
            self._runtime_envs[component] = upload_code(written) if local else written
        return self._runtime_envs[component]

    def _spec(self, needs: RankNeeds, environment: Mapping[str, str]) -> dict[str, Any]:
        options = self._options[needs.component]
        master = self._greetings.get((needs.component, 0), {})
        return {
            "key": rank_spec.key(self.job or "", self.uid, needs.component, needs.rank),
            "rank": needs.rank,
            "world_size": self.plan.components[needs.component].world_size,
            "environment": dict(environment),
            "python_path": list(self.python_path),
            "worker": options.worker,
            "args": options.args,
            "kwargs": dict(options.kwargs),
            "master_addr": master.get("master_addr"),
            "master_port": master.get("master_port"),
        }

    def _environment(self, needs: RankNeeds) -> dict[str, str]:
        nodes = self.nodes
        named = [name for name in nodes[needs.node].resources if name.startswith(_MODEL)]
        environment = rank_environment(
            self.plan,
            needs.component,
            needs.rank,
            job=self.job,
            addresses=[node.ip for node in nodes],
            model=named[0].removeprefix(_MODEL) if named else None,
            master_port=self._greetings.get((needs.component, 0), {}).get("master_port"),
        )
        return {**environment, "CLUSTER_NAMESPACE": self.namespace}

    # Engines

    def _is_engine(self, needs: RankNeeds) -> bool:
        return bool(self.plan.components[needs.component].engines)

    def _engine_of(self, needs: RankNeeds) -> dict[str, Any]:
        return self._engines[needs.rank] if self._is_engine(needs) else {}

    def _engine_arguments(self) -> dict[int, dict[str, Any]]:
        """Arguments of the engine ranks; each node is asked for free ports by one of its own."""
        ranks = [needs for needs in self.demand.ranks if self._is_engine(needs)]
        if not ranks:
            return {}
        engines = self.plan.components[ENGINES].engines
        parts = [
            EnginePart(needs.rank, needs.node, self.order.gpu_ids(needs)[0], engines[needs.rank]) for needs in ranks
        ]
        written = self._options[ENGINES].kwargs.get("dp_size", 1)
        dp_size = written if type(written) is int and written > 0 else 1
        sizes = sizes_by_node(parts, dp_size)
        asked = {}
        for needs in ranks:
            if needs.node in sizes:
                finder = self._actors[needs.key].find_ports
                asked[finder.remote(sizes.pop(needs.node))] = needs
        ports = {needs.node: found for needs, found in self._answers(asked, "ports of {}")}
        return engine_arguments(parts, [node.ip for node in self.nodes], ports, dp_size)

    def _describe(self, needs: RankNeeds) -> dict[str, Any]:
        greeting = self._greetings[needs.key]
        found = {
            "component": needs.component,
            "rank": needs.rank,
            "node": self.nodes[needs.node].ip,
            "node_rank": needs.node,
            "gpu_ids": self.order.gpu_ids(needs),
            "share": needs.gpu_units / SHARE_UNITS if needs.bundles else None,
            "pid": greeting["pid"],
            "actor_id": actor_id(self._actors[needs.key]),
        }
        return {**found, "engine": self._engine_of(needs)} if self._is_engine(needs) else found


# What the parts of an engine need to find each other

DIST_PORTS = 30
"""Consecutive ports from `dist_init_addr` on, besides one for each data-parallel replica: slime's number."""


@dataclass(frozen=True, slots=True)
class EnginePart:
    """One rank of an engine component."""

    rank: int
    node: int
    """Rank of its planned node."""

    base_gpu_id: str
    place: RankOfEngine


def blocks_of(part: EnginePart, dp_size: int) -> list[int]:
    """Sizes of the port blocks that a part needs on its node: service, NCCL, and for a first part the rest."""
    return [1, 1, DIST_PORTS + dp_size] if part.place.part == 0 else [1, 1]


def sizes_by_node(parts: Sequence[EnginePart], dp_size: int) -> dict[int, list[int]]:
    """All block sizes of each node, in the order of its parts."""
    sizes: dict[int, list[int]] = {}
    for part in parts:
        sizes.setdefault(part.node, []).extend(blocks_of(part, dp_size))
    return sizes


def engine_arguments(
    parts: Sequence[EnginePart], addresses: Sequence[str], ports: Mapping[int, Sequence[int]], dp_size: int
) -> dict[int, dict[str, Any]]:
    """By rank, the arguments of its worker; `ports` are by planned node those of the blocks of `sizes_by_node`."""
    given = {node: iter(blocks) for node, blocks in ports.items()}
    found: dict[int, dict[str, Any]] = {}
    for part in parts:
        blocks = [next(given[part.node]) for _ in blocks_of(part, dp_size)]
        host = addresses[part.node]
        found[part.rank] = {
            "host": host,
            "port": blocks[0],
            "nccl_port": blocks[1],
            "base_gpu_id": int(part.base_gpu_id) if part.base_gpu_id.isdecimal() else part.base_gpu_id,
            "node_rank": part.place.part,
            "nnodes": part.place.parts,
            "engine": part.place.engine,
        }
        if part.place.part == 0:
            first = blocks[2]
            found[part.rank] |= {
                "dist_init_addr": f"[{host}]:{first}" if ":" in host else f"{host}:{first}",
                "data_parallel_ports": list(range(first + 1, first + DIST_PORTS + dp_size)),
            }
        else:
            of_first = found[part.rank - part.place.part]
            found[part.rank] |= {name: of_first[name] for name in ("dist_init_addr", "data_parallel_ports")}
    return found

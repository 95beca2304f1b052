"""Groups that a program starts: `MyWorker.create_group().launch(cluster, placement_strategy=…)`."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from placetui.placement.placements import Placement
from placetui.placement.plan import GPU, Component, Plan, Rule
from placetui.placement.strategies import NodePlacementStrategy, PackedPlacementStrategy, PlacementStrategy
from placetui.placement.topology import Topology
from placetui.runtime.api.cluster import join
from placetui.runtime.api.devices import RANK_UNITS
from placetui.runtime.api.session import DriverSession, within
from placetui.runtime.errors import NotPossible
from placetui.runtime.gcs.driver import ship_by_value
from placetui.runtime.gcs.importing import import_ray
from placetui.runtime.gcs.model import RayNode
from placetui.runtime.jobs.group import Pending, RankGroup
from placetui.runtime.launch.demand import demand_of
from placetui.runtime.launch.ordering import as_obtained
from placetui.runtime.launch.ranks import Launcher
from placetui.runtime.policy import DEFAULT
from placetui.runtime.remote import worker


class WorkerGroup(RankGroup):
    """Workers of one class, one for each rank. A method of the worker called on the group is called on all ranks.

    The call returns at once; `wait()` on what it returns gives the results by rank. A method that has the name of one
    of the group's own is reached by `begin("name", …)`.
    """

    def __init__(self, made: type[worker.Worker], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__([], made.__name__)
        self._made = made
        self._args = args
        self._kwargs = kwargs
        self._session: DriverSession | None = None

    def launch(
        self,
        cluster: Topology,
        placement_strategy: PlacementStrategy | None = None,
        name: str | None = None,
        isolate_accelerator: bool = True,
        max_concurrency: int | None = None,
        *,
        isolate_gpu: bool | None = None,
        timeout: float = DEFAULT.launch,
    ) -> WorkerGroup:
        """Start the ranks, and wait until all of them are built.

        Args:
            cluster: what to place on.
            placement_strategy: who goes where; without it, one process on each accelerator, or node if there are none.
            name: of the group, by default that of the class.
            isolate_accelerator: whether a process sees only the accelerators it owns.
            max_concurrency: calls that a rank answers at a time, in threads; by default one.
            isolate_gpu: older spelling of `isolate_accelerator`.
            timeout: seconds.

        Raises:
            PlacementError: the strategy does not fit on the cluster.
            ClusterError: no cluster, no room, or a rank did not come up; then nothing of the group is left.
        """
        if self._session:
            raise NotPossible(f"the group `{self.name}` runs already", hint="create another with create_group()")
        if isolate_gpu is not None:
            isolate_accelerator = isolate_gpu
        strategy = placement_strategy or _default(cluster)
        placements = list(strategy.get_placement(cluster, isolate_accelerator))
        session, nodes = join(cluster)
        self.name = name = name or self._made.__name__
        _check(placements, nodes, strategy)
        if name in session.names:
            raise NotPossible(
                f"there is a group `{name}` already", hint="give this one another name: launch(…, name=…)"
            )
        options = {"worker": self._made, "args": self._args, "kwargs": self._kwargs, "max_concurrency": max_concurrency}
        ship_by_value(worker)
        _ship_class(self._made)
        session.names.add(name)
        try:
            self.handles = _start(session, nodes, _plan(cluster, name, placements, options), timeout)
        except BaseException:
            session.names.discard(name)
            raise
        self._session = session
        return self

    def down(self) -> None:
        """Stop the ranks, and release devices that no other group of the program uses."""
        session, self._session = self._session, None
        if session and session.alive:
            _end(session, self.name, self.handles)
            session.names.discard(self.name)
        self.handles = []

    def begin(self, method: str, /, *args: Any, **kwargs: Any) -> Pending:
        """Call a method on all ranks at once; what it returns is waited for, or not."""
        if not self._session:
            raise NotPossible(f"the group `{self.name}` does not run", hint="launch it first: group.launch(cluster, …)")
        return super().begin(method, *args, **kwargs)

    def __getattr__(self, method: str) -> Callable[..., Pending]:
        if method.startswith("_"):
            # Copies and debuggers ask for such names, also before there is a class to ask.
            raise AttributeError(method)
        if not callable(getattr(self._made, method, None)):
            raise AttributeError(f"neither the group nor its `{self._made.__name__}` has a method `{method}`")
        return partial(self.begin, method)


def _default(cluster: Topology) -> PlacementStrategy:
    if cluster.num_accelerators:
        return PackedPlacementStrategy(0, cluster.num_accelerators - 1)
    return NodePlacementStrategy(range(cluster.num_nodes))


def _check(placements: Sequence[Placement], nodes: Sequence[RayNode], strategy: PlacementStrategy) -> None:
    """Check the placements of a strategy defined by the user."""
    if not placements:
        raise NotPossible(f"{type(strategy).__name__} places no process")
    for rank, placement in enumerate(placements):
        if placement.rank != rank:
            raise NotPossible(
                f"{type(strategy).__name__} gives rank {placement.rank} at place {rank} of its list",
                hint="return the placements by rank, from 0 on",
            )
        if not 0 <= placement.cluster_node_rank < len(nodes):
            raise NotPossible(f"rank {rank} is placed on node {placement.cluster_node_rank}, of {len(nodes)}")


def _plan(cluster: Topology, name: str, placements: Sequence[Placement], options: dict[str, Any]) -> Plan:
    """The group as its own plan."""
    plan = Plan(
        source="",
        framework="",
        mode="component",
        placement_mode=None,
        topology_source="ray",
        topology=cluster,
        launch={name: options},
    )
    units = [RANK_UNITS if plan.kind_of(placement) == GPU else None for placement in placements]
    component = Component(name, Rule("", ()), "flexible", placements, RANK_UNITS, units)
    return replace(plan, components={name: component})


def _start(session: DriverSession, nodes: Sequence[RayNode], plan: Plan, timeout: float) -> list[Any]:
    """Actors of the plan's one component, by rank; or nothing of it is left."""
    [name] = plan.components
    demand = demand_of(plan)
    left = within(timeout, "wait longer: launch(…, timeout=SECONDS)")
    launcher: Launcher | None = None
    try:
        groups, order = session.reservations.take(name, demand, nodes, left)
        # Nobody hears of it, and nothing is kept to make a rank again.
        launcher = Launcher(
            ray=session.ray,
            job=None,
            plan=as_obtained(plan, demand, order),
            demand=demand,
            order=order,
            nodes=nodes,
            groups=groups,
            python_path=[os.path.abspath(one) for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one],
            deadline=left,
            namespace=session.namespace,
        )
        launcher.run()
        return launcher.handles(name)
    except BaseException:
        _end(session, name, launcher.handles(name) if launcher else [])
        raise


def _end(session: DriverSession, name: str, handles: Sequence[Any]) -> None:
    for handle in handles:
        # One that is gone is fine.
        with suppress(Exception):
            session.ray.kill(handle)
    session.reservations.release(name)


def _ship_class(made: type) -> None:
    """Send a class along as it is here, with those bases of it that are not installed either.

    What is installed is there on every node. A class that cannot be sent, say for a lock in its module, is left to be
    imported there.
    """
    inner = import_ray("ray.cloudpickle.cloudpickle")
    installed = tuple({sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")})
    modules = {sys.modules.get(base.__module__) for base in made.__mro__}
    own = [one for one in modules if one and not _is_installed(one, installed)]
    ship_by_value(*own)
    try:
        inner.dumps(made)
    except Exception:
        for module in own:
            inner.unregister_pickle_by_value(module)


def _is_installed(module: Any, places: tuple[str, ...]) -> bool:
    path = getattr(module, "__file__", None)
    # Without a file it is built in; `__main__` is sent by value anyway.
    return path is None or module.__name__ == "__main__" or os.path.abspath(path).startswith(places)

"""`up`: from a file to a job whose ranks are all alive, or to nothing at all."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import Any

from placetui.bridge.work import Interrupted, Work
from placetui.frameworks.registry import framework_of
from placetui.observe.operations import LOCAL, this_owner
from placetui.placement.plan import SHARE_UNITS, Plan
from placetui.placement.wording import count, listing
from placetui.runtime.errors import ClusterError, ClusterLost, NotPossible, Unreachable, WrongFile
from placetui.runtime.gcs.address import open_head, resolve_address
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.driver import driver
from placetui.runtime.gcs.importing import import_ray
from placetui.runtime.gcs.interfaces import notice
from placetui.runtime.gcs.model import RayNode, Tables
from placetui.runtime.gcs.outages import LostLeases, guarded
from placetui.runtime.jobs import rank_spec, records
from placetui.runtime.jobs.records import Record
from placetui.runtime.jobs.state import check_free
from placetui.runtime.jobs.stop import stop
from placetui.runtime.launch import feasibility
from placetui.runtime.launch.demand import Demand, demand_of
from placetui.runtime.launch.embedded import LocalCluster, machine_environment, sizes_for
from placetui.runtime.launch.feasibility import needed_on
from placetui.runtime.launch.matching import Match, covers, match_by, usable
from placetui.runtime.launch.ordering import Order, as_obtained, moves
from placetui.runtime.launch.probe import node_ranks, visible_lists
from placetui.runtime.launch.ranks import Launcher
from placetui.runtime.launch.request import Request
from placetui.runtime.launch.reserve import fit, reserve_planned
from placetui.runtime.launch.used import UseCheck, UsedGpu, refuse_used
from placetui.runtime.policy import DEFAULT, Deadline


def up(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """Launch a job; on failure nothing of it stays. Reports each step as it goes."""
    launch = _Up(work)
    try:
        return launch.run(Request.read(body))
    except Interrupted:
        work.report(step="failed", during=launch.step, message="interrupted", interrupted=True)
        raise
    except ClusterError as problem:
        # Whether it fits is seen where the nodes are known, but it is the check's business.
        during = "check" if isinstance(problem, NotPossible) and launch.step == "match" else launch.step
        wrong_file = isinstance(problem, WrongFile)
        work.report(step="failed", during=during, wrong_file=wrong_file, **problem.to_dict())
        raise


class _Up:
    """One launch under way: what a step finds out is there for all steps after it."""

    _request: Request
    _local: LocalCluster | None = None
    _head: Head
    _ray: Any
    _plan: Plan
    _match: Match
    _demand: Demand
    _tables: Tables
    _record: Record

    def __init__(self, work: Work) -> None:
        self._work = work
        self.step = "connect"

    def run(self, request: Request) -> Mapping[str, Any]:
        self._request = request
        # A file that fits nowhere needs no cluster to say so.
        plan = request.plan()
        with ExitStack() as stack:
            address = self._find(plan, stack)
            self._head = head = open_head(address)
            stack.callback(head.close)
            head.outlast_outages(self._work.check)
            nodes = head.nodes()
            draining = {"draining": leaving} if (leaving := [node.ip for node in nodes if node.draining]) else {}
            ray = head.versions().get("ray_version")
            newer = {"notice": text} if (text := notice(ray or "")) else {}
            self._say("connect", address=address, ray=ray, nodes=len(nodes), **newer, **draining)
            # Before anything about room: the job itself may be what takes it.
            check_free(head, request.job)
            return guarded(head, lambda: self._launch(nodes))

    def _find(self, plan: Plan, stack: ExitStack) -> str:
        if self._request.address != LOCAL:
            return resolve_address(self._request.address)
        self._local = LocalCluster(sizes_for(plan, demand_of(plan)), self._work, machine_environment(os.environ))
        stack.callback(self._local.stop)
        return self._local.start()

    # The steps

    def _launch(self, nodes: tuple[RayNode, ...]) -> Mapping[str, Any]:
        with driver(self._head, nodes) as self._ray:
            self._work.check()
            if self._request.wait_for_nodes:
                nodes = self._wait_for_nodes()
            self._match_nodes(usable(nodes))
            self._check()
            if self._request.dry_run:
                return {"dry_run": True}
            if self._request.asks("launch") and not self._ask("launch"):
                raise Interrupted
            self._store_record()
            try:
                try:
                    self._start()
                except ClusterError:
                    # Ranks fail when their node does; that is the reason then.
                    self._check_nodes()
                    raise
            except BaseException as problem:
                self._roll_back(problem)
                raise
            if self._local:
                self._local.stay(self._work)
                stop(self._head, self._record.job, record=self._record)
            return {"job": self._record.job}

    def _wait_for_nodes(self) -> tuple[RayNode, ...]:
        """Ask the autoscaler for what the plan needs, until it is there or the time is over."""
        self.step = "match"
        request_resources = import_ray("ray.autoscaler.sdk").request_resources
        plan = self._request.plan()
        demand = demand_of(plan)
        wanted = [needed_on(demand, node.rank) for node in plan.nodes]
        bundles = [{name: units / SHARE_UNITS for name, units in one.items() if units} for one in wanted]
        hint = "see what the autoscaler says: ray status"
        deadline = Deadline(self._work, self._request.wait_for_nodes, hint=hint)

        def there() -> tuple[RayNode, ...] | None:
            nodes = usable(self._head.nodes())
            return nodes if covers([node.resources for node in nodes], bundles) else None

        def waiting_for() -> str:
            return f"the plan needs {count(len(bundles), 'node')}, {len(usable(self._head.nodes()))} are there"

        def tell(what: str) -> None:
            self._work.report(step="match", waiting_for=what)

        if nodes := there():
            return nodes
        tell(waiting_for())
        request_resources(bundles=[one for one in bundles if one])
        try:
            return deadline.until(there, waiting_for, tell)
        finally:
            # Its placement group is what asks for them from now on.
            request_resources(bundles=[])

    def _match_nodes(self, nodes: tuple[RayNode, ...]) -> None:
        self.step = "match"
        plan = self._request.plan()
        framework = framework_of(plan)
        if self._local:
            match = self._local.match(nodes)
        elif framework.node_rank_variable is None:
            match = match_by(framework, nodes)
        else:
            here = self._ray.get_runtime_context().get_node_id()
            ranks = node_ranks(self._ray, nodes, Deadline(self._work, self._head.policy.node_ranks))
            groups = any(not group.reserved for group in plan.topology.groups.values())
            match = match_by(framework, nodes, here, ranks, node_groups=groups)
        if plan.topology_source == "assumed":
            plan = self._request.plan([node.planned() for node in match.nodes])
        used = len(plan.nodes)
        if used > len(match.nodes):
            raise NotPossible(
                f"the plan has {count(used, 'node')}, the cluster {count(len(match.nodes), 'node')}"
                f"{' with GPUs' if framework.needs_gpus else ''}",
                hint="start Ray on more nodes, or plan for fewer",
            )
        self._plan, self._match, self._demand = plan, replace(match, nodes=match.nodes[:used]), demand_of(plan)
        planned = [node.ip for node in plan.nodes]
        warnings = [
            f"node_order: node {rank} is {ip} in the file, but {node.ip} here"
            for rank, (ip, node) in enumerate(zip(planned, self._match.nodes, strict=True))
            if ip and ip != node.ip and not self._local
        ]
        self._say("match", by=match.by, nodes=self._told_nodes(), warnings=[*match.warnings, *warnings])

    def _check(self) -> None:
        self.step = "check"
        head, demand, nodes = self._head, self._demand, self._match.nodes
        checks, self._tables = fit(head, demand, nodes, self._work.check)
        used: list[UsedGpu] = []
        # An embedded cluster has GPUs in name only.
        if not self._local and not self._request.on_used_gpus:
            deadline = Deadline(self._work, head.policy.node_ranks, hint="ignored because of --on-used-gpus")
            used = UseCheck(self._ray, head, demand, nodes, self._tables).run(deadline)
        expected = feasibility.expected_slots(demand, nodes, self._tables)
        self._say(
            "check",
            nodes=[one.to_dict() for one in checks],
            groups=self._world_sizes(),
            expected=[
                {
                    "component": needs.component,
                    "rank": needs.rank,
                    "node_rank": needs.node,
                    "node": nodes[needs.node].ip,
                    "planned": [demand.bundles[number].position for number in needs.bundles],
                    "gpu_ids": _texts([expected[number] for number in needs.bundles]),
                }
                for needs in demand.ranks
            ],
            used=list(map(asdict, used)),
        )
        if used and not (self._request.asks("used") and self._ask("used")):
            raise refuse_used(used)

    def _store_record(self) -> None:
        self.step = "reserve"
        self._work.check()
        self._record = Record(
            job=self._request.job,
            file=os.path.abspath(self._request.source),
            created=time.time(),
            groups=self._world_sizes(),
            nodes=tuple(self._told_nodes()),
            plan=self._plan.to_dict(),
            owner=this_owner(),
            ray_job=str(self._ray.get_runtime_context().get_job_id()),
        )
        try:
            records.create(self._head, self._record)
        except Unreachable as problem:
            # It may have come through all the same.
            self._roll_back(problem)
            raise

    def _start(self) -> None:
        demand, nodes, record = self._demand, self._match.nodes, self._record
        deadline = Deadline(self._work, self._request.patience, self._check_nodes)
        group, found = None, Order((), dict.fromkeys(range(len(nodes)), ()))
        if demand.bundles:
            group, found = self._reserve(deadline)
        self.step = "launch"
        found = replace(found, visible={**found.visible, **visible_lists(self._ray, demand, nodes, deadline)})
        ranks = Launcher(
            ray=self._ray,
            job=record.job,
            plan=as_obtained(self._plan, demand, found),
            demand=demand,
            order=found,
            nodes=nodes,
            groups=[group] * len(demand.bundles),
            python_path=self._request.python_path,
            deadline=deadline,
            report=lambda name, rank, state: self._work.report(step="launch", component=name, rank=rank, state=state),
            keep=lambda one: rank_spec.store(self._head, one),
            meanwhile=LostLeases(self._head, record.ray_job, nodes).release,
            uid=record.uid,
            working_dir=self._request.working_dir,
        ).run()
        self._work.check()
        records.set_ready(self._head, record)
        self._say("ready", job=record.job, ranks=ranks)

    def _reserve(self, deadline: Deadline) -> tuple[Any, Order]:
        demand = self._demand
        begun = time.monotonic()

        def reserved() -> None:
            nonlocal begun
            self._say("reserve", bundles=len(demand.bundles))
            self.step, begun = "probe", time.monotonic()

        group, found = reserve_planned(
            self._ray,
            self._head,
            demand,
            self._match.nodes,
            self._tables,
            deadline,
            job=self._request.job,
            tell=lambda what: self._work.report(step="reserve", waiting_for=what),
            reserved=reserved,
        )
        moved = moves(demand, found)
        self._say(
            "probe",
            seconds=round(time.monotonic() - begun, 3),
            devices=[
                {"node_rank": bundle.node, "position": bundle.position, "gpu_id": one.gpu, "bundle": one.bundle}
                for bundle, one in zip(demand.bundles, found.bundles, strict=True)
            ],
            moved=list(map(asdict, moved)),
        )
        accepted = self._request.accept_moved or (moved and self._request.asks("moved") and self._ask("moved"))
        if moved and not accepted:
            told = "; ".join(move.sentence() for move in moved[:8])
            more = f" and {len(moved) - 8} more" if len(moved) > 8 else ""
            raise NotPossible(
                f"{count(len(moved), 'rank')} would not be on the planned devices: {told}{more}",
                hint="other jobs have the planned GPUs: stop them, or accept other GPUs with --accept-moved",
                moved=list(map(asdict, moved)),
            )
        return group, found

    # Small things

    def _ask(self, about: str) -> bool:
        deadline = time.monotonic() + DEFAULT.person
        return bool(self._work.ask(deadline, step=self.step, question=about))

    def _say(self, step: str, **details: Any) -> None:
        self.step = step
        self._work.check()
        self._work.report(step=step, **details)

    def _told_nodes(self) -> list[dict[str, Any]]:
        return [{"rank": rank, **node.to_dict()} for rank, node in enumerate(self._match.nodes)]

    def _world_sizes(self) -> dict[str, int]:
        return {name: component.world_size for name, component in self._plan.components.items()}

    def _roll_back(self, reason: BaseException) -> None:
        try:
            stop(self._head, self._record.job, record=self._record)
        except ClusterError as problem:
            said, kind = f"{reason}; and it could not be rolled back: {problem}", ClusterError
            if isinstance(reason, ClusterLost):
                said, kind = f"{reason}; it could not be rolled back", ClusterLost
            raise kind(said, hint=f"placetui down {self._record.job}") from reason

    def _check_nodes(self) -> None:
        living = {node.id for node in self._head.nodes()}
        for rank, node in enumerate(self._match.nodes):
            lost = [str(needs) for needs in self._demand.ranks if needs.node == rank]
            if lost and node.id not in living:
                raise ClusterError(
                    f"node lost: {node.ip}, node {rank} of the plan, with {listing(lost, 6)}",
                    hint="start Ray there again, or plan without it",
                    node_rank=rank,
                )


def _texts(slots: list[int | None]) -> list[str] | None:
    """Expected ids; None where somebody holds GPUs of which nothing is known."""
    return None if any(slot is None for slot in slots) else [str(slot) for slot in slots]

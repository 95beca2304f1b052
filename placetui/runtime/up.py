"""`up`: from a file to a job whose ranks are all alive, or to nothing at all."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from placetui.bridge.work import Interrupted, Work
from placetui.observe.model import RankState
from placetui.observe.operations import LOCAL
from placetui.placement.plan import Plan
from placetui.placement.problems import count, listing
from placetui.placement.topology import Node
from placetui.runtime import feasibility, jobs, making, records
from placetui.runtime.connect import driver, open_head, resolve_address
from placetui.runtime.demand import Demand, demand_of
from placetui.runtime.errors import ClusterError, ClusterLost, Refused, Silent, WrongFile
from placetui.runtime.guard import guarded
from placetui.runtime.launch import Launcher, Setting
from placetui.runtime.local import LocalCluster, machine_environment, sizes_for
from placetui.runtime.matching import Match, match_rlinf, match_slime
from placetui.runtime.model import RayNode, Tables
from placetui.runtime.ordering import Order, as_obtained, moves, order
from placetui.runtime.private import Head
from placetui.runtime.private_check import notice
from placetui.runtime.probe import RANK_TIMEOUT, node_ranks, probe, visible_lists
from placetui.runtime.records import READY, Record
from placetui.runtime.request import Request
from placetui.runtime.reserve import Fillers, fit, reserve
from placetui.runtime.waiting import Patience

ANSWER_TIMEOUT = 3600.0
"""Seconds for a person to say yes or no."""


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
        during = "check" if isinstance(problem, Refused) and launch.step == "match" else launch.step
        wrong_file = isinstance(problem, WrongFile)
        work.report(step="failed", during=during, wrong_file=wrong_file, **problem.to_dict())
        raise


class _Up:
    """One launch under way."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.step = "connect"
        self._request: Request

    def run(self, request: Request) -> Mapping[str, Any]:
        self._request = request
        # A file that fits nowhere needs no cluster to say so.
        plan = request.plan()
        with ExitStack() as stack:
            address, local = self._find(plan, stack)
            head = open_head(address)
            stack.callback(head.close)
            nodes = head.nodes()
            ray = head.versions().get("ray_version")
            newer = {"notice": text} if (text := notice(ray or "")) else {}
            self._say("connect", address=address, ray=ray, nodes=len(nodes), **newer)
            # Before anything about room: the job itself may be what takes it.
            jobs.check_free(head, request.job)
            return guarded(head, lambda: self._launch(head, nodes, local))

    def _find(self, plan: Plan, stack: ExitStack) -> tuple[str, LocalCluster | None]:
        if self._request.address != LOCAL:
            return resolve_address(self._request.address), None
        local = LocalCluster(sizes_for(plan, demand_of(plan)), self._work, machine_environment(os.environ))
        stack.callback(local.stop)
        return local.start(), local

    # The steps

    def _launch(self, head: Head, nodes: tuple[RayNode, ...], local: LocalCluster | None) -> Mapping[str, Any]:
        with driver(head, nodes) as ray:
            self._work.check()
            plan, match = self._match(ray, nodes, local)
            demand = demand_of(plan)
            tables = self._check(head, plan, demand, match)
            if self._request.dry_run:
                return {"dry_run": True}
            if "launch" in self._request.ask and not self._ask("launch"):
                raise Interrupted
            record = self._record(head, plan, match)
            try:
                try:
                    self._start(ray, head, plan, demand, match, tables, record)
                except ClusterError:
                    # Ranks fail when their node does; that is the reason then.
                    _check_nodes(head, demand, match)
                    raise
            except BaseException as problem:
                self._roll_back(head, record, problem)
                raise
            if local:
                local.stay(self._work)
                jobs.stop(head, record.job, uid=record.uid)
            return {"job": record.job}

    def _match(self, ray: Any, nodes: tuple[RayNode, ...], local: LocalCluster | None) -> tuple[Plan, Match]:
        self.step = "match"
        plan = self._request.plan()
        if local:
            match = local.match(nodes)
        elif plan.mode == "slime":
            match = match_slime(nodes)
        else:
            here = ray.get_runtime_context().get_node_id()
            ranks = node_ranks(ray, nodes, Patience(self._work, RANK_TIMEOUT))
            groups = any(not group.reserved for group in plan.groups.values())
            match = match_rlinf(nodes, here, ranks, node_groups=groups)
        if plan.topology_source == "assumed":
            plan = self._request.plan([Node(node.gpus, name=node.host, ip=node.ip) for node in match.nodes])
        used = len(plan.nodes)
        if used > len(match.nodes):
            raise Refused(
                f"the plan has {count(used, 'node')}, the cluster {count(len(match.nodes), 'node')}"
                f"{' with GPUs' if plan.mode == 'slime' else ''}",
                hint="start Ray on more nodes, or plan for fewer",
            )
        match = replace(match, nodes=match.nodes[:used])
        planned = [node.ip for node in plan.nodes]
        warnings = [
            f"node_order: the file has {ip} as node {rank}, which here is {node.ip}"
            for rank, (ip, node) in enumerate(zip(planned, match.nodes, strict=True))
            if ip and ip != node.ip and not local
        ]
        told = [{"rank": rank, **node.to_dict()} for rank, node in enumerate(match.nodes)]
        self._say("match", by=match.by, nodes=told, warnings=[*match.warnings, *warnings])
        return plan, match

    def _check(self, head: Head, plan: Plan, demand: Demand, match: Match) -> Tables:
        self.step = "check"
        checks, tables = fit(head, demand, match.nodes, self._work.check)
        expected = feasibility.expected_slots(demand, match.nodes, tables)
        self._say(
            "check",
            nodes=[one.to_dict() for one in checks],
            groups={name: component.world_size for name, component in plan.components.items()},
            expected=[
                {
                    "component": seat.component,
                    "rank": seat.rank,
                    "node_rank": seat.node,
                    "node": match.nodes[seat.node].ip,
                    "planned": [demand.bundles[number].position for number in seat.bundles],
                    "gpu_ids": _texts([expected[number] for number in seat.bundles]),
                }
                for seat in demand.seats
            ],
        )
        return tables

    def _record(self, head: Head, plan: Plan, match: Match) -> Record:
        self.step = "reserve"
        self._work.check()
        record = Record(
            job=self._request.job,
            file=os.path.abspath(self._request.source),
            created=time.time(),
            groups={name: component.world_size for name, component in plan.components.items()},
            nodes=tuple({"rank": rank, **node.to_dict()} for rank, node in enumerate(match.nodes)),
            plan=plan.to_dict(),
        )
        try:
            records.take(head, record)
        except Silent as problem:
            # It may have come through all the same.
            self._roll_back(head, record, problem)
            raise
        return record

    def _start(
        self, ray: Any, head: Head, plan: Plan, demand: Demand, match: Match, tables: Tables, record: Record
    ) -> None:
        patience = Patience(self._work, self._request.timeout, lambda: _check_nodes(head, demand, match))
        group, found = None, Order((), dict.fromkeys(range(len(match.nodes)), ()))
        if demand.bundles:
            group, found = self._reserve(ray, head, demand, match, tables, patience)
        self.step = "launch"
        found = replace(found, visible={**found.visible, **visible_lists(ray, demand, match.nodes, patience)})
        setting = Setting(
            job=record.job,
            plan=as_obtained(plan, demand, found),
            demand=demand,
            order=found,
            nodes=match.nodes,
            groups=[group] * len(demand.bundles),
            python_path=self._request.python_path,
            uid=record.uid,
        )
        ranks = Launcher(ray, setting, patience, self._report_rank, lambda one: making.store(head, one)).run()
        self._work.check()
        records.update(head, replace(record, state=READY, ranks=tuple(ranks)))
        self._say("ready", job=record.job, ranks=ranks)

    def _reserve(
        self, ray: Any, head: Head, demand: Demand, match: Match, tables: Tables, patience: Patience
    ) -> tuple[Any, Order]:
        fillers = Fillers(head, patience)
        try:
            fillers.fill(demand, match.nodes, tables)
            group = reserve(
                head,
                self._request.job,
                demand,
                match.nodes,
                patience,
                lambda what: self._work.report(step="reserve", waiting_for=what),
            )
            self._say("reserve", bundles=len(demand.bundles))
            self.step = "probe"
            begun = time.monotonic()
            probed = probe(ray, group, [bundle.node for bundle in demand.bundles], patience)
        finally:
            fillers.release()
        ids, gpus = [node.id for node in match.nodes], [node.gpus for node in match.nodes]
        found = order(demand, ids, gpus, probed)
        moved = moves(demand, found)
        self._say(
            "probe",
            seconds=round(time.monotonic() - begun, 3),
            devices=[
                {"node_rank": bundle.node, "position": bundle.position, "gpu_id": one.gpu, "bundle": one.bundle}
                for bundle, one in zip(demand.bundles, found.bundles, strict=True)
            ],
            moved=[move.to_dict() for move in moved],
        )
        accepted = self._request.accept_moved or ("moved" in self._request.ask and moved and self._ask("moved"))
        if moved and not accepted:
            told = "; ".join(move.sentence() for move in moved[:8])
            more = f" and {len(moved) - 8} more" if len(moved) > 8 else ""
            raise Refused(
                f"{count(len(moved), 'rank')} would not be on the planned devices: {told}{more}",
                hint="others hold the planned GPUs: end them, or take what there is with --accept-moved",
                moved=[move.to_dict() for move in moved],
            )
        return group, found

    # Small things

    def _ask(self, about: str) -> bool:
        deadline = time.monotonic() + ANSWER_TIMEOUT
        return bool(self._work.ask(deadline, step=self.step, question=about))

    def _say(self, step: str, **details: Any) -> None:
        self.step = step
        self._work.check()
        self._work.report(step=step, **details)

    def _report_rank(self, component: str, rank: int, state: Any) -> None:
        one = RankState(component, rank, state)
        self._work.report(step="launch", component=component, rank=rank, state=one.state)

    def _roll_back(self, head: Head, record: Record, reason: BaseException) -> None:
        try:
            jobs.stop(head, record.job, uid=record.uid)
        except ClusterError as problem:
            said, kind = f"{reason}; and it could not be rolled back: {problem}", ClusterError
            if isinstance(reason, ClusterLost):
                said, kind = f"{reason}; what was begun could not be taken back", ClusterLost
            raise kind(said, hint=f"placetui down {record.job}") from reason


def _check_nodes(head: Head, demand: Demand, match: Match) -> None:
    living = {node.id for node in head.nodes()}
    for rank, node in enumerate(match.nodes):
        if node.id not in living and any(seat.node == rank for seat in demand.seats):
            lost = listing((f"{seat.component}:{seat.rank}" for seat in demand.seats if seat.node == rank), 6)
            raise ClusterError(
                f"node lost: {node.ip}, node {rank} of the plan, with {lost}",
                hint="start Ray there again, or plan without it",
                node_rank=rank,
            )


def _texts(slots: list[int | None]) -> list[str] | None:
    """Expected ids; None where somebody holds GPUs of which nothing is known."""
    return None if any(slot is None for slot in slots) else [str(slot) for slot in slots]

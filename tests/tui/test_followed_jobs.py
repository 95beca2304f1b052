"""Jobs that people start themselves, in the dashboard: found by the open file, named, chosen, and their end told.

The observer is the real one, over the recorded tables of a cluster.
"""

from __future__ import annotations

import json
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from placetui.frameworks.cluster_facts import ClusterFacts, RayJobSeen
from placetui.frameworks.planner import resolve
from placetui.observe.following import PlanOutline
from placetui.observe.model import Source
from placetui.placement.topology import Node
from placetui.runtime.gcs.model import RayActor, RayGroup, RayNode
from placetui.runtime.jobs import records
from placetui.runtime.jobs.records import Record
from placetui.runtime.watch.observer import RayObserver
from placetui.tui.app import Dashboard
from placetui.tui.dialogs.jobs import JobsScreen
from tests.runtime.fake_head import FakeHead
from tests.runtime.test_recorded_jobs import RLINF, rlinf_scene, row
from tests.sources import SpokenFor
from tests.tui.pretend import ADDRESS, PretendedOperations

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from placetui.placement.plan import Plan
    from tests.tui.conftest import Desk, Seat, World


class RecordedHead(FakeHead):
    """A head with the tables of a recording."""

    def show(self, facts: ClusterFacts) -> None:
        rows = [row(actor) for actor in facts.actors]
        self.living = [one for one in rows if one.state != "DEAD"]
        self.dead = [one for one in rows if one.state == "DEAD"]
        self.members = tuple(RayNode(one.id, one.ip, one.ip, {"GPU": one.gpus}) for one in facts.nodes)
        self.drivers = tuple(facts.jobs)

    def jobs(self) -> tuple[RayJobSeen, ...]:
        return self.drivers


class Cluster(SpokenFor):
    """What the child would show of it."""

    name: Source = "ray"

    def __init__(self, head: FakeHead, plan: Plan | None, job: str) -> None:
        super().__init__()
        options: dict[str, Any] = {"job": job, "sample": False}
        if plan is not None:
            options |= {"mode": plan.mode, "nodes": len(plan.nodes), "plan": PlanOutline.of(plan).to_dict()}
        self._observer = RayObserver(options)
        self._observer._reader.head = head

    def look(self) -> None:
        self.deliver(self._observer.observe(time.monotonic() + 5.0))


@asynccontextmanager
async def opened(
    desk: Desk, head: FakeHead, config: Any, name: str
) -> AsyncIterator[tuple[Seat, list[Cluster], PretendedOperations]]:
    clusters: list[Cluster] = []

    def look(plan: Plan, address: str, job: str) -> Cluster:
        clusters.append(Cluster(head, plan, job))
        return clusters[-1]

    operations = PretendedOperations()
    file = desk.write(json.dumps(config), name)
    async with desk.open(file, (160, 40), cluster=look, operations=operations, write=True) as seat:
        await seat.until(lambda: clusters and clusters[0].subscriber is not None)
        clusters[0].look()
        yield seat, clusters, operations


async def test_the_job_of_the_open_file_is_followed_unasked_another_by_choice_and_its_end_is_an_event(
    desk: Desk,
) -> None:
    head = RecordedHead()
    head.show(rlinf_scene("two-jobs", "both")[0])
    config = RLINF["two-jobs"]["jobs"][0]["config"]
    async with opened(desk, head, config, "sft_a.yaml") as (seat, clusters, operations):
        await seat.sees("job 01000000")
        assert seat.observation is not None
        assert {state.state for state in seat.observation.ranks["actor"]} == {"alive"}
        head.show(rlinf_scene("two-jobs", "second_only")[0])
        clusters[-1].look()
        await seat.sees("job 01000000 has ended", "01000000  ended")
        assert seat.main.picture.notices == ()
        head.show(rlinf_scene("two-jobs", "again")[0])
        clusters[-1].look()
        await seat.sees("job 04000000")

        chosen = {"name": "03000000", "framework": "rlinf", "state": "running", "created": 0.0}
        chosen["groups"] = {"ActorGroup": {"world_size": 2, "alive": 2}}
        operations.replies["ps"] = {"address": ADDRESS, "jobs": [chosen]}
        operations.replies["job"] = {"job": chosen, "plan": {}, "nodes": [], "ranks": []}
        await seat.press("J")
        await seat.until(lambda: seat.shows(JobsScreen))
        await seat.sees("03000000", "2/2")
        await seat.press("enter")
        await seat.until(lambda: len(clusters) > 1 and clusters[-1].subscriber is not None)
        clusters[-1].look()
        await seat.sees("job 03000000")
        assert seat.session.file.endswith("sft_a.yaml")


async def test_a_job_with_other_components_is_one_sentence(desk: Desk) -> None:
    head = RecordedHead()
    head.show(rlinf_scene("collocated", "running")[0])
    config = {"cluster": {"num_nodes": 1, "component_placement": {"agent": "all"}}}
    async with opened(desk, head, config, "agents.yaml") as (seat, _, _):
        await seat.sees("writable · a running RLinf job has other components: Act", "live every 1 s")
        sentence = "a running RLinf job has other components: ActorGroup 2, EnvGroup 2 and RolloutGroup 2"
        assert (seat.main.picture.notices, seat.toasts) == ((), [sentence])


async def test_a_launch_from_another_terminal_is_followed_and_its_ranks_can_be_restarted(desk: Desk) -> None:
    ranks = [
        RayActor(f"{n:02}", f"conf/actor:{n}", namespace="placetui", job="01", node="n", pid=n + 1) for n in range(2)
    ]
    head = FakeHead(*ranks)
    record = Record("conf", "conf.yaml", 1.0, groups={"actor": 2}, ray_job="01", owner="ann@desk")
    records.create(head, record)
    records.set_ready(head, record)
    config = {"cluster": {"num_nodes": 1, "component_placement": {"actor": "0-1"}}}
    async with opened(desk, head, config, "conf.yaml") as (seat, _, operations):
        await seat.sees("job conf")
        assert seat.observation is not None
        assert [state.state for state in seat.observation.ranks["actor"]] == ["alive", "alive"]
        await seat.press("R")
        await seat.sees("actor:0 of job conf is stopped and started again")
        await seat.write("ann/actor:0")
        await seat.press("enter")
        await seat.until(lambda: operations.asked("restart"))
        assert operations.of("restart").body["job"] == "conf"


async def test_who_is_on_a_gpu_and_its_log_whether_followed_or_not(desk: Desk) -> None:
    head = RecordedHead()
    head.show(rlinf_scene("two-jobs", "both")[0])
    config = {"cluster": {"num_nodes": 1, "component_placement": {"agent": "all"}}}
    async with opened(desk, head, config, "agents.yaml") as (seat, _, operations):
        await seat.until(lambda: seat.observation is not None)
        assert seat.observation is not None
        place = next(
            device.index
            for device in seat.observation.nodes[0].devices
            if any(claim.job == "01000000" for claim in device.claims)
        )
        await seat.press(*["right"] * place, "d")
        await seat.sees("job 01000000", "train_vla_sft.py --config-path /opt/conf/", "not submitted through Ray Jobs")
        await seat.press("escape", "F")
        await seat.until(lambda: operations.asked("logs"))
        body = operations.of("logs").body
        assert (body["job"], body["component"], body["rank"]) == ("01000000", "ActorGroup", 0)


async def test_without_a_file_the_only_job_is_followed_and_its_dead_rank_stays(desk: Desk, world: World) -> None:
    ranks = [
        RayActor(f"{n:02}", f"conf/actor:{n}", namespace="placetui", job="01", node="n", pid=n + 1, slots={n: 0.5})
        for n in range(4)
    ]
    head = FakeHead(*ranks)
    head.standing = [RayGroup("01", "conf", "placetui", "CREATED")]
    config = json.dumps({"cluster": {"num_nodes": 1, "component_placement": {"actor": "0-3"}}})
    file = desk.write(config, "conf.yaml")
    plan = resolve(json.loads(config), [Node(8)])
    record = Record("conf", str(file), 1.0, groups={"actor": 4}, ray_job="01", owner="ann@desk")
    records.create(head, record)
    records.set_ready(head, record)
    clusters: list[Cluster] = []

    def look(plan: Plan | None, address: str = "", job: str = "") -> Cluster:
        clusters.append(Cluster(head, plan, job))
        return clusters[-1]

    operations = PretendedOperations()
    job = {"name": "conf", "framework": "placetui", "state": "running", "file": str(file), "groups": {}}
    nodes = [{"rank": 0, "node_id": "n", "ip": "10.0.0.1", "host": "gpu-0", "gpus": 8}]
    operations.replies["job"] = {"job": job, "plan": plan.to_dict(), "nodes": nodes, "ranks": []}
    options = desk.options(cluster=look, operations=operations, picture=lambda: look(None))
    app = Dashboard(None, options)
    app.animation_level = "none"
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        seat = world.seat(app, pilot)
        await seat.until(lambda: clusters and clusters[0].subscriber is not None)
        clusters[0].look()
        await seat.until(lambda: len(clusters) == 2 and clusters[1].subscriber is not None, "the job is followed")
        clusters[1].look()
        await seat.sees("job conf", "conf.yaml")
        assert not seat.session.pictured
        assert operations.of("job").body["job"] == "conf"
        assert seat.observation is not None
        assert {state.state for state in seat.observation.ranks["actor"]} == {"alive"}
        head.living, head.dead = [one for one in ranks if one is not ranks[2]], [replace(ranks[2], state="DEAD")]
        clusters[1].look()
        await seat.sees("A2✗", "actor 2")
        assert [one.kind for one in seat.main.picture.notices] == ["dead_rank"]
        assert [one.rank for one in seat.session.plan.components["actor"].placements] == [0, 1, 2, 3]


async def test_without_a_file_none_of_several_jobs_is_followed(desk: Desk, world: World) -> None:
    ranks = [
        RayActor(f"{job}{n}", f"{job}/actor:{n}", namespace="placetui", job=job, node="n", pid=n + 1, slots={n: 0.5})
        for job in ("one", "two")
        for n in range(4)
    ]
    head, operations = FakeHead(*ranks), PretendedOperations()
    head.standing = [RayGroup(job, job, "placetui", "CREATED") for job in ("one", "two")]
    source = Cluster(head, None, "")
    app = Dashboard(None, desk.options(operations=operations, picture=lambda: source))
    app.animation_level = "none"
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        seat = world.seat(app, pilot)
        await seat.until(lambda: source.subscriber is not None)
        source.look()
        await seat.until(lambda: app.main is not None and app.main.grid.drawing is not None, "the grid")
        await seat.sees("actor-one", "actor-two")
        assert not operations.asked("job")

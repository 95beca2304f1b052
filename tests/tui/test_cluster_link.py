"""The cluster behind the plan: when it is looked at, what of it is shown, and what is said of the link."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from placetui.observe.model import DeviceSample, NodeSample, Observation, RankState, Source
from placetui.observe.ports import Status
from placetui.tui.dialogs.ask import AskScreen
from placetui.tui.widgets.rule_panel import RulePanel
from tests.sources import SpokenFor
from tests.tui.pretend import PretendedOperations

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from placetui.placement.plan import Plan
    from tests.tui.conftest import Desk, Seat

FILE = "cluster:\n  num_nodes: 1\n  component_placement:\n    actor: 0-1\n"


class PretendedCluster(SpokenFor):
    """A cluster, and what of it was asked for."""

    name: Source = "ray"

    def __init__(self, plan: Plan, address: str, job: str) -> None:
        super().__init__()
        self.asked = address, job


def seen(gpus: int = 4, **values: Any) -> Observation:
    devices = tuple(DeviceSample(index, memory_used=1 << 30, memory_total=80 << 30) for index in range(gpus))
    return Observation(1_000_000.0, "ray", (NodeSample(0, "gpu-host", "10.0.0.1", devices=devices),), **values)


@asynccontextmanager
async def clustered(desk: Desk, text: str = FILE, **options: Any) -> AsyncIterator[tuple[Seat, list[PretendedCluster]]]:
    opened: list[PretendedCluster] = []

    def look(plan: Plan, address: str, job: str) -> PretendedCluster:
        opened.append(PretendedCluster(plan, address, job))
        return opened[-1]

    async with desk.open(desk.write(text), (160, 40), cluster=look, **options) as seat:
        await seat.until(lambda: opened and opened[0].subscriber is not None)
        yield seat, opened


async def test_without_a_cluster_nothing_is_said(desk: Desk) -> None:
    async with clustered(desk) as (seat, opened):
        opened[0].say(Status("connected"))
        opened[0].say(Status("starting", "no Ray cluster was found on this machine", absent=True))
        opened[0].say(Status("lost", "nothing listens at 10.0.0.1:6379"))
        await seat.until(lambda: seat.app.cluster.link.link == "lost")
        assert seat.toasts == []
        assert "every" not in seat.status
        await seat.sees("─ Fits ─", "2 ranks placed")
        await seat.misses("─ Events ─")


async def test_this_machine_is_shown_where_there_is_no_cluster(desk: Desk) -> None:
    async with clustered(desk) as (seat, opened):
        opened[0].say(Status("starting", "no Ray cluster was found on this machine", absent=True))
        opened[0].deliver(replace(seen(8), source="nvml"))
        await seat.sees("this machine, without Ray", "1.0 of 80 GiB")
        assert seat.session.plan.topology_source == "assumed"
        assert seat.toasts == []


async def test_a_cluster_that_was_named_is_missed(desk: Desk) -> None:
    async with clustered(desk, address="10.0.0.1:6379") as (seat, opened):
        opened[0].say(Status("connected"))
        await seat.sees("connecting to 10.0.0.1:6379")
        opened[0].say(Status("lost", "nothing listens at 10.0.0.1:6379"))
        await seat.sees("lost: nothing listens at 10.0.0.1:6379")
        assert seat.toasts == ["lost: nothing listens at 10.0.0.1:6379"]


async def test_the_nodes_of_the_cluster_take_the_place_of_assumed_ones(desk: Desk) -> None:
    async with clustered(desk) as (seat, opened):
        assert seat.session.plan.topology_source == "assumed"
        opened[0].deliver(seen())
        await seat.until(lambda: seat.session.plan.topology_source == "ray", "planned again")
        await seat.sees("gpu-host", "1 node × 4 GPUs", "live every 1 s", "1.0 of 80 GiB")
        assert not seat.session.tried
        await seat.press("r")
        await seat.until(lambda: seat.session.plan.nodes[0].gpus == 4)
        assert len(opened) == 1, "the same cluster is looked at in the same way"


async def test_the_nodes_of_the_cluster_wait_for_a_rule_that_is_being_written(desk: Desk) -> None:
    async with clustered(desk) as (seat, opened):
        await seat.press("e", "end", "backspace")
        await seat.write("3:")
        opened[0].deliver(seen())
        await seat.until(lambda: seat.main.running.observation is not None, "the live picture")
        await seat.heard()
        panel = seat.main.query_one(RulePanel)
        assert panel.display
        assert panel.text == "0-3:"
        assert not seat.toasts
        await seat.press("backspace", "enter")
        await seat.until(lambda: "actor: 0-3" in seat.editor.history.text)
        assert seat.session.plan.topology_source == "assumed"
        opened[0].deliver(seen())
        await seat.until(lambda: seat.session.plan.topology_source == "ray", "planned again")


async def test_a_topology_of_the_file_stays(desk: Desk) -> None:
    text = f"{FILE}placetui:\n  topology: {{nodes: 1, gpus_per_node: 2}}\n"
    async with clustered(desk, text) as (seat, opened):
        opened[0].deliver(seen())
        await seat.sees("live every 1 s", "1.0 of 80 GiB")
        assert seat.session.plan.topology_source == "file"


async def test_a_plan_that_does_not_fit_stays_on_assumed_nodes_and_that_is_said_once(desk: Desk) -> None:
    async with clustered(desk, FILE.replace("0-1", "0-7")) as (seat, opened):
        for number in range(3):
            opened[0].deliver(replace(seen(), time=1_000_000.0 + number))
            await seat.until(lambda: any("does not fit on the attached cluster" in toast for toast in seat.toasts))
        assert len(seat.toasts) == 1
        assert seat.session.plan.topology_source == "assumed"
        assert seat.session.errors == 0


async def test_a_lost_head_is_said_for_as_long_as_it_is_lost(desk: Desk) -> None:
    async with clustered(desk) as (seat, opened):
        opened[0].deliver(seen())
        await seat.sees("live every 1 s")
        opened[0].say(Status("lost", "the head of the cluster does not answer"))
        await seat.sees("lost: the head of the cluster does not answer")
        old = replace(seen(), time=1_000_005.0)
        opened[0].deliver(replace(old, nodes=(replace(old.nodes[0], stale=True, age=5.0),)))
        await seat.until(lambda: seat.observation is not None and seat.observation.time > 1_000_000)
        await seat.sees("lost: the head of the cluster does not answer", "stale for 5 s", "1.0 of 80 GiB")
        await seat.press("right_square_bracket")
        await seat.sees("edited")
        opened[0].say(Status("connected"))
        await seat.sees("live every 1 s")


async def test_a_job_of_ours_that_is_gone_is_not_shown_any_more(desk: Desk) -> None:
    """Somebody else took it down, or it went with its cluster."""
    operations = PretendedOperations()
    async with clustered(desk, operations=operations, write=True) as (seat, opened):
        opened[0].deliver(seen())
        await seat.sees("live every 1 s")
        await seat.press("L")
        await seat.until(lambda: seat.shows(AskScreen))
        await seat.press("enter")
        await seat.until(lambda: operations.asked("up"))
        up, plan = operations.of("up"), seat.session.plan
        up.check(plan)
        await seat.sees("launch 2 ranks")
        await seat.press("ctrl+l")
        await seat.until(lambda: up.answers == [True])
        up.reserve()
        up.start(plan)
        up.be_ready(plan)
        job = str(up.body["job"])
        up.succeed(job=job)
        await seat.until(lambda: len(opened) == 2 and opened[1].subscriber is not None)
        # Until the cluster shows the ranks, the launch does.
        opened[1].deliver(seen(job=job))
        await seat.sees(f"job {job}", "live every 1 s", "· alive", " 1000 ")
        ranks = {"actor": (RankState("actor", 0, "alive", pid=7), RankState("actor", 1, "alive", pid=8))}
        opened[1].deliver(seen(ranks=ranks, job=job))
        await seat.sees(" 7 ")
        opened[1].deliver(seen(job=job))
        await seat.misses("· alive")


async def test_edits_keep_the_source_and_a_job_needs_another(desk: Desk) -> None:
    async with clustered(desk) as (seat, opened):
        opened[0].deliver(seen())
        await seat.sees("live every 1 s")
        await seat.press("right_square_bracket")
        await seat.until(lambda: seat.session.plan is seat.app.cluster._connected, "followed")
        assert len(opened) == 1
        seat.app.cluster.job = "conf"
        seat.app.cluster.connect()
        await seat.until(lambda: len(opened) == 2 and opened[1].subscriber is not None and opened[0].closed)
        assert opened[1].asked == ("auto", "conf")
        ranks = {"actor": (RankState("actor", 0, "dead", "killed by signal 9"), RankState("actor", 1, "restarting"))}
        opened[1].deliver(seen(ranks=ranks, job="conf"))
        await seat.sees("job conf", "live every 1 s", "└ killed by signal 9")
        opened[0].deliver(seen())  # what comes late counts no more
        await seat.sees("└ killed by signal 9")

"""Launching from the dashboard: what is asked, what is shown, and how it ends."""

from __future__ import annotations

import json
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import placetui
from placetui.document import PlanRequest
from placetui.frameworks.demand import BundleDemand, GroupDemand, RayDemand
from placetui.frameworks.preflight import Note, planned_nodes, preflight
from placetui.observe.model import Observation
from placetui.observe.operations import Failure, Refusing
from placetui.placement.topology import Node
from placetui.runtime.launch.request import Request
from placetui.tui.actions import READ_ONLY
from placetui.tui.cluster.launch import Launch
from placetui.tui.dialogs.ask import AskScreen
from placetui.tui.dialogs.choose import ChooseScreen
from placetui.tui.dialogs.launch import LaunchScreen
from placetui.tui.dialogs.leaving import LeavingScreen
from placetui.tui.main import MainScreen
from tests.tui.pretend import PretendedOperation, PretendedOperations

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.tui.conftest import Desk, Seat

FILE = """\
cluster:
  num_nodes: 1
  component_placement:
    actor: 0-1
    rollout: 0-1
placetui:
  topology: {nodes: 1, gpus_per_node: 2}
  launch:
    actor: {worker: "my_pkg.workers:Trainer"}
"""


class Launching:
    """A dashboard in which a launch was begun."""

    def __init__(self, seat: Seat, operations: PretendedOperations) -> None:
        self.seat = seat
        self.operations = operations

    @property
    def up(self) -> PretendedOperation:
        return self.operations.of("up")

    @property
    def plan(self) -> Any:
        return self.seat.session.plan

    def states(self) -> set[str]:
        observation = self.seat.observation
        return set() if observation is None else {state.state for state in observation.all_ranks}

    async def confirm(self) -> None:
        self.up.check(self.plan)
        await self.seat.sees("launch 4 ranks")
        await self.seat.press("ctrl+l")
        assert self.up.answers == [True]


@asynccontextmanager
async def launching(desk: Desk, text: str = FILE, **options: Any) -> AsyncIterator[Launching]:
    operations = PretendedOperations()
    options.setdefault("write", True)
    async with desk.open(desk.write(text), operations=operations, **options) as seat:
        await seat.press("L")
        await seat.until(lambda: seat.shows(AskScreen))
        await seat.press("enter")
        await seat.until(lambda: operations.asked("up"), "asked for the launch")
        yield Launching(seat, operations)


async def test_action_launch(desk: Desk) -> None:
    async with launching(desk) as one:
        body = one.up.body
        assert (body["job"], body["text"], body["address"]) == ("plan", FILE, "auto")
        assert (body["dry_run"], body["ask"], body["nodes"]) == (False, ["launch", "moved", "used"], None)
        await one.seat.until(lambda: one.seat.shows(LaunchScreen))
        one.up.check(one.plan)
        await one.seat.sees("node 0 = 10.0.0.1 (2 GPUs), by RLINF_NODE_RANK", "fits: 2 GPUs needed")
        await one.seat.sees("actor 1", "my_pkg.workers:Trainer", "rollout 0", "built-in worker", "GPU 1", ".80")
        demand = RayDemand((GroupDemand("pool", "STRICT_PACK", (BundleDemand({"GPU": 1}, 9),)),))
        judged = preflight(demand, planned_nodes([Node(8, name="big")]), notes=[Note("port 30000 is in use", "end it")])
        one.operations.of("preflight").succeed(**judged.to_dict())
        await one.seat.sees(
            "preflight", "the job cannot be scheduled", "pool needs 9 bundles of 1 GPU", "port 30000 is in use"
        )
        await one.seat.press("ctrl+l")
        assert one.up.answers == [True]
        await one.seat.until(lambda: one.seat.shows(MainScreen))


@pytest.mark.parametrize("size", [(40, 10), (60, 16)])
async def test_the_answers_are_in_view_in_a_small_terminal(desk: Desk, size: tuple[int, int]) -> None:
    async with launching(desk, size=size) as one:
        one.up.check(one.plan)
        await one.seat.sees("launch 4 ranks", "do not launch")
        await one.seat.press("ctrl+l", "L")
        one.up.reserve()
        one.up.start(one.plan, "starting")
        await one.seat.sees("back to the grid", "cancel and roll back")
        one.up.fail("the worker cannot be imported", component="actor", rank=1)
        await one.seat.sees("cannot be imported", "back to the grid")


async def test_the_grid_shows_how_far_each_rank_is(desk: Desk) -> None:
    async with launching(desk) as one:
        await one.confirm()
        one.up.reserve()
        await one.seat.until(lambda: one.states() == {"pending"})
        await one.seat.sees("plan: starting ranks")
        assert "drift" not in one.seat.status
        one.up.start(one.plan, "starting")
        await one.seat.until(lambda: one.states() == {"starting"})
        await one.seat.sees("starting")  # in the inspector too
        one.up.tell(step="launch", component="actor", rank=1, state="alive")
        await one.seat.sees("plan: 1 of 4 alive")
        await one.seat.until(lambda: one.states() == {"starting", "alive"})
        one.up.start(one.plan)
        one.up.be_ready(one.plan)
        one.up.succeed(job="plan")
        await one.seat.sees("job plan", "4/4 ranks alive", "1000")
        assert "job plan is running" in one.seat.toasts
        assert one.seat.app.cluster.job == "plan"


async def test_the_main_screen_shows_the_steps_and_who_is_slow(desk: Desk) -> None:
    clock = [1_000_000.0]
    async with launching(desk, now=lambda: clock[0], size=(120, 36)) as one:
        clock[0] += 2
        await one.confirm()
        clock[0] += 3
        one.up.reserve()
        await one.seat.sees("step 6 of 7", "2 bundles", "3.0 s", "starting ranks")
        one.up.start(one.plan, "starting")
        for rank in (0, 1):
            one.up.tell(step="launch", component="rollout", rank=rank, state="alive")
        await one.seat.sees("R 2", "50%", "2/4 alive", "Waiting for 2")
        clock[0] += 20
        await one.seat.sees("▲ slow", "▲ A0-1", "20 s", "starts on node0", "0:25", "about 0:20 left", "⠹ 20s")
        await one.seat.until(lambda: one.operations.asked("logs"), "the output of the slowest rank is read")
        logs = one.operations.of("logs")
        assert (logs.body["component"], logs.body["rank"], logs.body["follow"]) == ("actor", 0, True)
        logs.tell(step="lines", component="actor", rank=0, stream="out", lines=["building 41 of 73"])
        await one.seat.sees("Output  actor 0  node0/gpu0", "building 41 of 73")
        await one.seat.press("exclamation_mark", "F")
        await one.seat.sees("Which rank?", "actor:0")
        await one.seat.press("escape")
        one.up.tell(step="launch", component="actor", rank=0, state="alive")
        await one.seat.until(lambda: logs.interrupted, "another rank is the slowest")
        one.up.start(one.plan)
        one.up.be_ready(one.plan)
        one.up.succeed(job="plan")
        await one.seat.misses("step 6 of 7", "Waiting for", "starting ranks")


async def test_a_log_that_cannot_be_read_says_why_and_is_asked_for_again(desk: Desk) -> None:
    clock = [1_000_000.0]
    async with launching(desk, now=lambda: clock[0]) as one:
        await one.confirm()
        one.up.reserve()
        one.up.start(one.plan, "starting")
        await one.seat.until(lambda: one.states() == {"starting"})
        clock[0] += 5
        await one.seat.until(lambda: one.operations.asked("logs"))
        one.operations.of("logs").fail("`actor:0` has not started yet")
        await one.seat.sees("actor:0 has not started yet")
        first = one.operations.of("logs")
        await one.seat.until(lambda: one.operations.of("logs") is not first, "asked again")


async def test_keys_work_while_it_is_launched(desk: Desk) -> None:
    async with launching(desk) as one:
        await one.confirm()
        one.up.start(one.plan, "starting")
        await one.seat.press("right", "minus")
        assert one.seat.cursor == (0, "gpu", 1)
        assert one.seat.density() == "small"


async def test_it_can_be_cancelled_before_anything_was_begun(desk: Desk) -> None:
    async with launching(desk) as one:
        one.up.check(one.plan)
        await one.seat.sees("launch 4 ranks")
        await one.seat.press("escape")
        assert one.up.answers == [False]
        one.up.fail("interrupted", interrupted=True)
        await one.seat.until(lambda: not one.seat.app.cluster.launches.under_way)
        assert one.seat.shows(MainScreen)


async def test_it_can_be_cancelled_while_it_connects(desk: Desk) -> None:
    async with launching(desk) as one:
        await one.seat.sees("connecting")
        await one.seat.press("escape")
        await one.seat.until(lambda: one.up.interrupted)


async def test_it_can_be_cancelled_while_ranks_start(desk: Desk) -> None:
    async with launching(desk) as one:
        await one.confirm()
        one.up.reserve()
        one.up.start(one.plan, "starting")
        await one.seat.press("L")
        await one.seat.sees("0 of 4 alive", "back to the grid; it continues")
        await one.seat.press("escape")
        assert not one.up.interrupted, "leaving the screen is not cancelling"
        await one.seat.press("L")
        await one.seat.until(lambda: one.seat.shows(LaunchScreen))
        await one.seat.press("ctrl+x")
        await one.seat.until(lambda: one.up.interrupted)
        await one.seat.sees("rolling back")
        one.up.fail("interrupted", interrupted=True)
        await one.seat.until(lambda: "job plan was cancelled, and everything was rolled back" in one.seat.toasts)
        await one.seat.until(lambda: one.states() == set())


async def test_ranks_that_would_move_are_shown_one_by_one(desk: Desk) -> None:
    async with launching(desk) as one:
        await one.confirm()
        moved = [{"component": "actor", "rank": 1, "node_rank": 0, "planned": [1], "got": [3]}]
        one.up.reserve(moved)
        one.up.tell(step="probe", question="moved")
        await one.seat.until(lambda: "launch of plan needs your answer: press L" in one.seat.toasts)
        assert one.seat.shows(MainScreen), "no dialog opens unasked"
        await one.seat.press("L")
        await one.seat.sees("Other jobs have planned GPUs", "actor 1", "GPU 1", "GPU 3", "launch there")
        await one.seat.press("enter")  # the careful answer stands first
        assert one.up.answers == [True, False]


async def test_a_move_can_be_accepted(desk: Desk) -> None:
    async with launching(desk) as one:
        await one.confirm()
        one.up.reserve([{"component": "actor", "rank": 1, "node_rank": 0, "planned": [1], "got": [3]}])
        one.up.tell(step="probe", question="moved")
        await one.seat.until(lambda: "launch of plan needs your answer: press L" in one.seat.toasts)
        assert one.seat.shows(MainScreen), "no dialog opens unasked"
        await one.seat.press("L")
        await one.seat.sees("launch there")
        await one.seat.press("ctrl+l")
        assert one.up.answers == [True, True]


async def test_a_launch_on_used_gpus_takes_the_typed_name(desk: Desk) -> None:
    async with launching(desk) as one:
        used = [{"node_rank": 0, "node": "10.0.0.1", "gpu_id": "3", "used_by": ["RolloutGroup:3 of 01000000"]}]
        one.up.check(one.plan, ask=False)
        one.up.tell(step="check", nodes=[], groups={}, expected=[], used=used)
        one.up.tell(step="check", question="used")
        await one.seat.sees(
            "Other processes use planned GPUs without a Ray reservation", "GPU 3", "RolloutGroup:3 of 01000000"
        )
        await one.seat.press("ctrl+l")
        await one.seat.sees("Others use 1 planned GPU of plan", "Type plan and press enter")
        assert one.up.answers == []
        await one.seat.write("plan")
        await one.seat.press("enter")
        await one.seat.until(lambda: one.up.answers == [True])


async def test_a_failure_names_the_rank_and_shows_why(desk: Desk) -> None:
    async with launching(desk) as one:
        await one.confirm()
        one.up.reserve()
        one.up.start(one.plan, "starting")
        await one.seat.sees("starting ranks")
        one.up.fail(
            "actor:1 did not come up: KeyError: 'x[y]'",
            component="actor",
            rank=1,
            traceback=["  File my_pkg/workers.py, line 3", "KeyError: 'x[y]'"],
        )
        await one.seat.until(lambda: "launch of plan failed: press L for details" in one.seat.toasts)
        assert one.seat.shows(MainScreen), "nothing opens unasked"
        await one.seat.press("L")
        await one.seat.sees("actor:1 did not come up: KeyError: 'x[y]'", "│ KeyError: 'x[y]'", "was rolled back")
        await one.seat.press("escape")
        assert one.seat.cursor == (0, "gpu", 1), "the cursor is on the rank"
        await one.seat.sees("node0 · GPU 1")
        await one.seat.until(lambda: one.states() == set())


async def test_what_does_not_fit_is_a_table_of_shortages(desk: Desk) -> None:
    async with launching(desk) as one:
        short = {"node_rank": 0, "node": "10.0.0.1", "resource": "GPU", "needed": 2, "free": 1, "total": 2}
        one.up.fail("the cluster is busy: …", "wait for them", shortages=[{**short, "held_by": ["job other"]}])
        await one.seat.sees("0  10.0.0.1", "1 of 2", "job other", "hint: wait for them", "Nothing was started.")


async def test_a_lost_process_says_what_to_do(desk: Desk) -> None:
    async with launching(desk) as one:
        await one.confirm()
        one.up.reserve()
        hint = "what it had begun is taken back, or listed by J as incomplete: stop it there"
        one.up.fail("the process that talks to Ray ended: killed by SIGKILL", hint, lost=True)
        await one.seat.until(lambda: "launch of plan failed: press L for details" in one.seat.toasts)
        await one.seat.press("L")
        await one.seat.sees("killed by SIGKILL", "listed by J as incomplete")
        await one.seat.misses("Everything was rolled back")


async def test_unsaved_changes_are_launched_and_that_is_said(desk: Desk) -> None:
    operations = PretendedOperations()
    async with desk.open(desk.write(FILE), operations=operations, write=True) as seat:
        await seat.press("delete")
        await seat.until(lambda: seat.shows(ChooseScreen))
        await seat.press("enter")
        await seat.until(lambda: seat.editor.dirty)
        await seat.press("L", "enter")
        await seat.until(lambda: operations.asked("up"))
        assert operations.of("up").body["text"] == seat.session.text != FILE
        await seat.sees("unsaved: the launch uses the plan on the screen")


async def test_without_write_it_is_looked_at_and_refused(desk: Desk) -> None:
    pretended = PretendedOperations()
    operations = Refusing(pretended, "started without --write")
    async with desk.open(desk.write(FILE), operations=operations) as seat:
        await seat.press("L")
        await seat.until(lambda: pretended.asked("up"))
        assert pretended.of("up").body["dry_run"]
        pretended.of("up").check(seat.session.plan, ask=False)
        pretended.of("up").succeed(dry_run=True)
        await seat.sees("actor 0", "It will not be launched: started without --write.")
        await seat.press("ctrl+l", "enter")
        assert [one.kind for one in pretended.begun] == ["up", "preflight"]


@pytest.mark.parametrize("key", ["L", "X", "K", "R", "C"])
async def test_nothing_is_changed_without_write(desk: Desk, key: str) -> None:
    pretended = PretendedOperations()
    operations = Refusing(pretended, "started without --write")
    async with desk.open(desk.write(FILE), operations=operations, address="local") as seat:
        seat.app.cluster.job = "plan"
        await seat.press(key)
        await seat.until(lambda: READ_ONLY in seat.toasts)
        assert not pretended.begun


async def test_a_broken_file_is_not_launched(desk: Desk) -> None:
    operations = PretendedOperations()
    file = desk.write(FILE.replace("actor: 0-1", "actor: 0-9"))
    async with desk.open(file, operations=operations, write=True) as seat:
        await seat.press("L")
        await seat.until(lambda: any("does not exist" in toast for toast in seat.toasts))
        assert not operations.begun


async def test_a_name_that_cannot_be_one_is_asked_for_again(desk: Desk) -> None:
    operations = PretendedOperations()
    async with desk.open(desk.write(FILE), operations=operations, write=True) as seat:
        await seat.press("L")
        await seat.until(lambda: seat.shows(AskScreen))
        await seat.write("my job")
        await seat.press("enter")
        await seat.sees("letters, digits, dots")
        await seat.write("other")
        await seat.press("enter")
        await seat.until(lambda: operations.asked("up"))
        assert operations.of("up").body["job"] == "other"


async def test_assumed_nodes_give_way_to_the_matched_ones(desk: Desk) -> None:
    text = "cluster:\n  num_nodes: 1\n  component_placement:\n    actor: all\n"
    async with launching(desk, text) as one:
        assert one.plan.topology_source == "assumed"
        node = {"rank": 0, "node_id": "id", "ip": "10.0.0.1", "host": "gpu-host", "gpus": 2}
        one.up.tell(step="match", by="the order of addresses", nodes=[node], warnings=["node_order: …"])
        await one.seat.until(lambda: one.plan.topology_source == "ray", "planned again")
        assert [node.gpus for node in one.plan.nodes] == [2]
        await one.seat.sees("warning: node_order")
        assert not one.seat.session.tried


# The embedded cluster


async def test_nodes_that_were_given_are_sent_as_they_are(desk: Desk) -> None:
    given = (Node(4, name="a", gpu_ids=(4, 5, 6, 7), cpus_in_use=1.5), Node(8))
    plan_request = PlanRequest(nodes=given, topology_source="flag")
    async with launching(desk, plan_request=plan_request) as launch:
        body = json.loads(json.dumps(dict(launch.up.body)))
        assert Request.read(body).nodes == given


async def test_the_embedded_cluster_is_asked_about_before_leaving(desk: Desk) -> None:
    async with launching(desk, address="local") as one:
        assert one.up.body["address"] == "local"
        await one.seat.sees("starting an embedded cluster of 1 node")
        await one.confirm()
        one.up.reserve()
        one.up.start(one.plan)
        one.up.be_ready(one.plan)
        await one.seat.sees("job plan")
        assert one.seat.app.cluster.address == "10.0.0.1:6379", "others are asked of the embedded cluster"
        await one.seat.press("q")
        await one.seat.sees("The job plan runs on the embedded cluster, which ends with the dashboard.")
        await one.seat.press("s")
        assert not one.up.interrupted
        await one.seat.press("q")
        await one.seat.until(lambda: one.seat.shows(ChooseScreen))
        await one.seat.press("ctrl+t")
        await one.seat.until(lambda: one.seat.shows(LeavingScreen) and one.up.interrupted)
        await one.seat.sees("stopping plan and its embedded cluster")
        one.up.fail("interrupted", interrupted=True)
        await one.seat.until(lambda: one.seat.app._exit, "left")
        assert not one.seat.app.cluster.launches.hurried


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_a_job_that_has_just_become_ready_does_not_keep_anybody(desk: Desk, key: str) -> None:
    """The process that launched it has yet to let go of the cluster."""
    async with launching(desk) as one:
        await one.confirm()
        one.up.reserve()
        one.up.start(one.plan)
        one.up.be_ready(one.plan)
        await one.seat.sees("job plan")
        await one.seat.press(key)
        await one.seat.until(lambda: one.seat.app._exit, "left")
        assert not one.up.interrupted


async def test_ctrl_c_asks_and_the_second_leaves_at_once(desk: Desk) -> None:
    async with launching(desk, address="local") as one:
        await one.confirm()
        one.up.reserve()
        one.up.be_ready(one.plan)
        await one.seat.sees("job plan")
        await one.seat.press("ctrl+c")
        await one.seat.until(lambda: one.seat.shows(ChooseScreen))
        assert not one.seat.app._exit
        await one.seat.press("ctrl+c")
        await one.seat.until(lambda: one.seat.app._exit, "left")
        assert one.seat.app.cluster.launches.hurried


async def test_stopping_the_job_ends_the_embedded_cluster(desk: Desk) -> None:
    async with launching(desk, address="local") as one:
        await one.confirm()
        one.up.start(one.plan)
        one.up.be_ready(one.plan)
        await one.seat.sees("job plan")
        await one.seat.press("X")
        await one.seat.sees("Type plan and press enter")
        await one.seat.write("plan")
        await one.seat.press("enter")
        await one.seat.until(lambda: one.up.interrupted)
        one.up.fail("interrupted", interrupted=True)
        await one.seat.until(lambda: "job plan was stopped" in one.seat.toasts)
        assert one.seat.app.cluster.job == ""
        assert one.seat.app.cluster.address == "local"


async def test_another_file_does_not_show_the_ranks_of_the_launch(desk: Desk) -> None:
    other = desk.write(FILE, "other.yaml")
    async with launching(desk) as one:
        await one.confirm()
        one.up.reserve()
        one.up.start(one.plan, "starting")
        await one.seat.until(lambda: one.states() == {"starting"})
        await one.seat.app.open_file(str(other))
        await one.seat.until(lambda: one.seat.session.file == str(other) and one.seat.main.is_mounted)
        one.up.start(one.plan)
        await one.seat.sees("plan: 4 of 4 alive")
        assert one.states() == set()
        one.up.be_ready(one.plan)
        one.up.succeed(job="plan")
        await one.seat.until(lambda: "job plan is running" in one.seat.toasts)


async def test_a_rank_that_the_open_file_does_not_have_is_not_gone_to(desk: Desk) -> None:
    other = desk.write(FILE.replace("actor", "critic"), "other.yaml")
    async with launching(desk) as one:
        await one.confirm()
        one.up.reserve()
        one.up.start(one.plan, "starting")
        await one.seat.until(lambda: one.states() == {"starting"})
        await one.seat.app.open_file(str(other))
        await one.seat.until(lambda: one.seat.session.file == str(other) and one.seat.main.launching)
        await one.seat.press("exclamation_mark", "exclamation_mark")
        await one.seat.until(lambda: "actor 0 is not in the open file" in one.seat.toasts)
        assert "rollout 0 is not in the open file" not in one.seat.toasts, "it is in both"


async def test_who_is_waited_for_is_listed_beside_a_file_without_these_components(desk: Desk) -> None:
    other = desk.write(FILE.replace("actor", "critic"), "other.yaml")
    async with launching(desk, size=(120, 36)) as one:
        await one.confirm()
        one.up.reserve()
        one.up.start(one.plan, "starting")
        await one.seat.until(lambda: one.states() == {"starting"})
        await one.seat.app.open_file(str(other))
        await one.seat.until(lambda: one.seat.session.file == str(other) and one.seat.main.is_mounted)
        await one.seat.sees("Waiting for 4", "A0-1", "R0-1")


def test_the_cluster_has_the_word_about_a_job_that_is_ready() -> None:
    plan = placetui.resolve(
        {"cluster": {"num_nodes": 1, "component_placement": {"actor": "0"}}}, nodes=[placetui.Node(gpus=1)]
    )
    empty = Observation(time.time(), "ray", (), job="x")
    launch = Launch("x", plan)
    launch.take({"step": "check", "groups": {"actor": 1}})
    launch.take({"step": "launch", "component": "actor", "rank": 0, "state": "alive"})

    def ranks(seen: Observation) -> int:
        found = launch.over(seen)
        return len(found.ranks) if found else 0

    assert ranks(empty) == 1
    launch.take({"step": "ready", "ranks": [{"component": "actor", "rank": 0, "pid": 7}]})
    # It may have been read before the job was there; later on the job has gone, as with a head that was started anew.
    assert ranks(empty) == 1
    assert ranks(replace(empty, time=empty.time + 60, job="")) == 1
    assert ranks(replace(empty, time=empty.time + 60)) == 0
    assert ranks(empty) == 0


def test_a_launch_that_failed_or_asks_shows_no_spinner(desk: Desk) -> None:
    launch = Launch("job", placetui.load(desk.copy("hybrid")))
    launch.take({"step": "connect", "address": "a", "ray": "2.60.0", "nodes": 1})
    assert [one.progress for one in launch.steps[:3]] == ["done", "doing", "todo"]
    launch.take({"step": "connect", "question": "launch"})
    assert {one.progress for one in launch.steps[1:]} == {"todo"}
    launch.finish(Failure("no", "", False, {}))
    assert [one.progress for one in launch.steps[:3]] == ["done", "failed", "todo"]


def test_the_nodes_of_a_launch_have_the_names_that_the_cluster_gives_them(desk: Desk) -> None:
    """Otherwise each would leave the cluster and join it, as soon as the cluster is seen."""
    launch = Launch("job", placetui.load(desk.copy("hybrid")))
    node = {"rank": 0, "node_id": "id", "ip": "10.0.0.1", "host": "gpu-17", "gpus": 8}
    launch.take({"step": "match", "by": "order", "nodes": [node], "warnings": []})
    seen = launch.over(None)
    assert seen is not None
    assert [(one.name, one.ip, len(one.devices)) for one in seen.nodes] == [("gpu-17", "10.0.0.1", 8)]

"""Jobs in the dashboard: the list, looking at one, its end, its ranks, calls and logs."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from textual.command import CommandPalette
from textual.widgets import DataTable, Log

from placetui.document import load
from placetui.document.storage import recovery
from placetui.frameworks.demand import BundleDemand, GroupDemand, RayDemand
from placetui.frameworks.preflight import planned_nodes, preflight
from placetui.observe.model import JobSummary, Observation
from placetui.observe.operations import Failure
from placetui.placement.topology import Node
from placetui.tui.dialogs.ask import AskScreen, ConfirmScreen
from placetui.tui.dialogs.choose import ChooseScreen
from placetui.tui.dialogs.jobs import JobsScreen
from placetui.tui.dialogs.log import ChildLogScreen, RankLogScreen
from placetui.tui.dialogs.results import ResultsScreen
from placetui.tui.main import MainScreen
from tests.tui.pretend import ADDRESS, PretendedOperations

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.tui.conftest import Desk, Seat

FILE = """\
cluster:
  num_nodes: 1
  component_placement:
    actor: 0-3
    rollout: 0-3
placetui:
  topology: {nodes: 1, gpus_per_node: 4}
"""
NOW = 1_000_000.0


def job(name: str, alive: int = 8, **values: Any) -> dict[str, Any]:
    groups = {"actor": {"world_size": 4, "alive": alive - 4}, "rollout": {"world_size": 4, "alive": 4}}
    found = {"name": name, "file": f"/home/me/{name}.yaml", "state": "running", "created": NOW - 200, "groups": groups}
    return {**found, **values}


def record(file: Path, **values: Any) -> dict[str, Any]:
    """What the cluster says of a job that was launched from a file."""
    plan = load(file)
    nodes = [{"rank": 0, "node_id": "id", "ip": "10.0.0.1", "host": "gpu-host", "gpus": 4}]
    told = {"job": job("conf", file=str(file)), "plan": plan.to_dict(), "nodes": nodes, "ranks": []}
    return {**json.loads(json.dumps(told)), **values}


@asynccontextmanager
async def dashboard(
    desk: Desk, *, attached: str = "", **options: Any
) -> AsyncIterator[tuple[Seat, PretendedOperations]]:
    operations = options.pop("operations", PretendedOperations())
    file = options.pop("file", None) or desk.write(FILE, "conf.yaml")
    options.setdefault("write", True)
    async with desk.open(file, operations=operations, now=lambda: NOW, **options) as seat:
        seat.app.cluster.job = attached
        yield seat, operations


# The list


async def test_action_jobs(desk: Desk) -> None:
    operations = PretendedOperations()
    jobs = [job("conf"), job("other", alive=7, state="degraded", created=NOW - 7300, file=None)]
    operations.replies["ps"] = {"address": ADDRESS, "jobs": jobs}
    async with dashboard(desk, operations=operations) as (seat, _):
        await seat.press("J")
        await seat.sees(
            f"Jobs 2  {ADDRESS}", "conf", "running", "8/8", "3 min", "conf.yaml", "other", "degraded", "7/8", "2 h"
        )
        assert operations.of("ps").body["address"] == "auto"
        await seat.press("escape")
        assert seat.shows(MainScreen)


async def test_action_preflight(desk: Desk) -> None:
    operations = PretendedOperations()
    demand = RayDemand((GroupDemand("pool", "STRICT_PACK", (BundleDemand({"GPU": 1, "CPU": 3}, 9),)),))
    found = preflight(demand, planned_nodes([Node(8, name="big")])).to_dict()
    operations.replies["preflight"] = {"address": ADDRESS, **found}
    async with dashboard(desk, operations=operations) as (seat, _):
        await seat.press("B")
        await seat.sees(f"on {ADDRESS}: does not fit", "STRICT_PACK 9 × 1 GPU + 3 CPU", "waits", "has 8 GPUs in all")
        assert operations.of("preflight").body["text"] == seat.session.text
        await seat.press("escape")
        assert seat.shows(MainScreen)
        operations.replies["preflight"] = Failure("no Ray cluster was found on this machine", "name one with --address")
        await seat.press("B")
        await seat.until(lambda: any("no Ray cluster was found" in toast for toast in seat.toasts))


async def test_the_list_is_kept_up_to_date_and_the_cursor_stays(desk: Desk) -> None:
    operations = PretendedOperations()
    operations.replies["ps"] = {"address": ADDRESS, "jobs": [job("conf"), job("other")]}
    async with dashboard(desk, operations=operations) as (seat, _):
        await seat.press("J")
        await seat.sees("other")
        await seat.press("down")
        operations.replies["ps"] = {"address": ADDRESS, "jobs": [job("other", alive=5, state="degraded"), job("new")]}
        await seat.sees("5/8", "new")
        await seat.misses("/home/me/conf.yaml")
        screen = seat.app.screen
        assert isinstance(screen, JobsScreen)
        assert screen._chosen() in ("other", "new")
        assert screen.query_one(DataTable).row_count == 2


async def test_no_jobs_and_no_cluster_are_said(desk: Desk) -> None:
    operations = PretendedOperations()
    operations.replies["ps"] = Failure("no Ray cluster was found on this machine", "name one with --address")
    async with dashboard(desk, operations=operations) as (seat, _):
        await seat.press("J")
        await seat.sees("no Ray cluster was found on this machine (name one with --address)")
        operations.replies["ps"] = {"address": ADDRESS, "jobs": []}
        await seat.sees("No jobs on")
        assert "follow" not in seat.lines[-1]


async def test_nothing_is_asked_of_a_simulation(desk: Desk) -> None:
    async with desk.open("collocated", live=True) as seat:
        for key in ("J", "L"):
            seat.app.clear_notifications()
            await seat.press(key, key)
            await seat.until(lambda: seat.toasts)
            await seat.heard()
            assert seat.toasts == ["a simulation or a recording has no cluster to act on"], "once at a time"


async def test_the_embedded_cluster_has_no_jobs_before_a_launch(desk: Desk) -> None:
    async with dashboard(desk, address="local") as (seat, operations):
        await seat.press("J")
        await seat.until(lambda: "the embedded cluster starts with a launch: L" in seat.toasts)
        assert not operations.begun


# Looking at a job


async def attach(seat: Seat, operations: PretendedOperations, told: dict[str, Any]) -> None:
    operations.replies["ps"] = {"address": ADDRESS, "jobs": [job("conf")]}
    operations.replies["job"] = told
    await seat.press("J")
    await seat.sees("3 min")
    await seat.press("enter")
    await seat.until(lambda: seat.app.cluster.job == "conf" and seat.shows(MainScreen), "attached")
    assert operations.of("job").body["job"] == "conf"


async def test_the_job_of_another_file_opens_that_file(desk: Desk) -> None:
    other = desk.write(FILE.replace("rollout: 0-3", "rollout: 0-1"), "other.yaml")
    async with dashboard(desk) as (seat, operations):
        await attach(seat, operations, record(other))
        await seat.until(lambda: seat.session.file == str(other))
        session = seat.session
        assert not session.recorded
        assert session.plan.topology_source == "ray"
        assert session.plan.nodes[0].name == "gpu-host"
        await seat.sees("gpu-host", "job conf")


async def test_a_job_that_opens_closes_what_was_opened_meanwhile(desk: Desk) -> None:
    file = desk.write(FILE, "conf.yaml")
    other = desk.write(FILE.replace("rollout: 0-3", "rollout: 0-1"), "other.yaml")
    async with dashboard(desk, file=file) as (seat, operations):
        operations.replies["ps"] = {"address": ADDRESS, "jobs": [job("conf")]}
        await seat.press("J")
        await seat.sees("3 min")
        await seat.press("enter")
        await seat.until(lambda: operations.asked("job"))
        await seat.press("left_square_bracket")
        await seat.until(lambda: seat.shows(ChooseScreen))
        await seat.press("r")
        await seat.until(lambda: seat.editor.dirty)
        edited = seat.session.text
        await seat.press("x")
        await seat.until(lambda: seat.shows(AskScreen))
        await seat.press("ctrl+p")
        await seat.until(lambda: seat.shows(CommandPalette))
        before = seat.main
        operations.of("job").succeed(**record(other))
        await seat.until(lambda: seat.app.screen is seat.app.main and seat.main is not before, "another main screen")
        assert seat.session.file == str(other)
        assert [type(screen).__name__ for screen in seat.app.screen_stack] == ["Screen", "MainScreen"]
        kept = recovery.find(file)
        assert kept is not None
        assert kept.text == edited, "what was edited while the answer was under way is offered again"
        assert not list(desk.folder.glob("*.svg"))


async def test_the_job_of_a_file_that_is_gone_shows_its_record(desk: Desk) -> None:
    other = desk.write(FILE.replace("rollout: 0-3", "rollout: 0-1"), "other.yaml")
    told = record(other)
    other.unlink()
    async with dashboard(desk) as (seat, operations):
        await attach(seat, operations, told)
        await seat.until(lambda: seat.session.recorded)
        await seat.sees("other.yaml", "as recorded", "R1")
        assert seat.session.plan.components["rollout"].world_size == 2
        for key in ("r", "L", "e"):
            seat.app.clear_notifications()
            await seat.press(key)
            await seat.until(lambda: any("record of a job" in toast for toast in seat.toasts), f"{key} is refused")
            await seat.press("escape")
        assert seat.session.recorded
        await seat.press("2")
        await seat.sees("The plan of job conf as recorded")


async def test_a_file_that_says_something_else_by_now_is_not_taken_for_the_job(desk: Desk) -> None:
    other = desk.write(FILE.replace("rollout: 0-3", "rollout: 0-1"), "other.yaml")
    told = record(other)
    other.write_text(FILE)
    async with dashboard(desk) as (seat, operations):
        await attach(seat, operations, told)
        await seat.until(lambda: seat.session.recorded)
        assert seat.session.plan.components["rollout"].world_size == 2


async def test_the_job_of_the_open_file_keeps_it_open(desk: Desk) -> None:
    file = desk.write(FILE + "    # edited\n", "conf.yaml")
    async with dashboard(desk, file=file) as (seat, operations):
        main = seat.main
        told = record(file)
        told["nodes"][0] |= {"host": "node0", "ip": ""}
        await attach(seat, operations, told)
        assert seat.main is main


async def test_a_job_without_a_plan_is_said(desk: Desk) -> None:
    async with dashboard(desk) as (seat, operations):
        operations.replies["ps"] = {"address": ADDRESS, "jobs": [job("conf")]}
        operations.replies["job"] = {"job": job("conf"), "plan": {}, "nodes": [], "ranks": []}
        await seat.press("J")
        await seat.sees("3 min")
        await seat.press("enter")
        await seat.until(lambda: "the record of conf has no plan" in seat.toasts)
        assert seat.app.cluster.job == ""


# The end of a job


async def test_action_stop_job(desk: Desk) -> None:
    async with dashboard(desk, attached="conf") as (seat, operations):
        await seat.press("X")
        await seat.sees("All ranks of conf are killed", "Type conf and press enter")
        await seat.write("con")
        await seat.press("enter")
        await seat.sees("that is not conf; nothing changed")
        assert not operations.begun
        await seat.write("f")
        await seat.press("enter")
        await seat.until(lambda: operations.asked("down"))
        assert operations.of("down").body["job"] == "conf"
        operations.of("down").succeed(actors=8, groups=1, silent=[{"node": "10.0.0.2", "ranks": ["actor:4"]}])
        told = "stopped conf; 10.0.0.2 does not answer: actor:4 may still run there"
        await seat.until(lambda: told in seat.toasts)
        assert seat.app.cluster.job == ""


async def test_somebody_elses_job_is_stopped_by_owner_and_name(desk: Desk) -> None:
    async with dashboard(desk) as (seat, operations):
        operations.replies["ps"] = {"address": ADDRESS, "jobs": [job("conf", owner="alice@head")]}
        await seat.press("X")
        await seat.sees("3 min")
        await seat.press("s")
        await seat.sees("It belongs to alice@head.", "Type alice/conf and press enter")
        await seat.write("conf")
        await seat.press("enter")
        await seat.sees("that is not alice/conf; nothing changed")
        assert not operations.asked("down")


async def test_a_job_can_be_stopped_from_the_list(desk: Desk) -> None:
    async with dashboard(desk) as (seat, operations):
        operations.replies["ps"] = {"address": ADDRESS, "jobs": [job("conf")]}
        operations.replies["down"] = Failure("there is no job `conf`", "placetui ps lists them")
        await seat.press("X")
        await seat.sees("3 min")
        await seat.press("s")
        await seat.until(lambda: seat.shows(ConfirmScreen))
        await seat.write("conf")
        await seat.press("enter")
        await seat.until(lambda: "there is no job conf (placetui ps lists them)" in seat.toasts)


# One rank


async def test_action_kill_rank(desk: Desk) -> None:
    async with dashboard(desk, attached="conf") as (seat, operations):
        await seat.press("right", "right", "K")
        await seat.sees("actor:2", "rollout:2")
        await seat.press("enter")
        await seat.sees("Type actor:2 and press enter")
        await seat.write("actor:2")
        await seat.press("enter")
        await seat.until(lambda: operations.asked("kill"))
        body = operations.of("kill").body
        assert (body["job"], body["component"], body["rank"]) == ("conf", "actor", 2)
        operations.of("kill").succeed()
        await seat.until(lambda: "killed actor:2" in seat.toasts)


async def test_ranks_of_a_job_that_placetui_did_not_launch_are_left_alone(desk: Desk) -> None:
    async with dashboard(desk, attached="raysubmit_7") as (seat, operations):
        job = JobSummary("raysubmit_7", "rlinf")
        seat.app.cluster.seen = Observation(NOW, "ray", (), job="raysubmit_7", jobs=(job,))
        for key in ("K", "R", "C"):
            await seat.press(key)
            await seat.until(lambda: any("did not launch raysubmit_7" in toast for toast in seat.toasts))
            assert seat.shows(MainScreen)
        assert not operations.begun
        seat.app.cluster.seen = Observation(NOW, "ray", (), note="job raysubmit_7 has ended")
        assert seat.app.cluster._job_words == "job raysubmit_7 has ended"


async def test_action_restart_rank(desk: Desk) -> None:
    async with dashboard(desk, attached="conf") as (seat, operations):
        await seat.press("R")
        await seat.until(lambda: seat.shows(ChooseScreen))
        await seat.press("down", "enter")
        await seat.sees("rollout:0 of job conf is stopped and started again", "Type rollout:0 and press enter")
        await seat.write("actor:0")
        await seat.press("enter")
        await seat.sees("that is not rollout:0; nothing changed")
        assert not operations.begun
        await seat.press("escape", "R", "down", "enter")
        await seat.sees("Type rollout:0 and press enter")
        await seat.write("rollout:0")
        await seat.press("enter")
        await seat.until(lambda: operations.asked("restart"))
        operations.of("restart").fail("rollout:0 did not come up: OSError", "its log may say why")
        await seat.until(lambda: "rollout:0 did not come up: OSError (its log may say why)" in seat.toasts)


@pytest.mark.parametrize("key", ["K", "R", "F", "H", "C"])
async def test_without_a_job_there_is_no_rank(desk: Desk, key: str) -> None:
    async with dashboard(desk) as (seat, operations):
        await seat.press(key)
        await seat.until(lambda: "no job selected: J lists them" in seat.toasts)
        assert not operations.begun


async def test_action_rank_log(desk: Desk) -> None:
    async with dashboard(desk, attached="conf") as (seat, operations):
        await seat.press("F", "enter")
        await seat.until(lambda: seat.shows(RankLogScreen) and operations.asked("logs"))
        logs = operations.of("logs")
        assert (logs.body["component"], logs.body["rank"], logs.body["follow"]) == ("actor", 0, True)
        logs.tell(step="lines", component="actor", rank=0, stream="out", lines=[f"line {n}" for n in range(100)])
        await seat.sees("line 99")
        await seat.press("home")
        await seat.sees("line 0 ")
        logs.tell(step="lines", lines=["[red]not markup[/] \x1b[2Jnor this", "", "the end"])
        log = seat.app.screen.query_one(Log)
        await seat.until(lambda: log.line_count == 103)
        assert log.scroll_y == 0, "who reads above is left there"
        await seat.press("end")
        await seat.sees("[red]not markup[/] ·[2Jnor this", "the end")
        logs.tell(step="rank", state="dead", reason="killed by signal 9")
        await seat.sees("the rank is dead: killed by signal 9")
        await seat.press("escape")
        assert logs.interrupted
        assert seat.shows(MainScreen)


async def test_action_rank_stack(desk: Desk) -> None:
    async with dashboard(desk, attached="conf") as (seat, operations):
        await seat.press("H", "enter")
        await seat.until(lambda: operations.asked("stack"))
        body = operations.of("stack").body
        assert (body["job"], body["component"], body["rank"]) == ("conf", "actor", 0)
        operations.of("stack").succeed(text="Thread 1\n  wait [all] (nccl.py:3)", by="py-spy")
        await seat.sees("Stacks of actor:0, read by py-spy", "wait [all] (nccl.py:3)")
        assert not any("Thread 1" in line and "wait" in line for line in seat.lines), "a line for each frame"
        assert seat.lines[-1].startswith(" STACK ")


# A group


async def test_action_call(desk: Desk) -> None:
    async with dashboard(desk, attached="conf") as (seat, operations):
        await seat.press("C")
        await seat.sees("On all ranks of which component?")
        await seat.press("enter")
        await seat.until(lambda: seat.shows(AskScreen))
        await seat.write("save")
        await seat.press("enter")
        await seat.until(lambda: seat.shows(ResultsScreen) and operations.asked("call"))
        call = operations.of("call")
        assert (call.body["job"], call.body["component"], call.body["method"]) == ("conf", "actor", "save")
        await seat.sees("0 answered, waiting for 4 ranks: actor:0-3")
        call.tell(step="result", component="actor", rank=1, value={"path": "/tmp/x"})
        await seat.sees("1 answered", "actor:1", "{'path': '/tmp/x'}", "waiting for 3 ranks: actor:0,2-3")
        call.tell(step="result", component="actor", rank=0, error="ValueError: [no] space", traceback=["at line 3"])
        await seat.sees("failed: ValueError: [no] space", "| at line 3", "1 answered, 1 failed")
        call.tell(step="result", component="actor", rank=3, value=None)
        call.succeed(results={}, failed={}, waiting=[2])
        await seat.sees("no answer from 1 rank: actor:2")
        await seat.press("escape")
        assert not call.interrupted


async def test_nobody_has_to_wait_for_the_slowest(desk: Desk) -> None:
    async with dashboard(desk, attached="conf") as (seat, operations):
        await seat.press("C", "enter")
        await seat.until(lambda: seat.shows(AskScreen))
        await seat.write("train")
        await seat.press("enter")
        await seat.until(lambda: operations.asked("call"))
        await seat.press("x")
        assert operations.of("call").interrupted
        operations.of("call").fail("interrupted", interrupted=True)
        await seat.sees("no answer from 4 ranks: actor:0-3")


# What Ray prints


async def test_action_ray_log(desk: Desk) -> None:
    path = desk.folder / "child.log"
    async with dashboard(desk, child_log=lambda: path if path.exists() else None) as (seat, _):
        await seat.press("O")
        await seat.until(lambda: seat.shows(ChildLogScreen))
        await seat.sees("no cluster was contacted yet")
        path.write_text("(raylet) WARNING: 8 PYTHON workers\n\x1b[31mhalf a li")
        await seat.sees("(raylet) WARNING: 8 PYTHON workers", "child.log")
        await seat.misses("half a li")
        with path.open("a") as file:
            file.write("ne\n")
        await seat.sees("·[31mhalf a line")
        await seat.press("escape")
        assert seat.shows(MainScreen)


async def test_a_job_without_components_has_nobody_to_call(desk: Desk) -> None:
    file = desk.write("cluster:\n  num_nodes: 1\n  component_placement: {}\n", "empty.yaml")
    async with dashboard(desk, attached="conf", file=file) as (seat, _):
        await seat.press("C")
        await seat.until(lambda: "this job has no components" in seat.toasts)

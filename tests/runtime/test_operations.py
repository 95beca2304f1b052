"""What can be asked of a job that runs: all about it, calls, logs, the end and the new start of a rank."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from placetui.cli.cluster import Failed, Runtime

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

pytestmark = [pytest.mark.ray, pytest.mark.slow]

WORKER = """
import os, sys, time

class Thing:
    def __repr__(self):
        return "<a thing>"

class OwnError(Exception):
    pass

class Worker:
    def __init__(self, rank, master_port, **kwargs):
        self.rank, self.master_port, self.kwargs = rank, master_port, kwargs
        print(f"rank {rank} is here", flush=True)
        print(f"rank {rank} warns", file=sys.stderr, flush=True)

    def about(self):
        names = ("RANK", "WORLD_SIZE", "CUDA_VISIBLE_DEVICES", "MASTER_PORT", "WORKER_NAME", "MINE")
        return {"pid": os.getpid(), "port": self.master_port, **{name: os.environ.get(name) for name in names}}

    def engine(self):
        return self.kwargs

    def add(self, left, right=0):
        return left + right

    def things(self):
        return {"thing": Thing(), "numbers": (1, 2.5, None), "nan": float("nan")}

    def long(self):
        return "x" * 1000000

    def fail(self):
        if self.rank == 1:
            raise OwnError("no space left")
        return self.rank

    def hang(self):
        if self.rank == 1:
            time.sleep(1000)
        return self.rank

    def say(self, text):
        print(text, flush=True)
"""

LAUNCH = """
placetui:
  launch:
    actor: {worker: 'operations_worker:Worker', env: {MINE: yes it is}}
    env: {worker: 'operations_worker:Worker', max_restarts: 1}
"""

JOB: dict[str, Any] = {"job": "job", "component": "actor"}

Steps = list[dict[str, Any]]


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("modules")
    (directory / "operations_worker.py").write_text(WORKER)
    return directory


@pytest.fixture(scope="module")
def job(one_node: TestCluster, modules: Path) -> Iterator[dict[str, Any]]:
    """A job of two ranks with a GPU each, and one without which Ray may start again once."""
    file = modules / "job.yaml"
    rules = "    actor: 2-3\n    env: {node_group: node, placement: 0}\n"
    file.write_text(f"cluster:\n  num_nodes: 1\n  component_placement:\n{rules}{LAUNCH}")
    done = one_node.up(file, PYTHONPATH=str(modules))
    assert done.code == 0, done.err
    yield done.last
    one_node.clean_up()


@pytest.fixture
def ask(one_node: TestCluster, job: dict[str, Any]) -> Iterator[Callable[..., Mapping[str, Any]]]:
    with one_node.child() as child:
        yield lambda kind, *progress, **body: child.ask(
            kind, 90, *progress, **{"address": one_node.address, **JOB, **body}
        )


Ask = Callable[..., Mapping[str, Any]]


def about(ask: Ask, component: str = "actor") -> dict[str, dict[str, Any]]:
    return dict(ask("call", method="about", component=component)["results"])


def state(ask: Ask, component: str, rank: int) -> dict[str, Any]:
    (found,) = [one for one in ask("job")["ranks"] if (one["component"], one["rank"]) == (component, rank)]
    return dict(found)


def wait_for_state(ask: Ask, component: str, rank: int, wanted: str, seconds: float = 30.0) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    while (found := state(ask, component, rank))["state"] != wanted:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found


def test_all_about_a_job_that_somebody_launched(ask: Ask, job: dict[str, Any]) -> None:
    found = ask("job")
    assert (found["job"]["name"], found["job"]["state"]) == ("job", "running")
    assert found["plan"]["components"]["actor"]["world_size"] == 2
    assert [node["rank"] for node in found["nodes"]] == [0]
    listed = [(one["component"], one["rank"], one["state"], one["node"]) for one in found["ranks"]]
    assert listed == [("actor", 0, "alive", 0), ("actor", 1, "alive", 0), ("env", 0, "alive", 0)]
    assert [one["actor_id"] for one in found["ranks"]] == [one["actor_id"] for one in job["ranks"]]


def test_results_come_by_rank_and_as_plain_values(ask: Ask) -> None:
    steps: Steps = []
    found = ask("call", lambda step: steps.append(dict(step)), method="things")
    value = {"thing": "<a thing>", "numbers": [1, 2.5, None], "nan": "nan"}
    assert found["results"] == {"0": value, "1": value}
    assert (found["failed"], found["waiting"]) == ({}, [])
    assert sorted((step["step"], step["component"], step["rank"]) for step in steps) == [
        ("result", "actor", 0),
        ("result", "actor", 1),
    ]
    assert ask("call", method="add", args=[1, 2])["results"] == {"0": 3, "1": 3}
    assert ask("call", method="add", args={"left": 1, "right": 4})["results"] == {"0": 5, "1": 5}
    cut = ask("call", method="long")["results"]["0"]
    assert cut.endswith("x…")
    assert len(cut) < 100_000


def test_a_rank_that_fails_is_named_and_the_other_has_its_result(one_node: TestCluster, job: dict[str, Any]) -> None:
    done = one_node.run("call", "job", "actor", "fail")
    assert (done.code, done.out) == (3, "actor:0         0\n")
    assert "actor:1 failed: OwnError: no space left" in done.err
    assert "raise OwnError" in done.err
    wrong = one_node.run("call", "job", "actor", "vanish", "--json")
    assert wrong.code == 3
    found = json.loads(wrong.out)
    assert found["results"] == {}
    assert found["failed"]["1"].endswith(" has no method `vanish`")
    assert "Traceback" not in wrong.err


def test_what_is_not_there_is_a_sentence(one_node: TestCluster, job: dict[str, Any]) -> None:
    for arguments, says in (
        (("call", "nobody", "actor", "save"), "there is no job nobody"),
        (("call", "job", "critic", "save"), "job has no component critic"),
        (("logs", "job", "actor:2"), "actor has no rank 2"),
    ):
        done = one_node.run(*arguments)
        assert (done.code, done.out) == (3, ""), done.err
        assert says in done.err
        assert "hint: " in done.err


def test_the_log_of_a_rank_and_what_comes(one_node: TestCluster, job: dict[str, Any], ask: Ask) -> None:
    done = one_node.run("logs", "job", "actor:1")
    assert (done.code, done.out) == (0, "rank 1 is here\nrank 1 warns\n"), done.err
    process = one_node.start("logs", "job", "actor:1", "-f", "-n", "1")
    assert process.stdout is not None
    assert [process.stdout.readline(), process.stdout.readline()] == ["rank 1 is here\n", "rank 1 warns\n"]
    ask("call", method="say", args=["good news: ümlaut\nand more"])
    assert [process.stdout.readline(), process.stdout.readline()] == ["good news: ümlaut\n", "and more\n"]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "")
    last = one_node.run("logs", "job", "actor:1", "-n", "1")
    assert last.out == "and more\nrank 1 warns\n"


def test_a_rank_killed_from_outside_is_started_again_by_ray(one_node: TestCluster, ask: Ask) -> None:
    """And its log goes on with the new process."""
    before = about(ask, "env")["0"]
    process = one_node.start("logs", "job", "env:0", "-f")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "rank 0 is here\n"
    os.kill(before["pid"], signal.SIGKILL)
    assert [process.stdout.readline() for _ in range(3)] == ["rank 0 warns\n", "rank 0 is here\n", "rank 0 warns\n"]
    assert wait_for_state(ask, "env", 0, "alive")["restarts"] == 1
    after = about(ask, "env")["0"]
    assert after == {**before, "pid": after["pid"]}
    assert after["pid"] != before["pid"]
    assert one_node.jobs()[0]["state"] == "running"
    # Once was all that it may: now it is dead, with the reason, and the follower has come to its end.
    os.kill(after["pid"], signal.SIGKILL)
    dead = wait_for_state(ask, "env", 0, "dead")
    assert dead["reason"].startswith("the process died: ")
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "env:0 is dead: the process died" in err
    listed = one_node.run("ps")
    assert "  env:0 dead: the process died" in listed.out
    assert "degraded" in listed.out
    assert list(about(ask)) == ["0", "1"]
    # Made again, it has its restart back.
    assert ask("restart", component="env", rank=0)["rank"]["state"] == "alive"
    assert about(ask, "env")["0"] == {**before, "pid": state(ask, "env", 0)["pid"]}


def test_a_rank_that_is_killed_stays_dead_until_it_is_restarted(one_node: TestCluster, ask: Ask) -> None:
    before = about(ask)
    ended = ask("kill", rank=1)["rank"]
    assert (ended["state"], ended["rank"]) == ("dead", 1)
    with pytest.raises(Failed, match="actor:1 is dead already"):
        ask("kill", rank=1)
    found = ask("call", method="add", args=[2, 2])
    assert found["results"] == {"0": 4}
    assert found["failed"]["1"].startswith("it is dead: ")
    assert "rank 1 warns" in one_node.run("logs", "job", "actor:1").out

    back = ask("restart", rank=1)["rank"]
    assert back["state"] == "alive"
    after = about(ask)
    assert after["0"] == before["0"]
    assert after["1"] == {**before["1"], "pid": back["pid"]}
    with one_node.head() as head:
        (actor,) = [one for one in head.living_actors() if one.name == "job/actor:1" and one.state == "ALIVE"]
    assert dict(actor.slots) == {3: 1.0}
    assert one_node.jobs()[0]["state"] == "running"


def test_a_rank_that_lives_is_restarted_in_its_seat(ask: Ask) -> None:
    """By Ray itself where it may, and without that where it may not."""
    before, before_env = about(ask), about(ask, "env")
    assert ask("restart", rank=0)["rank"]["state"] == "alive"
    assert about(ask)["0"] == {**before["0"], "pid": state(ask, "actor", 0)["pid"]}
    # Rank 0 chose the port for all: it has the same again.
    assert about(ask)["0"]["MASTER_PORT"] == before["1"]["MASTER_PORT"]
    kept = state(ask, "env", 0)["actor_id"]
    back = ask("restart", component="env", rank=0)["rank"]
    assert (back["state"], back["restarts"]) == ("alive", 1)
    assert state(ask, "env", 0)["actor_id"] == kept
    assert about(ask, "env")["0"] == {**before_env["0"], "pid": back["pid"]}


def test_a_restart_that_fails_says_why_and_leaves_the_rank_dead(ask: Ask, modules: Path) -> None:
    """The rest goes on, and the next restart may succeed."""
    module = modules / "operations_worker.py"
    module.write_text(WORKER.replace('print(f"rank {rank} is here", flush=True)', "raise KeyError('my key')"))
    try:
        with pytest.raises(Failed, match=r"actor:1 did not come up: KeyError: 'my key'") as failed:
            ask("restart", rank=1)
        assert failed.value.details["rank"] == 1
        assert "my key" in "\n".join(failed.value.details["traceback"])
    finally:
        module.write_text(WORKER)
    assert wait_for_state(ask, "actor", 1, "dead")["reason"] == "KeyError: 'my key'"
    assert list(about(ask)) == ["0"]
    assert ask("restart", rank=1)["rank"]["state"] == "alive"


def test_several_ask_the_same_process_at_once(one_node: TestCluster, job: dict[str, Any]) -> None:
    """As an app does: a log that is followed, a call that hangs, and a look at the job."""
    lines: Steps = []
    found: dict[str, Any] = {}

    def follow(child: Runtime) -> None:
        with pytest.raises(Failed):
            child.ask("logs", 90, lambda step: lines.append(dict(step)), **JOB, rank=0, follow=True, address=address)

    def hang(child: Runtime) -> None:
        # The one that answers does so at once, but not on a busy machine.
        for seconds in (3, 60):
            found.update(child.ask("call", 120, **JOB, method="hang", patience=seconds, address=address))
            if found["results"]:
                return

    address = one_node.address
    with one_node.child() as child:
        threads = [threading.Thread(target=one, args=(child,)) for one in (follow, hang)]
        for thread in threads:
            thread.start()
        assert child.ask("job", 60, **JOB, address=address)["job"]["state"] == "running"
        threads[1].join(180)
        # The other's result is there, and the one that hangs is named.
        assert (found["results"], found["failed"], found["waiting"]) == ({"0": 0}, {}, [1])
        deadline = time.monotonic() + 30
        while not lines:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    threads[0].join(30)
    assert lines[0]["lines"][0] == "rank 0 is here"
    add = ("call", "job", "actor", "add", "--args", "[1]", "--timeout")
    done = one_node.run(*add, seconds := "2")
    if not done.out:
        done = one_node.run(*add, seconds := "60")
    assert (done.code, done.out) == (3, "actor:0         1\n")
    assert f"no answer within {seconds} s from actor:1" in done.err
    # A rank that hangs can be restarted, and answers then.
    with one_node.child() as child:
        child.ask("restart", 90, **JOB, rank=1, address=address)
    assert one_node.run("call", "job", "actor", "add", "--args", '{"left": 1}').out.count("1\n") == 2


def test_an_engine_gets_its_arguments_again(one_node: TestCluster, modules: Path) -> None:
    file = modules / "slime.yaml"
    file.write_text(
        "slime: {debug_rollout_only: true, rollout_num_gpus: 2, rollout_num_gpus_per_engine: 2, num_gpus_per_node: 4}\n"
        "placetui:\n  launch: {rollout: {worker: 'operations_worker:Worker', max_restarts: -1}}\n"
    )
    done = one_node.up(file, PYTHONPATH=str(modules))
    assert done.code == 0, done.err
    (rank,) = [one for one in done.last["ranks"] if one["component"] == "rollout"]
    target: dict[str, Any] = {"job": "slime", "component": "rollout", "rank": 0, "address": one_node.address}
    with one_node.child() as child:
        told = child.ask("call", 60, **target, method="engine")["results"]["0"]
        assert told == rank["engine"]
        assert child.ask("restart", 60, **target)["rank"]["restarts"] == 1
        assert child.ask("call", 60, **target, method="engine")["results"]["0"] == told
        assert child.ask("kill", 60, **target, no_restart=True)["rank"]["state"] == "dead"
        assert child.ask("restart", 60, **target)["rank"]["state"] == "alive"
        assert child.ask("call", 60, **target, method="engine")["results"]["0"] == told
    assert one_node.down("slime").code == 0

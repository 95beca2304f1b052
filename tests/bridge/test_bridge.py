"""The bridge and the source over it, with real child processes."""

from __future__ import annotations

import gc
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placetui.bridge.client import CLOSE_GRACE, Bridge, BridgeLost, RequestRefused
from placetui.bridge.source import BridgeSource, simulated_source
from placetui.frameworks.planner import resolve
from placetui.observe.ports import ClusterSource
from placetui.observe.simulation import SimulatedLayout, SimulationOptions
from tests.bridge.conftest import PATIENCE

if TYPE_CHECKING:
    from tests.bridge.conftest import Notebook

Open = Callable[..., Bridge]
Script = Callable[[str], list[str]]
Gone = Callable[[int, float], None]

NO_WAIT = 5.0
"""Seconds, for what is done at once on a machine that is busy. Whoever waited would do so for minutes."""

SPEAKS = """
import json, sys, time
def say(**message):
    sys.stdout.write(json.dumps(message) + "\\n")
    sys.stdout.flush()
def requests():
    return (json.loads(line) for line in sys.stdin)
"""


def simulation(bridge: Bridge, layout: SimulatedLayout, interval: float = 0.02) -> BridgeSource:
    return BridgeSource(bridge, "simulated", "simulation", {"layout": layout.to_dict()}, interval)


def pid_of(bridge: Bridge) -> int:
    assert bridge.pid is not None
    return bridge.pid


def test_observations_arrive(open_bridge: Open, notebook: Notebook, layout: SimulatedLayout) -> None:
    source: ClusterSource = simulation(open_bridge(), layout)
    source.start(notebook)
    notebook.wait_for_updates(5)
    assert [status.link for status in notebook.statuses] == ["starting", "connected"]
    first, second, *_ = notebook.updates
    assert second != first
    assert first.source == source.name == "simulated"
    assert [node.name for node in first.nodes] == ["a", "b"]


def test_a_plan_is_simulated(open_bridge: Open, notebook: Notebook) -> None:
    plan = resolve({"cluster": {"num_nodes": 1, "component_placement": {"actor": "0-3", "rollout": "4-7"}}})
    options = SimulationOptions(startup=0.1, rank_dies_every=None, node_stale_every=None)
    simulated_source(open_bridge(), plan, options, 0.05).start(notebook)
    notebook.wait(lambda: notebook.updates and {s.state for s in notebook.updates[-1].all_ranks} == {"alive"})
    devices = notebook.updates[-1].nodes[0].devices
    assert [device.processes[0].component for device in devices] == ["actor"] * 4 + ["rollout"] * 4


def test_a_child_that_is_killed_is_told_of_and_replaced(
    open_bridge: Open, notebook: Notebook, layout: SimulatedLayout
) -> None:
    bridge = open_bridge()
    simulation(bridge, layout).start(notebook)
    notebook.wait_for_updates(2)
    first = pid_of(bridge)
    os.kill(first, signal.SIGKILL)
    lost = notebook.wait_for_link("lost")
    assert "killed by SIGKILL" in lost.message
    assert lost.retry_in == 0.05
    notebook.wait(lambda: notebook.statuses[-1].link == "connected")
    assert notebook.statuses[-1].restarts == 1
    notebook.wait_for_updates(2)
    assert pid_of(bridge) != first


def test_a_child_that_ends_is_noticed_though_something_holds_its_pipe(
    open_bridge: Open, notebook: Notebook, script: Script
) -> None:
    text = """
import subprocess
heir = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL)
say(type="hello", protocol=1)
say(type="status", message=str(heir.pid))
list(requests())
"""
    bridge = open_bridge(script(SPEAKS + text), delays=(600.0,))
    bridge.subscribe(notebook)
    bridge.start()
    notebook.wait(lambda: notebook.messages)
    os.kill(pid_of(bridge), signal.SIGKILL)
    try:
        notebook.wait(lambda: notebook.statuses[-1].link == "lost", seconds=5)
    finally:
        os.kill(int(notebook.messages[0].body["message"]), signal.SIGKILL)


def test_it_waits_longer_each_time_a_child_ends_at_once(open_bridge: Open, notebook: Notebook, script: Script) -> None:
    bridge = open_bridge(script("raise SystemExit('no driver')"), delays=(0.01, 0.02, 0.03))
    bridge.subscribe(notebook)
    bridge.start()
    notebook.wait(lambda: sum(status.link == "lost" for status in notebook.statuses) >= 4)
    lost = [status for status in notebook.statuses if status.link == "lost"]
    assert [status.retry_in for status in lost[:4]] == [0.01, 0.02, 0.03, 0.03]
    assert lost[0].message == "the child process ended: exit code 1: no driver"


def test_a_command_that_does_not_exist_is_told_of(open_bridge: Open, notebook: Notebook) -> None:
    bridge = open_bridge(["/nonexistent/python"])
    bridge.subscribe(notebook)
    bridge.start()
    assert "cannot be started" in notebook.wait_for_link("lost").message


def test_a_child_that_says_nothing_is_replaced(
    open_bridge: Open, notebook: Notebook, script: Script, gone: Gone
) -> None:
    bridge = open_bridge(script("import time; time.sleep(600)"), hello_timeout=0.2)
    bridge.subscribe(notebook)
    bridge.start()
    notebook.wait(lambda: bridge.pid)
    pid = pid_of(bridge)
    assert "said nothing for 0.2 s" in notebook.wait_for_link("lost").message
    gone(pid, PATIENCE)


def test_a_child_of_another_version_is_not_tried_again(open_bridge: Open, notebook: Notebook, script: Script) -> None:
    bridge = open_bridge(script(SPEAKS + "say(type='hello', protocol=99)\nlist(requests())"))
    bridge.subscribe(notebook)
    bridge.start()
    assert "upgraded" in notebook.wait_for_link("failed").message
    assert bridge.pid is None
    bridge.close()
    assert [status.link for status in notebook.statuses] == ["starting", "failed", "closed"]


def test_garbage_is_told_of_and_survived(open_bridge: Open, notebook: Notebook, script: Script) -> None:
    text = """
say(type="hello", protocol=1)
sys.stdout.write("WARNING: something to say\\n")
say(type="status", message="still here")
list(requests())
"""
    bridge = open_bridge(script(SPEAKS + text))
    bridge.subscribe(notebook)
    bridge.start()
    assert "WARNING: something" in notebook.wait_for_message("was skipped").message
    notebook.wait(lambda: notebook.messages)
    assert notebook.messages[0].body == {"message": "still here"}
    assert notebook.statuses[-1].link == "connected"


def test_a_lost_observation_is_asked_for_again(open_bridge: Open, notebook: Notebook, script: Script) -> None:
    text = """
say(type="hello", protocol=1)
def observe(sequence, time):
    say(type="observation", stream=1, sequence=sequence, last=True, delta={
        "schema": 1, "time": time, "source": "nvml", "nodes": [], "gone": [], "world_sizes": {}, "ranks": []})
for request in requests():
    if request["type"] == "start":
        observe(0, 1.0)
        observe(2, 2.0)
        observe(3, 3.0)
    elif request["type"] == "refresh":
        observe(0, 4.0)
    say(type="reply", id=request["id"])
"""
    BridgeSource(open_bridge(script(SPEAKS + text)), "nvml", "any", {}).start(notebook)
    notebook.wait_for_message("an observation was skipped")
    notebook.wait(lambda: len(notebook.updates) == 2)
    assert [update.time for update in notebook.updates] == [1.0, 4.0]
    assert sum("skipped" in status.message for status in notebook.statuses) == 1


def test_an_observation_that_has_no_json_is_told_of_and_the_next_is_shown(
    open_bridge: Open, notebook: Notebook, script: Script
) -> None:
    text = """
from itertools import count
from placetui.bridge.child import run
from placetui.observe.model import NodeSample, Observation
class Odd:
    def __init__(self, options):
        self.turns = count()
    def observe(self, deadline):
        turn = next(self.turns)
        return Observation(float(turn), "nvml", (NodeSample(0, "a", cpu_percent=float("nan" if turn == 1 else turn)),))
run({"odd": Odd})
"""
    BridgeSource(open_bridge(script(text)), "nvml", "odd", {}, 0.02).start(notebook)
    notebook.wait_for_message("not JSON compliant")
    notebook.wait(lambda: any(update.time > 1 for update in notebook.updates))
    assert {status.link for status in notebook.statuses} == {"starting", "connected"}


@pytest.mark.parametrize("problem", ["RuntimeError('the GPU is lost')", "FileNotFoundError('the GPU is lost')"])
def test_what_the_service_refuses_and_what_fails_is_told_of(
    open_bridge: Open, notebook: Notebook, script: Script, problem: str
) -> None:
    failing = f"""
from placetui.bridge.child import run
class Failing:
    def __init__(self, options):
        if options:
            raise {problem}
    def observe(self, deadline):
        raise {problem}
run({{"failing": Failing}})
"""
    command = script(failing)
    BridgeSource(open_bridge(command), "nvml", "weather", {}).start(notebook)
    notebook.wait_for_message("no service weather")
    for options in ({}, {"at": "once"}):
        notebook.statuses.clear()
        BridgeSource(open_bridge(command), "nvml", "failing", options).start(notebook)
        assert notebook.wait_for_message("Error: the GPU is lost").link == "connected"


def test_the_interval_changes_while_it_runs(open_bridge: Open, notebook: Notebook, layout: SimulatedLayout) -> None:
    source = simulation(open_bridge(), layout, interval=600.0)
    source.start(notebook)
    notebook.wait_for_updates(1)
    source.set_interval(0.02)
    notebook.wait_for_updates(3)
    assert source.interval == 0.02


def test_a_paused_stream_rests_until_it_goes_on(open_bridge: Open, notebook: Notebook, layout: SimulatedLayout) -> None:
    bridge = open_bridge()
    source = simulation(bridge, layout)
    source.start(notebook)
    notebook.wait_for_updates(2)
    source.set_paused(True)
    # Answered in order: what was on its way has arrived once this has.
    bridge.request("interval", seconds=None).result(5)
    before = len(notebook.updates)
    with pytest.raises(AssertionError):
        notebook.wait(lambda: len(notebook.updates) > before, seconds=0.2)
    assert source.paused
    source.set_paused(False)
    notebook.wait_for_updates(2)


def test_a_pause_outlasts_the_child(open_bridge: Open, notebook: Notebook, layout: SimulatedLayout) -> None:
    bridge = open_bridge()
    source = simulation(bridge, layout)
    source.set_paused(True)
    source.start(notebook)
    notebook.wait_for_link("connected")
    os.kill(pid_of(bridge), signal.SIGKILL)
    notebook.wait(lambda: notebook.statuses[-1].restarts == 1)
    bridge.request("stop").result(5)
    assert notebook.updates == []


def test_nothing_is_delivered_after_close(open_bridge: Open, notebook: Notebook, layout: SimulatedLayout) -> None:
    bridge = open_bridge()
    source = simulation(bridge, layout)
    source.start(notebook)
    notebook.wait_for_updates(1)
    source.close()
    told = len(notebook.updates), len(notebook.statuses)
    bridge.request("stop").result(5)
    bridge.close()
    assert (len(notebook.updates), len(notebook.statuses)) == told


def test_a_subscriber_that_raises_does_no_harm(open_bridge: Open, notebook: Notebook, layout: SimulatedLayout) -> None:
    class Clumsy:
        def updated(self, update: object) -> None:
            raise KeyError("clumsy")

        def status_changed(self, status: object) -> None:
            raise KeyError("clumsy")

    bridge = open_bridge()
    simulation(bridge, layout).start(Clumsy())
    bridge.subscribe(notebook)
    notebook.wait(lambda: len(notebook.messages) > 3)
    assert bridge.log is not None
    assert "KeyError: 'clumsy'" in bridge.log.read_text()


def test_requests_wait_for_the_child_and_are_answered_or_refused(open_bridge: Open) -> None:
    bridge = open_bridge()
    early = bridge.request("stop", timeout=20)
    refused = bridge.request("dance", timeout=20)
    bridge.start()
    assert early.result(20).kind == "reply"
    with pytest.raises(RequestRefused, match="dance"):
        refused.result(20)


def test_a_request_has_a_deadline_and_can_be_cancelled(open_bridge: Open, notebook: Notebook, script: Script) -> None:
    text = """
say(type="hello", protocol=1)
for request in requests():
    if request["type"] == "cancel":
        say(type="status", message=f"cancelled {request['request']}")
"""
    bridge = open_bridge(script(SPEAKS + text))
    bridge.subscribe(notebook)
    bridge.start()
    notebook.wait_for_link("connected")
    overdue = bridge.request("stop", timeout=0.1)
    with pytest.raises(TimeoutError):
        overdue.result(PATIENCE)
    cancelled = bridge.request("stop", timeout=60)
    assert cancelled.cancel()
    with pytest.raises(CancelledError):
        cancelled.result(5)
    notebook.wait(lambda: notebook.messages)
    assert notebook.messages[0].body["message"] == "cancelled 2"


def test_requests_fail_with_the_child_and_after_close(open_bridge: Open, notebook: Notebook, script: Script) -> None:
    bridge = open_bridge(script(SPEAKS + "say(type='hello', protocol=1)\nnext(requests())\nraise SystemExit(3)"))
    bridge.subscribe(notebook)
    bridge.start()
    notebook.wait_for_link("connected")
    with pytest.raises(BridgeLost, match="exit code 3"):
        bridge.request("stop", timeout=60).result(PATIENCE)
    bridge.close()
    with pytest.raises(BridgeLost, match="closed"):
        bridge.request("stop").result(0)


def test_a_child_that_does_not_read_delays_nobody(open_bridge: Open, notebook: Notebook, script: Script) -> None:
    bridge = open_bridge(script(SPEAKS + "say(type='hello', protocol=1)\ntime.sleep(600)"))
    bridge.subscribe(notebook)
    bridge.start()
    notebook.wait_for_link("connected")
    started = time.monotonic()
    large = bridge.request("start", timeout=0.2, options={"text": "x" * 2**20})
    assert time.monotonic() - started < NO_WAIT
    with pytest.raises(TimeoutError):
        large.result(PATIENCE)


def test_close_leaves_no_process_no_thread_no_descriptor_and_no_empty_log(
    open_bridge: Open, notebook: Notebook, layout: SimulatedLayout, tmp_path: Path
) -> None:
    gc.collect()
    descriptors = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    threads = set(threading.enumerate())
    bridge = open_bridge()
    simulation(bridge, layout).start(notebook)
    notebook.wait_for_updates(2)
    pid = pid_of(bridge)
    started = time.monotonic()
    bridge.close()
    assert time.monotonic() - started < CLOSE_GRACE
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert set(threading.enumerate()) <= threads
    if descriptors:
        assert set(os.listdir("/proc/self/fd")) <= descriptors
    assert list((tmp_path / "logs").iterdir()) == []
    assert notebook.statuses[-1].link == "closed"
    bridge.close()


def test_close_ends_a_child_that_will_not_go_and_those_it_started(
    open_bridge: Open, notebook: Notebook, script: Script, gone: Gone
) -> None:
    text = """
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL)
say(type="hello", protocol=1)
say(type="status", message=str(other.pid))
while True:
    time.sleep(600)
"""
    bridge = open_bridge(script(SPEAKS + text))
    bridge.subscribe(notebook)
    bridge.start()
    notebook.wait(lambda: notebook.messages)
    pid, grandchild = pid_of(bridge), int(notebook.messages[0].body["message"])
    started = time.monotonic()
    bridge.close()
    assert time.monotonic() - started < CLOSE_GRACE + 1.5
    gone(pid, PATIENCE)
    gone(grandchild, PATIENCE)


def test_close_works_while_stopped_before_start_and_while_waiting_to_try_again(
    open_bridge: Open, notebook: Notebook, script: Script
) -> None:
    never = open_bridge()
    waiting = never.request("stop", timeout=60)
    never.close()
    with pytest.raises(BridgeLost):
        waiting.result(1)
    never.start()
    assert never.pid is None

    between = open_bridge(script("raise SystemExit(1)"), delays=(600.0,))
    between.subscribe(notebook)
    between.start()
    notebook.wait_for_link("lost")
    started = time.monotonic()
    between.close()
    assert time.monotonic() - started < NO_WAIT


def test_a_subscriber_may_close_from_within_a_call(
    open_bridge: Open, notebook: Notebook, layout: SimulatedLayout
) -> None:
    bridge = open_bridge()
    source = simulation(bridge, layout)

    class Impatient:
        def updated(self, update: object) -> None:
            source.close()
            bridge.close()

        def status_changed(self, status: object) -> None:
            pass

    bridge.subscribe(notebook)
    source.start(Impatient())
    notebook.wait_for_link("closed")


def test_the_child_goes_when_the_program_is_killed(tmp_path: Path, layout: SimulatedLayout, gone: Gone) -> None:
    program = f"""
import sys, threading
sys.path[:] = {sys.path!r}
from pathlib import Path
from placetui.bridge.client import Bridge
from placetui.bridge.source import BridgeSource

class Reporter:
    def updated(self, update):
        print(bridge.pid, flush=True)

    def status_changed(self, status):
        pass

bridge = Bridge(Path({str(tmp_path)!r}))
BridgeSource(bridge, "simulated", "simulation", {{"layout": {layout.to_dict()!r}}}, 0.02).start(Reporter())
threading.Event().wait(60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    gone(pid, PATIENCE)


def test_the_log_is_private(open_bridge: Open, notebook: Notebook) -> None:
    bridge = open_bridge()
    bridge.subscribe(notebook)
    bridge.start()
    notebook.wait_for_link("connected")
    assert bridge.log is not None
    assert stat.S_IMODE(bridge.log.stat().st_mode) == 0o600
    assert stat.S_IMODE(bridge.log.parent.stat().st_mode) == 0o700


def test_without_a_place_for_the_log_the_source_says_so(
    tmp_path: Path, notebook: Notebook, layout: SimulatedLayout
) -> None:
    (tmp_path / "file").write_text("")
    with Bridge(tmp_path / "file" / "logs") as bridge:
        simulation(bridge, layout).start(notebook)
        assert "log" in notebook.wait_for_link("failed").message


def test_a_module_in_the_current_directory_is_not_taken_for_another(
    open_bridge: Open, notebook: Notebook, layout: SimulatedLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('wrong json')")
    monkeypatch.chdir(tmp_path)
    simulation(open_bridge(), layout).start(notebook)
    notebook.wait_for_updates(1)

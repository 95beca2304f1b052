"""Without a cluster the dashboard still shows the GPUs of the machine that it runs on."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from placetui.bridge.client import Bridge
from placetui.bridge.process import child_command
from placetui.bridge.source import ray_source
from placetui.observe.model import Observation
from placetui.observe.ports import Status, WatchOptions
from tests.telemetry.standin import StandIn


class Looker:
    """Waits for the first picture."""

    def __init__(self) -> None:
        self.update: Observation | None = None
        self.statuses: list[Status] = []
        self.absent = threading.Event()
        self.came = threading.Event()

    def updated(self, update: Observation) -> None:
        self.update = update
        self.came.set()

    def status_changed(self, status: Status) -> None:
        self.statuses.append(status)
        if status.absent:
            self.absent.set()


def look(monkeypatch: pytest.MonkeyPatch, standin: StandIn, logs: Path, nodes: int) -> tuple[Bridge, Looker]:
    for name, value in standin.environment.items():
        monkeypatch.setenv(name, value)
    bridge, looker = Bridge(logs, child_command("placetui.runtime.child")), Looker()
    ray_source(bridge, WatchOptions(nodes=nodes), 0.1).start(looker)
    return bridge, looker


def test_a_plan_of_one_node_is_shown_on_this_machine(
    standin: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    standin.configure("count = 2\n[gpu 0]\nused = 7G\n")
    bridge, looker = look(monkeypatch, standin, tmp_path / "logs", 1)
    with bridge:
        assert looker.came.wait(30), looker.statuses
    assert looker.update is not None
    seen = looker.update
    assert seen.source == "nvml"
    assert [(node.rank, len(node.devices)) for node in seen.nodes] == [(0, 2)]
    assert seen.nodes[0].devices[0].memory_used == 7 * 2**30
    assert looker.absent.is_set()


def test_without_a_driver_nothing_is_shown(standin: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    standin.configure("init = DRIVER_NOT_LOADED\n")
    bridge, looker = look(monkeypatch, standin, tmp_path / "logs", 1)
    with bridge:
        assert looker.absent.wait(30), looker.statuses
        assert not looker.came.wait(3)


def test_which_of_several_nodes_this_is_nobody_knows(
    standin: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bridge, looker = look(monkeypatch, standin, tmp_path / "logs", 2)
    with bridge:
        assert looker.absent.wait(30), looker.statuses
        assert not looker.came.wait(1)

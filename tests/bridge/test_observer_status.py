"""What an observer says of its own link to the cluster, while the child that it is in is well."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from placetui.bridge.client import Bridge
from placetui.bridge.messages import Message
from placetui.bridge.source import BridgeSource

if TYPE_CHECKING:
    from tests.bridge.conftest import Notebook

MOODY = """
from placetui.bridge.child import run
from placetui.observe.model import NodeSample, Observation
from placetui.observe.ports import CONNECTED, NoObservation, Status

class Moody:
    turn = 0
    status = CONNECTED

    def __init__(self, options):
        self.options = options

    def observe(self, deadline):
        self.turn += 1
        if self.turn <= 3:
            raise NoObservation(Status("starting", "no cluster here", absent=True))
        self.status = Status("lost", "the head is gone") if self.turn == 6 else CONNECTED
        node = NodeSample(0, self.options.get("name", "a"), stale=self.turn == 6)
        return Observation(float(self.turn), "ray", (node,))

if __name__ == "__main__":
    run({"moody": Moody})
"""


def test_each_change_is_told_once_and_the_last_picture_stands(
    open_bridge: Callable[..., Bridge], notebook: Notebook, script: Callable[[str], list[str]]
) -> None:
    source = BridgeSource(open_bridge(script(MOODY)), "ray", "moody", {}, 0.02)
    source.start(notebook)
    notebook.wait(lambda: len(notebook.updates) >= 5)
    source.close()
    told = [(status.link, status.message, status.absent) for status in notebook.statuses]
    assert told == [
        ("starting", "", False),
        ("connected", "", False),
        ("starting", "no cluster here", True),
        ("connected", "", False),
        ("lost", "the head is gone", False),
        ("connected", "", False),
    ]
    assert [update.nodes[0].stale for update in notebook.updates[:4]] == [False, False, True, False]


def test_a_note_does_not_hide_that_the_head_is_gone(
    open_bridge: Callable[..., Bridge], notebook: Notebook, script: Callable[[str], list[str]]
) -> None:
    source = BridgeSource(open_bridge(script(MOODY)), "ray", "moody", {}, 0.02)
    source.start(notebook)
    notebook.wait_for_link("lost")
    notebook.statuses.clear()
    source.received(Message("status", {"link": "lost", "message": "the head is gone"}))
    source.received(Message("error", {"message": "an observation was skipped"}))
    source.close()
    assert [status.link for status in notebook.statuses if "skipped" in status.message] == ["lost"]


def test_a_child_that_replaces_another_has_options_of_its_own(
    open_bridge: Callable[..., Bridge], notebook: Notebook, script: Callable[[str], list[str]]
) -> None:
    bridge = open_bridge(script(MOODY))
    source = BridgeSource(bridge, "ray", "moody", {"name": "first"}, 0.02, {"name": "again"})
    source.start(notebook)
    notebook.wait(lambda: notebook.updates)
    assert bridge.pid is not None
    os.kill(bridge.pid, signal.SIGKILL)
    notebook.wait(lambda: notebook.updates[-1].nodes[0].name == "again")
    assert notebook.updates[0].nodes[0].name == "first"

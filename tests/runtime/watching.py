"""A person in front of a live cluster: waits for what is to be seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from placetui.bridge.client import Bridge
from placetui.bridge.process import child_command
from placetui.bridge.source import BridgeSource, ray_source
from placetui.cli.feed import Feed
from placetui.observe.model import NodeSample, Observation
from placetui.observe.ports import Status, WatchOptions

OCCUPY = """
import json, sys, ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as Affinity
ray.init(namespace="occupants")

@ray.remote(num_cpus=0, max_restarts=0)
class Occupant:
    def here(self):
        return True

def on(node):
    return Occupant.options(name=node, lifetime="detached", scheduling_strategy=Affinity(node, soft=False)).remote()

actors = [on(node) for node in sys.argv[1:]]
print(json.dumps({"there": ray.get([actor.here.remote() for actor in actors])}))
"""
"""A program that leaves an actor on each of these nodes, which asks for nothing: nodes in use are sampled."""

PATIENCE = 40.0
"""Seconds until something that must come is missed; much more than it takes, for machines that are busy."""


class Watcher(Feed):
    """Takes down all that a source told."""

    def __init__(self, source: BridgeSource, bridge: Bridge) -> None:
        super().__init__(source)
        self.source = source
        self.bridge = bridge
        self.updates: list[Observation] = []
        self.statuses: list[Status] = []

    def updated(self, update: Observation) -> None:
        self.updates.append(update)
        super().updated(update)

    def status_changed(self, status: Status) -> None:
        self.statuses.append(status)
        super().status_changed(status)

    def until(self, condition: Callable[[Observation], Any], seconds: float = PATIENCE) -> Observation:
        """The first observation from now on of which something is true."""
        deadline = time.monotonic() + seconds
        seen = len(self.updates)
        while True:
            for update in self.updates[seen:]:
                seen += 1
                if condition(update):
                    return update
            last = self.updates[-1].to_dict() if self.updates else None
            assert time.monotonic() < deadline, f"not within {seconds} s: {self.statuses[-3:]} {last}"
            self.wait(0.2)

    def until_told(self, condition: Callable[[Status], Any], seconds: float = PATIENCE) -> Status:
        """The first status of which something is true, from the beginning on."""
        deadline = time.monotonic() + seconds
        while not (found := [status for status in self.statuses if condition(status)]):
            assert time.monotonic() < deadline, f"not within {seconds} s: {self.statuses}"
            self.wait(0.2)
        return found[0]


@contextmanager
def watching(
    directory: Path, address: str, delays: Sequence[float] = (0.1,), interval: float = 1.0, **options: Any
) -> Iterator[Watcher]:
    """Watch a cluster."""
    bridge = Bridge(directory / "watch-logs", child_command("placetui.runtime.child"), delays=delays)
    watcher = Watcher(ray_source(bridge, WatchOptions(address, **options), interval), bridge)
    with bridge, watcher:
        yield watcher


def is_read(node: NodeSample) -> bool:
    """Whether all of its GPUs are, and now."""
    return not node.stale and all(one.memory_used is not None and not one.stale for one in node.devices)


def all_read(seen: Observation) -> bool:
    return all(map(is_read, seen.nodes))

"""What runs on a node to read its GPUs: a small actor. Shipped by value, with all that it uses of placetui.

The nodes need neither placetui nor nvidia-ml-py. Answers are plain values, since the classes here are known by value
only, and say nothing while nothing changed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any, TypeAlias

from placetui.observe.codec import decode, encode
from placetui.observe.facts import NodeFacts, ProcessFact
from placetui.observe.model import NodeSample, Observation
from placetui.runtime.model import NODE_RANK
from placetui.runtime.private import own_nvml_binding, visible_gpus
from placetui.runtime.view import Slots
from placetui.telemetry.nvml import Nvml, installed_binding
from placetui.telemetry.process_facts import ProcessTable
from placetui.telemetry.processes import read_file
from placetui.telemetry.sampler import NodeSampler
from placetui.telemetry.slots import by_slot, places_of
from placetui.telemetry.visible import Order

FACTS_EVERY = 5
"""Answers after which processes are looked at again, if those on the GPUs are the same."""

ORPHANED = "its raylet has ended"
"""What a sampler says when it is no longer part of a cluster."""

PARTING = 1.0
"""Seconds in which it is still heard."""

Answer: TypeAlias = "tuple[int, Mapping[str, Any] | None]"
"""The number of a state, and the state itself for one who does not have it."""


class PlacetuiSampler:
    """Reads the GPUs that Ray counts on its node, in Ray's order."""

    def __init__(self, gpus: int) -> None:
        self._gpus = gpus
        self._keeper = _keeper()
        words = visible_gpus()
        self._words = None if words is None else ",".join(words)
        self._order: Order = "PCI_BUS_ID" if os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" else "FASTEST_FIRST"
        self._sampler = NodeSampler(nvml=Nvml(find_binding))
        self._processes = ProcessTable()
        self._pids: frozenset[int] = frozenset()
        self._facts = NodeFacts()
        self._answers = 0
        self._number = 0
        self._state: tuple[NodeSample, NodeFacts] | None = None

    def read(self, known: int) -> Answer:
        """How the node is, after a moment at most; `known` is the number of the state that the asker has."""
        if self._keeper is not None and os.getppid() != self._keeper:
            # Ray itself may take its time to notice, and believes in a raylet that nobody has buried yet.
            threading.Timer(PARTING, os._exit, (1,)).start()
            raise RuntimeError(ORPHANED)
        sample = self._sampler.read()
        if self._sampler.outdated:
            # Only a new process can load the library of the driver that is there now.
            raise SystemExit("the NVIDIA driver was updated")
        if sample is None:
            return 0, None
        boards = self._sampler.boards
        if boards:
            devices = by_slot(boards, self._gpus, self._words, self._order)
            sample = replace(sample, devices=devices)
        self._look_at_processes(sample)
        if (sample, self._facts) != self._state:
            self._state = sample, self._facts
            self._number += 1
        if known == self._number:
            return known, None
        return self._number, {
            "seen": encode(Observation(0.0, "ray", (sample,))),
            "processes": [astuple(fact) for fact in self._facts.processes.values()],
            "complete": self._facts.complete,
            "places": places_of(boards, self._words, self._order),
            "rank": os.environ.get(NODE_RANK),
        }

    def _look_at_processes(self, sample: NodeSample) -> None:
        pids = frozenset(process.pid for device in sample.devices for process in device.processes)
        if pids != self._pids or self._answers % FACTS_EVERY == 0:
            self._facts = self._processes.look(sorted(pids))
        if self._sampler.numbers_of_host:
            self._facts = NodeFacts(complete=False)
        self._pids = pids
        self._answers += 1


def _keeper() -> int | None:
    """The raylet that started this process; None if it was somebody else."""
    parent = os.getppid()
    return parent if read_file(f"/proc/{parent}/comm").strip() == "raylet" else None


def find_binding() -> Any:
    """The Python side of NVML: Ray has one, for nodes without nvidia-ml-py."""
    try:
        return installed_binding()
    except ImportError:
        return own_nvml_binding()


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer, understood."""

    number: int
    node: NodeSample
    facts: NodeFacts
    slots: Slots
    rank: str | None = None
    """RLINF_NODE_RANK in the node's environment."""

    @classmethod
    def of(cls, number: int, body: Mapping[str, Any], gpus: int) -> Reading:
        """Understand an answer.

        Raises:
            ValueError: it is none.
        """
        (node,) = decode(body["seen"]).nodes
        facts = [ProcessFact(*row) for row in body["processes"]]
        return cls(
            number,
            node,
            NodeFacts({fact.pid: fact for fact in facts}, bool(body["complete"])),
            Slots(gpus, body["places"]),
            body["rank"],
        )

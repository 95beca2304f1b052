"""`NodeReader`: the GPUs of a node in the order in which Ray counts them, and who is on them, as one message.

It runs in the sampler of the node, shipped by value: the node needs neither placetui nor nvidia-ml-py. The message is
made of plain values, because the receiver does not have these classes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any

from placetui.observe.attribution import NodeFacts
from placetui.observe.codec import encode
from placetui.observe.model import NodeSample, Observation
from placetui.telemetry.nvml import Nvml, installed_binding
from placetui.telemetry.processes import ProcessTable
from placetui.telemetry.sampler import OUTDATED, NodeSampler
from placetui.telemetry.visible import Order, by_slot, not_counted, places_of

FACTS_EVERY = 5
"""Readings after which processes are read again, if those on the GPUs are the same."""


class NodeReader:
    """Reads this node again and again."""

    def __init__(
        self,
        gpus: int,
        rank_variable: str,
        visible: Sequence[str] | None = None,
        other_binding: Callable[[], Any] | None = None,
    ) -> None:
        """Read this node, of which Ray counts so many GPUs. `visible` is the list of GPUs that Ray was started with,
        None if it was not limited; `other_binding` gives the Python side of NVML where nvidia-ml-py is not installed.
        """
        self._gpus = gpus
        self._rank = os.environ.get(rank_variable)
        self._words = None if visible is None else ",".join(visible)
        self._order: Order = "PCI_BUS_ID" if os.environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" else "FASTEST_FIRST"
        self._other_binding = other_binding
        self._sampler = NodeSampler(nvml=Nvml(self._binding))
        self._processes = ProcessTable()
        self._pids: frozenset[int] = frozenset()
        self._facts = NodeFacts()
        self._readings = 0
        self._last: tuple[NodeSample, NodeFacts] | None = None
        self._message: Mapping[str, Any] | None = None

    def read(self) -> Mapping[str, Any] | None:
        """The node as it is; the same object while nothing changed, None while nothing is known.

        Raises:
            SystemExit: only a new process can load the library of the driver that is there now.
        """
        sample = self._sampler.read()
        if self._sampler.outdated:
            raise SystemExit(OUTDATED)
        if sample is None:
            return None
        boards = self._sampler.boards
        if boards:
            how = boards, self._gpus, self._words, self._order
            sample = replace(sample, devices=(*by_slot(*how), *not_counted(*how)))
        self._look_at_processes(sample)
        if (sample, self._facts) != self._last:
            self._last = sample, self._facts
            self._message = {
                "seen": encode(Observation(0.0, "ray", (sample,))),
                "processes": [astuple(fact) for fact in self._facts.processes.values()],
                "complete": self._facts.complete,
                "places": places_of(boards, self._words, self._order),
                "rank": self._rank,
            }
        return self._message

    def _look_at_processes(self, sample: NodeSample) -> None:
        pids = frozenset(process.pid for device in sample.devices for process in device.processes)
        if pids != self._pids or self._readings % FACTS_EVERY == 0:
            self._facts = self._processes.look(sorted(pids))
        if self._sampler.numbers_of_host:
            self._facts = NodeFacts(complete=False)
        self._pids = pids
        self._readings += 1

    def _binding(self) -> Any:
        try:
            return installed_binding()
        except ImportError:
            if self._other_binding is None:
                raise
            return self._other_binding()

"""The child process that reads this node's GPUs: run as a module it serves `nvml` over the pipe."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from placetui.bridge.child import run
from placetui.bridge.work import Work
from placetui.observe.model import Observation
from placetui.telemetry.nvml import Nvml, NvmlFailure
from placetui.telemetry.sampler import OUTDATED, PATIENCE, NodeSampler


def driver(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """`driver`, `nvml` (their versions) and `gpus` (their names), or `problem`. May hang, as all of NVML may."""
    nvml = Nvml()
    try:
        nvml.open()
        names = [nvml.name(nvml.by_index(index)) for index in range(nvml.count())]
        return {"driver": nvml.driver_version(), "nvml": nvml.library_version(), "gpus": names}
    except NvmlFailure as failure:
        return {"problem": str(failure)}


class NodeObserver:
    """This node, as node 0 of a cluster of one."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        if options:
            raise ValueError(f"the GPUs of this node are read without options, not with {', '.join(map(str, options))}")
        self._sampler = NodeSampler()

    def observe(self, deadline: float) -> Observation:
        """No nodes while nothing is known yet, for two seconds at most."""
        node = self._sampler.read(min(PATIENCE, max(0.0, deadline - time.monotonic())))
        if self._sampler.outdated:
            raise SystemExit(OUTDATED)
        return Observation(time.time(), "nvml", () if node is None else (node,))


if __name__ == "__main__":
    run({"nvml": NodeObserver}, jobs={"driver": driver})

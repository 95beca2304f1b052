"""Which driver this node has: for `placetui doctor`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placetui.bridge.work import Work
from placetui.telemetry.nvml import Nvml, NvmlFailure


def driver(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """`driver`, `nvml` (their versions) and `gpus` (their names), or `problem`. May hang, as all of NVML may."""
    nvml = Nvml()
    try:
        nvml.open()
        names = [nvml.name(nvml.by_index(index)) for index in range(nvml.count())]
        return {"driver": nvml.driver_version(), "nvml": nvml.library_version(), "gpus": names}
    except NvmlFailure as failure:
        return {"problem": str(failure)}

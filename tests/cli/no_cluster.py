"""A child process that finds no cluster, whatever runs on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placetui.bridge.child import run
from placetui.bridge.work import Work
from placetui.runtime.errors import ClusterError
from placetui.runtime.gcs.address import choose


def ps(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    try:
        choose([])
    except ClusterError as problem:
        work.report(step="failed", **problem.to_dict())
        raise
    return {}


if __name__ == "__main__":
    run({}, jobs={"ps": ps})

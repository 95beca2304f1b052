"""What Ray is here, and what the cluster runs: for `placetui doctor`."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from placetui.bridge.work import Work
from placetui.observe.operations import AUTO, INSTALL_RAY, LOCAL
from placetui.runtime.errors import ClusterError, NoCluster, NotReady
from placetui.runtime.gcs.address import open_head, resolve_address
from placetui.runtime.gcs.client import unready
from placetui.runtime.gcs.driver import check_versions
from placetui.runtime.gcs.importing import import_ray
from placetui.runtime.gcs.interfaces import notice, require

NAMED = "RAY_ADDRESS"


def versions(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """Ray's version here, and that of the cluster if there is one.

    The reply holds `ray`, and then either `cluster` (`address, ray, python, nodes, gpus`) or nothing; `problem` and
    `hint` where something is not as it should be, `notice` where it may not be, and `looked_for` if nobody named the
    cluster that is missing.
    """
    try:
        ray = import_ray()
    except ImportError as problem:
        return {
            "ray": None,
            "problem": str(unready(problem)),
            "hint": INSTALL_RAY,
        }
    here = {"ray": str(ray.__version__), "notice": notice(ray.__version__)}
    asked = str(body["address"])
    try:
        require()
        address = resolve_address(asked)
        with closing(open_head(address)) as head:
            found, nodes = head.versions(), head.nodes()
    except ClusterError as problem:
        # What somebody wrote into a variable may hold more than an address, and a report is passed on.
        quoted = asked == AUTO and os.environ.get(NAMED, "") not in ("", AUTO) and NAMED in problem.message
        return {
            **here,
            "problem": f"{NAMED} is not HOST:PORT" if quoted else problem.message,
            "hint": problem.hint,
            "looked_for": asked == AUTO and isinstance(problem, NoCluster) and os.environ.get(NAMED, "") in ("", LOCAL),
        }
    cluster = {
        "address": address,
        "ray": found.get("ray_version"),
        "python": found.get("python_version"),
        "nodes": len(nodes),
        "gpus": sum(node.gpus for node in nodes),
    }
    try:
        check_versions(found, address, here["ray"], platform.python_version())
    except NotReady as problem:
        return {**here, "cluster": cluster, "problem": problem.message, "hint": problem.hint}
    return {**here, "cluster": cluster}

"""An embedded cluster: one raylet for each planned node, its GPUs as logical devices, for as long as it is wanted.

The raylets are children of a separate process (this module, run as a program): Ray starts them from a main
thread only, and they go when that process sees the end of its input, however its parent ended.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from placetui.bridge.process import child_command
from placetui.bridge.work import Work
from placetui.frameworks.cluster_facts import NODE_RANK
from placetui.placement.plan import SHARE_UNITS, Plan
from placetui.placement.wording import count
from placetui.runtime.errors import ClusterError, NotPossible
from placetui.runtime.gcs.importing import import_ray
from placetui.runtime.gcs.model import RayNode
from placetui.runtime.launch.demand import Demand
from placetui.runtime.launch.feasibility import needed_on
from placetui.runtime.launch.matching import Match

MOST_NODES = 4
LONGEST_DIRECTORY = 20
MOST_RANKS = 64
START_TIMEOUT = 120.0
_STOP_TIMEOUT = 20.0
_OBJECT_STORE = 100 * 2**20
"""Bytes for each raylet: nothing large goes through it."""

_OF_THE_MACHINE = frozenset(
    """
    CONDA_PREFIX DYLD_LIBRARY_PATH HOME LANG LANGUAGE LD_LIBRARY_PATH LD_PRELOAD LOGNAME PATH SHELL TEMP TMP TMPDIR TZ
    USER VIRTUAL_ENV
    """.split()
)
_OF_THE_MACHINE_PREFIXES = ("CUDA_", "LC_", "NVIDIA_", "PYTHON", "RAY_")


@dataclass(frozen=True, slots=True)
class NodeSize:
    """What an embedded node has."""

    gpus: int
    cpus: int


def sizes_for(plan: Plan, demand: Demand) -> list[NodeSize]:
    """The nodes that a plan needs; `NotPossible` if they would be too many for one machine."""
    if len(plan.nodes) > MOST_NODES or len(demand.ranks) > MOST_RANKS:
        raise NotPossible(
            f"--address local is for {MOST_NODES} nodes and {MOST_RANKS} ranks at most; the plan has "
            f"{count(len(plan.nodes), 'node')} and {count(len(demand.ranks), 'rank')}",
            hint="launch it on a cluster with --address HOST:PORT",
        )
    # A CPU more than is needed, for whatever else may run there.
    return [NodeSize(node.gpus, -(-needed_on(demand, node.rank)["CPU"] // SHARE_UNITS) + 1) for node in plan.nodes]


def machine_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What Python, Ray and the GPUs need of somebody's environment: a rank gets nothing else of it, as on a cluster."""
    return {
        name: value
        for name, value in environment.items()
        if name in _OF_THE_MACHINE or name.startswith(_OF_THE_MACHINE_PREFIXES)
    }


class LocalCluster:
    """A cluster that lives as long as this object is not stopped."""

    def __init__(self, nodes: Sequence[NodeSize], work: Work, environment: Mapping[str, str] | None = None) -> None:
        """Not yet started; the nodes have the given environment, or as with Ray itself that of this process."""
        self._nodes = nodes
        self._work = work
        self._environment = os.environ if environment is None else environment
        self._process: subprocess.Popen[bytes] | None = None
        self._ids: list[str] = []

    def start(self) -> str:
        """Start it; its address."""
        command = [*child_command("placetui.runtime.launch.embedded")]
        environment = {**self._environment, "PLACETUI_LOCAL": json.dumps([asdict(node) for node in self._nodes])}
        # RAY_ADDRESS would send the raylets elsewhere; the reaper of Ray ends its whole process group.
        environment.pop("RAY_ADDRESS", None)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, env=environment
        )
        lines: list[bytes] = []
        reader = threading.Thread(target=lambda: lines.append(self._output.readline()), daemon=True)
        reader.start()
        deadline = time.monotonic() + START_TIMEOUT
        while reader.is_alive():
            reader.join(0.2)
            self._work.check()
            if time.monotonic() > deadline:
                raise ClusterError(f"the embedded cluster did not start within {START_TIMEOUT:g} s")
        try:
            told = json.loads(lines[0])
            self._ids = list(told["nodes"])
            return str(told["address"])
        except (ValueError, KeyError, TypeError):
            raise ClusterError("the embedded cluster did not start; the log says more") from None

    @property
    def _output(self) -> Any:
        assert self._process
        return self._process.stdout

    def match(self, nodes: tuple[RayNode, ...]) -> Match:
        """Its nodes in the order in which they were started."""
        known = {node.id: node for node in nodes}
        return Match(tuple(known[one] for one in self._ids), "the embedded cluster")

    def stay(self, work: Work) -> None:
        """Keep it until it is not wanted any more; an error if it ends by itself."""
        assert self._process
        while not work.interrupted.wait(0.5):
            if self._process.poll() is not None:
                raise ClusterError("the embedded cluster ended by itself")

    def stop(self) -> None:
        process = self._process
        if process is None:
            return
        assert process.stdin
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._output.close()


def short_directory(wanted: str) -> str:
    """Where Ray's files go: its sockets have paths of at most 107 characters, some 75 of them its own."""
    return wanted if len(wanted) <= LONGEST_DIRECTORY else "/tmp"


def main() -> None:
    """Start the raylets, say where, and stay until the input ends."""
    wanted = json.loads(os.environ.pop("PLACETUI_LOCAL"))
    # Ray prints what it likes.
    answer = os.dup(1)
    os.dup2(2, 1)
    directory = tempfile.mkdtemp(prefix="placetui-", dir=short_directory(tempfile.gettempdir()))
    os.makedirs(os.path.join(directory, "ray"))
    os.environ["RAY_TMPDIR"] = directory
    # Fewer processes on a small machine.
    os.environ.setdefault("RAY_enable_worker_prestart", "0")
    os.environ.setdefault("RAY_prestart_worker_first_driver", "0")
    try:
        cluster = import_ray("ray.cluster_utils").Cluster()
        try:
            ids = [
                cluster.add_node(
                    num_gpus=node["gpus"],
                    num_cpus=node["cpus"],
                    object_store_memory=_OBJECT_STORE,
                    include_dashboard=False,
                    labels={NODE_RANK: str(rank)},
                ).node_id
                for rank, node in enumerate(wanted)
            ]
            os.write(answer, json.dumps({"address": cluster.address, "nodes": ids}).encode() + b"\n")
            sys.stdin.buffer.read()
        finally:
            cluster.shutdown()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()

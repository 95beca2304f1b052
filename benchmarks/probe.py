"""How long it takes to learn which GPU each bundle has: one chained task per node, against one actor per bundle."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from placetui.bridge.work import Work
from placetui.runtime.gcs.address import open_head
from placetui.runtime.gcs.driver import driver
from placetui.runtime.launch.embedded import LocalCluster, NodeSize
from placetui.runtime.launch.probe import probe
from placetui.runtime.policy import Deadline

CLUSTERS = [(8, 1), (16, 1), (32, 1), (16, 2), (32, 4)]
"""Bundles in all, and nodes."""

FACTOR = 10
"""How much faster it must be for 16 bundles and more on one node."""


def main() -> int:
    print("seconds; `first`: on a cluster where nothing has run yet, so that a worker process has to start")
    print(f"{'bundles':>8}{'nodes':>7}{'actors':>9}{'first':>9}{'faster':>9}{'chained':>9}{'faster':>9}")
    slow = False
    for bundles, nodes in CLUSTERS:
        work = Work(0, lambda *_, **__: None)
        cluster = LocalCluster([NodeSize(bundles // nodes, 2 * bundles // nodes)] * nodes, work)
        try:
            first, actors, chained = measure(cluster, bundles, Deadline(work, 300))
        finally:
            cluster.stop()
        cells = f"{actors:>9.2f}{first:>9.2f}{actors / first:>8.0f}x{chained:>9.2f}{actors / chained:>8.0f}x"
        print(f"{bundles:>8}{nodes:>7}{cells}", flush=True)
        slow = slow or (nodes == 1 and bundles >= 16 and actors / chained < FACTOR)
    print("too slow" if slow else f"at least {FACTOR}x for 16 and 32 bundles on one node")
    return int(slow)


def measure(cluster: LocalCluster, bundles: int, deadline: Deadline) -> tuple[float, float, float]:
    with closing(open_head(cluster.start())) as head:
        matched = cluster.match(head.nodes()).nodes
        with driver(head, matched) as ray:
            from ray.util.placement_group import placement_group

            group = placement_group([{"GPU": 1, "CPU": 1}] * bundles)
            assert group.wait(60)
            row = head.group(group.id.hex())
            assert row is not None
            where = [bundle.node for bundle in row.bundles]
            # The actors come last and find the worker process of the tasks.
            first, found = timed(lambda: probe(ray, group, where, deadline))
            chained, again = timed(lambda: probe(ray, group, where, deadline))
            actors, by_actors = timed(lambda: probe_by_actors(ray, group, bundles))
            for answers in (found, again):
                assert {one.bundle: (one.node, one.gpu) for one in answers} == by_actors, "the two disagree"
            head.remove_group(group.id.hex())
    return first, actors, chained


def timed(function: Any) -> tuple[float, Any]:
    begun = time.perf_counter()
    result = function()
    return time.perf_counter() - begun, result


def probe_by_actors(ray: Any, group: Any, bundles: int) -> dict[int, tuple[str, str]]:
    """One actor with a whole GPU for each bundle, all at once, then killed: what slime does."""
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    class Asker:
        def ask(self) -> tuple[str, str]:
            return ray.get_runtime_context().get_node_id(), str(ray.get_gpu_ids()[0])

    actor: Any = ray.remote(num_gpus=1)(Asker)
    actors = [
        actor.options(scheduling_strategy=PlacementGroupSchedulingStrategy(group, index)).remote()
        for index in range(bundles)
    ]
    found = dict(enumerate(ray.get([one.ask.remote() for one in actors])))
    for one in actors:
        ray.kill(one)
    return found


if __name__ == "__main__":
    sys.exit(main())

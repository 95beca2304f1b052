"""How long it takes to follow Ray's scheduler: CPU seconds by the size of the cluster, for nodes of few kinds.

python benchmarks/preflight.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from placetui.frameworks.demand import BundleDemand, GroupDemand, RayDemand, Strategy
from placetui.frameworks.preflight import ClusterNode, preflight
from placetui.frameworks.scheduling import NodeResources, units

LIMIT = 1.0
"""CPU seconds for 1,024 nodes and 8,192 bundles."""


def cluster(nodes: int) -> list[ClusterNode]:
    """Nodes of four kinds, some of them partly in use."""
    found = []
    for number in range(nodes):
        total = {"GPU": units(8), "CPU": units(64 + 32 * (number % 2))}
        free = {**total, "CPU": total["CPU"] - units(4 * (number % 4 // 2))}
        found.append(ClusterNode(f"node{number}", "", NodeResources(str(number), total, free)))
    return found


def demands(nodes: int) -> dict[str, RayDemand]:
    """As many bundles as there are GPUs, or one more than that."""
    each = {"GPU": 1, "CPU": 3}

    def group(name: str, strategy: Strategy, count: int) -> GroupDemand:
        return GroupDemand(name, strategy, (BundleDemand(each, count),))

    return {
        "PACK": RayDemand((group("all", "PACK", 8 * nodes),)),
        "SPREAD": RayDemand((group("all", "SPREAD", 8 * nodes),)),
        "a group per node": RayDemand(tuple(group(str(one), "STRICT_PACK", 8) for one in range(nodes))),
        "one too many": RayDemand((group("all", "PACK", 8 * nodes + 1),)),
    }


def measure(nodes: int) -> dict[str, float]:
    """CPU seconds by demand."""
    there = cluster(nodes)
    found = {}
    for name, demand in demands(nodes).items():
        begun = time.process_time()
        result = preflight(demand, there)
        found[name] = time.process_time() - begun
        assert result.fits == (name != "one too many"), name
    return found


def main(sizes: Sequence[int] = (256, 512, 1024)) -> int:
    slowest = 0.0
    for nodes in sizes:
        found = measure(nodes)
        slowest = max(found.values())
        times = "  ".join(f"{name} {seconds:.2f} s" for name, seconds in found.items())
        print(f"{nodes:5} nodes, {8 * nodes:5} bundles: {times}")
    return int(slowest > LIMIT)


if __name__ == "__main__":
    sys.exit(main())

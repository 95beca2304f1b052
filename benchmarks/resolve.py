"""Resolving a plan: time per rank at several sizes, against merely building the placements.

Run: python benchmarks/resolve.py
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

from placetui.frameworks.planner import Planner
from placetui.placement.placements import Placement
from placetui.placement.topology import Node

SIZES = (64, 256, 1024, 4096)


def cpu(work: Callable[[], Any], repeat: int = 5) -> float:
    """Least CPU seconds of a few runs."""
    best = float("inf")
    for _ in range(repeat):
        gc.collect()
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def config(nodes: int, changed: str = "") -> dict[str, Any]:
    last = 8 * nodes - 1  # three texts, so that no component borrows another's placements
    rules = {"actor": "all", "rollout": f"0-{last}", "env": changed or f"0-7,8-{last}"}
    return {"cluster": {"num_nodes": nodes, "component_placement": rules}}


def floor(ranks: int) -> None:
    """Build as many placements as the plan has, and nothing else."""
    for rank in range(ranks):
        Placement(rank, 0, 0, 0, "NV_GPU", 0, 8, ["0"], True, [0], "cluster")


def main() -> None:
    print(f"{'nodes':>6} {'ranks':>7} {'floor ms':>9} {'plan ms':>9} {'x floor':>8} {'us/rank':>8} {'one rule ms':>12}")
    per_rank: list[float] = []
    for number in SIZES:
        nodes = [Node(8)] * number
        planner = Planner()
        ranks = 3 * 8 * number

        def whole(nodes: list[Node] = nodes, number: int = number) -> None:
            Planner().plan(config(number), nodes=nodes)

        def one_rule(nodes: list[Node] = nodes, number: int = number, planner: Planner = planner) -> None:
            one_rule.turn += 1  # type: ignore[attr-defined]
            planner.plan(config(number, f"0-{8 * number - 1 - one_rule.turn % 8}"), nodes=nodes)  # type: ignore[attr-defined]

        one_rule.turn = 0  # type: ignore[attr-defined]
        built, resolved = cpu(lambda ranks=ranks: floor(ranks)), cpu(whole)
        again = cpu(one_rule)
        per_rank.append(resolved / ranks * 1e6)
        print(
            f"{number:>6} {ranks:>7} {built * 1e3:>9.1f} {resolved * 1e3:>9.1f} {resolved / built:>8.2f}"
            f" {per_rank[-1]:>8.2f} {again * 1e3:>12.1f}"
        )
    print(f"time per rank at {SIZES[-1]} nodes against {SIZES[0]}: {per_rank[-1] / per_rank[0]:.2f}")


if __name__ == "__main__":
    main()

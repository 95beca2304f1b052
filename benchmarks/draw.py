"""What drawing costs: the whole of it per node, and a window of 60 lines whatever the number of nodes.

python benchmarks/draw.py [--repeat N]

`per node` is the time of a window divided by the nodes in it, as a ratio to the one of 8 nodes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time

from placetui.grid import DENSITIES, Density, Drawing, to_svg, to_text
from placetui.placement.placements import Placement
from placetui.placement.plan import Component, Plan, Rule
from placetui.placement.topology import Node, NodeGroup, Topology

SIZES = (8, 128, 1024, 4096)
GPUS = 8
WINDOW = 60


def colocated(nodes: int) -> Plan:
    """A trainer on every GPU and an engine over each pair beside them."""

    def component(name: str, width: int, units: int) -> Component:
        places = [(node, first) for node in range(nodes) for first in range(0, GPUS, width)]
        placements = [
            Placement(
                rank=rank,
                cluster_node_rank=node,
                placement_node_rank=node,
                local_accelerator_rank=first,
                accelerator_type="NV_GPU",
                local_rank=first // width,
                local_world_size=GPUS // width,
                visible_accelerators=[str(first + offset) for offset in range(width)],
                isolate_accelerator=True,
                local_hardware_ranks=[first + offset for offset in range(width)],
                node_group_label="cluster",
            )
            for rank, (node, first) in enumerate(places)
        ]
        return Component(
            name, Rule("all", ("cluster",)), "flexible", placements, units, rank_units=[units] * len(placements)
        )

    return Plan(
        source="benchmark",
        framework="rlinf",
        mode="hybrid",
        placement_mode="hybrid",
        topology_source="flag",
        topology=Topology(
            [Node(GPUS, "NV_GPU", f"node{rank}", f"10.0.{rank // 250}.{rank % 250}") for rank in range(nodes)],
            [NodeGroup("a800", tuple(range(nodes)), "Accelerator", index=0)],
        ),
        components={"actor": component("actor", 1, 8000), "rollout": component("rollout", 2, 2000)},
    )


def best(work: Callable[[], object], repeat: int) -> float:
    """CPU seconds of the quickest run."""
    times = []
    for _ in range(repeat):
        before = process_time()
        work()
        times.append(process_time() - before)
    return min(times)


def measure(density: Density, nodes: int, repeat: int) -> tuple[float, float, float, float, float]:
    """CPU seconds to lay out, to draw a window in the middle, to zoom, to draw all as text, and as SVG."""
    plan = colocated(nodes)
    # What a plan computes when it is first asked for a device belongs to the plan, not to the drawing.
    plan.devices_of(0)
    first = Drawing(plan, density, width=160)

    def window() -> None:
        drawing = first.change()
        start = max(0, drawing.height // 2 - WINDOW)
        for _ in drawing.lines(start, start + WINDOW):
            pass

    layout = best(lambda: Drawing(plan, density, width=160).height, repeat)
    again = best(lambda: first.change(), repeat)
    shown = best(window, repeat) - again
    text = best(lambda: to_text(first.change()), 1)
    svg = best(lambda: to_svg(first.change()), 1)
    return layout, again, shown, text, svg


def nodes_in_window(density: Density, nodes: int) -> int:
    """How many nodes a window shows: 60 lines are more than 8 nodes have, and a line of the heat density shows many."""
    drawing = Drawing(colocated(nodes), density, width=160)
    start = max(0, drawing.height // 2 - WINDOW)
    return len({node for y in range(start, min(start + WINDOW, drawing.height)) for node in drawing.nodes_at(y)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    head = (
        "density",
        "nodes",
        "lay out ms",
        "change ms",
        "window ms",
        "nodes",
        "per node",
        "text µs/node",
        "SVG µs/node",
    )
    print("{:8} {:>6} {:>11} {:>10} {:>10} {:>6} {:>9} {:>13} {:>12}".format(*head))
    for density in DENSITIES:
        smallest = 0.0
        for nodes in SIZES:
            layout, again, window, text, svg = measure(density, nodes, repeat)
            drawn = nodes_in_window(density, nodes)
            smallest = smallest or window / drawn
            print(
                f"{density:8} {nodes:6} {layout * 1e3:11.2f} {again * 1e3:10.2f} {window * 1e3:10.2f} "
                f"{drawn:6} {window / drawn / smallest:9.2f} {text / nodes * 1e6:13.1f} {svg / nodes * 1e6:12.1f}"
            )


if __name__ == "__main__":
    main()

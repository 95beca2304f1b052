"""What the parts of an inference engine need to find each other: hosts, ports, base GPUs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from placetui.placement.plan import RankOfEngine

DIST_PORTS = 30
"""Consecutive ports from `dist_init_addr` on, besides one for each data-parallel replica: slime's number."""


@dataclass(frozen=True, slots=True)
class EnginePart:
    """One rank of an engine component."""

    rank: int
    node: int
    """Rank of its planned node."""

    base_gpu_id: str
    place: RankOfEngine


def blocks_of(part: EnginePart, dp_size: int) -> list[int]:
    """Sizes of the port blocks that a part needs on its node: service, NCCL, and for a first part the rest."""
    return [1, 1, DIST_PORTS + dp_size] if part.place.part == 0 else [1, 1]


def sizes_by_node(parts: Sequence[EnginePart], dp_size: int) -> dict[int, list[int]]:
    """All block sizes of each node, in the order of its parts."""
    sizes: dict[int, list[int]] = {}
    for part in parts:
        sizes.setdefault(part.node, []).extend(blocks_of(part, dp_size))
    return sizes


def engine_arguments(
    parts: Sequence[EnginePart], addresses: Sequence[str], ports: Mapping[int, Sequence[int]], dp_size: int
) -> dict[int, dict[str, Any]]:
    """By rank, the arguments of its worker; `ports` are by planned node those of the blocks of `sizes_by_node`."""
    given = {node: iter(blocks) for node, blocks in ports.items()}
    found: dict[int, dict[str, Any]] = {}
    for part in parts:
        blocks = [next(given[part.node]) for _ in blocks_of(part, dp_size)]
        host = addresses[part.node]
        found[part.rank] = {
            "host": host,
            "port": blocks[0],
            "nccl_port": blocks[1],
            "base_gpu_id": int(part.base_gpu_id) if part.base_gpu_id.isdecimal() else part.base_gpu_id,
            "node_rank": part.place.part,
            "nnodes": part.place.parts,
            "engine": part.place.engine,
        }
        if part.place.part == 0:
            first = blocks[2]
            found[part.rank] |= {
                "dist_init_addr": f"[{host}]:{first}" if ":" in host else f"{host}:{first}",
                "data_parallel_ports": list(range(first + 1, first + DIST_PORTS + dp_size)),
            }
        else:
            of_first = found[part.rank - part.place.part]
            found[part.rank] |= {name: of_first[name] for name in ("dist_init_addr", "data_parallel_ports")}
    return found

"""From the JSON of a plan back to a plan: what a job's record says is where, whatever became of its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from placetui.placement.placements import FIELDS, Placement
from placetui.placement.plan import GPU, NODE, SHARE_UNITS, Component, Plan, Rule
from placetui.placement.topology import ACCELERATOR, Node, NodeGroup, Topology

RULE = "as recorded"
"""Stands where the file's rule would: the JSON has none."""


def plan_from_dict(value: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]] = ()) -> Plan:
    """What `Plan.to_dict` gave, as far as it tells: rules, problems and launch settings are not in it.

    `nodes` say by `rank` what else is known of them: `ip`. Raises `ValueError` for what is no plan.
    """
    try:
        kinds: dict[str, str] = {}
        units: dict[tuple[str, int], int | None] = {}
        of_rank: dict[tuple[str, int], str] = {}
        for device in value["devices"]:
            for one in device["occupants"]:
                rank = one["component"], one["rank"]
                units[rank] = None if one["share"] is None else round(one["share"] * SHARE_UNITS)
                of_rank[rank] = device["kind"]
        components = {}
        for name, part in value["components"].items():
            placements = tuple(Placement(**{field: one[field] for field in FIELDS}) for one in part["placements"])
            for one in placements:
                kind = of_rank.get((name, one.rank), GPU)
                if kind not in (GPU, NODE):
                    kinds[one.node_group_label] = kind
            components[name] = Component(
                name,
                Rule(RULE, ()),
                part["strategy"],
                placements,
                None if part["share"] is None else round(part["share"] * SHARE_UNITS),
                tuple(units.get((name, one.rank)) for one in placements),
            )
        return Plan(
            value["source"],
            "",
            value["mode"],
            value["placement_mode"],
            value["topology_source"],
            _topology(value, kinds, {int(one["rank"]): one for one in nodes}),
            components,
        )
    except (KeyError, TypeError, AttributeError) as problem:
        raise ValueError(f"not a plan: {type(problem).__name__} {problem}") from problem


def _topology(value: Mapping[str, Any], kinds: Mapping[str, str], known: Mapping[int, Mapping[str, Any]]) -> Topology:
    accelerators = {
        one["cluster_node_rank"]: one["accelerator_type"]
        for part in value["components"].values()
        for one in part["placements"]
    }
    members: dict[str, list[int]] = {label: [] for label in kinds}
    for rank, node in enumerate(value["nodes"]):
        for label in node["groups"]:
            members.setdefault(label, []).append(rank)
    groups = [
        NodeGroup(label, tuple(ranks), kinds.get(label, ACCELERATOR), index=index)
        for index, (label, ranks) in enumerate(members.items())
    ]
    robots = {(node["rank"], kind): number for node in value["nodes"] for kind, number in node["hardware"].items()}
    nodes = [
        Node(
            gpus=node["gpus"],
            accelerator=accelerators.get(node["rank"], "NV_GPU" if node["gpus"] else "NO_ACCEL"),
            name=node["name"],
            ip=str(known.get(node["rank"], {}).get("ip") or ""),
        )
        for node in value["nodes"]
    ]
    return Topology(nodes, groups, robots)

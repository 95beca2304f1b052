"""Reads the `cluster` section: number of nodes and node groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from placetui.placement.interpolation import Unresolved
from placetui.placement.node_groups import MOST_MEMBERSHIPS, MOST_NODES, ClusterReading, Group, check_robots
from placetui.placement.problems import Path, Problems, count
from placetui.placement.topology import ACCELERATOR, CLUSTER, DEFAULT_GPUS, NODE_LABEL, Node, NodeGroup

READ = ("num_nodes", "component_placement", "node_groups")
"""Keys of the section that are read here."""


def read_cluster(
    section: Mapping[str, Any], nodes: Sequence[Node] | None, problems: Problems, path: Path = (CLUSTER,)
) -> ClusterReading:
    """Read and check the section; `nodes` is None when the topology is assumed."""
    number = _num_nodes(section, problems, path)
    reading = ClusterReading(_nodes_in_use(number, nodes, problems, path), sized=number is not None)
    if number is not None and number > (MOST_NODES if nodes is None else len(nodes)):
        reading.sized = False
    entries = section.get("node_groups")
    if entries is None or isinstance(entries, Unresolved):
        entries = []
    path = (*path, "node_groups")
    if isinstance(entries, str | Mapping) or not isinstance(entries, Sequence):
        problems.error(
            "node_groups_not_list", "`node_groups` must be a list", hint="start each group with `- label: …`", path=path
        )
        entries = []
    found = [Group(reading, entry, (*path, index), index) for index, entry in enumerate(entries)]
    for group in found:
        if reading.memberships > MOST_MEMBERSHIPS:
            problems.error(
                "too_many_values",
                f"the node groups together name more than {MOST_MEMBERSHIPS} nodes",
                hint="use fewer groups",
                path=group.path,
            )
            reading.broken.update(str(one.label) for one in found)
            break
        group.read(number, problems)
    check_robots(found, reading, problems)
    for group in found:
        group.finish(problems)
    has_gpus = any(node.gpus for node in reading.nodes)
    everywhere = tuple(range(len(reading.nodes)))
    reading.groups[CLUSTER] = NodeGroup(CLUSTER, everywhere, ACCELERATOR if has_gpus else None)
    reading.groups[NODE_LABEL] = NodeGroup(NODE_LABEL, everywhere, None)
    return reading


def _num_nodes(section: Mapping[str, Any], problems: Problems, path: Path) -> int | None:
    if "num_nodes" not in section:
        problems.error("missing_field", "the `cluster` section lacks `num_nodes`", hint="add `num_nodes: 1`", path=path)
        return None
    number = section["num_nodes"]
    if isinstance(number, Unresolved):
        return None
    if type(number) is int and number > 0:
        return number
    problems.error(
        "num_nodes_invalid",
        f"`num_nodes` must be a whole number above 0, not `{number!r}`",
        hint="write it without quotes" if isinstance(number, str) else "write for example `num_nodes: 2`",
        path=(*path, "num_nodes"),
    )
    return None


def _nodes_in_use(number: int | None, nodes: Sequence[Node] | None, problems: Problems, path: Path) -> tuple[Node, ...]:
    if nodes is None:
        if number is not None and number > MOST_NODES:
            problems.error(
                "num_nodes_invalid",
                f"{number} nodes are more than {MOST_NODES}",
                hint="check the number of digits",
                path=(*path, "num_nodes"),
            )
            number = None
        return (Node(DEFAULT_GPUS),) * (number or 1)
    if number is not None and number > len(nodes):
        problems.error(
            "not_enough_nodes",
            f"`num_nodes` is {number}, but there {'is' if len(nodes) == 1 else 'are'} only {count(len(nodes), 'node')}",
            hint=f"write `num_nodes: {len(nodes)}`, or start more nodes; RLinf would wait for them for ever",
            path=(*path, "num_nodes"),
        )
    return tuple(nodes[:number])


def warn_of_misspelled(keys: Sequence[str], problems: Problems, path: Path = (CLUSTER,)) -> None:
    """Unknown keys are ignored by RLinf; those that look like known ones are worth a word."""
    for key in keys:
        if key not in READ:
            near = [known for known in READ if known not in keys and _alike(key, known)]
            if near:
                problems.warning(
                    "unknown_cluster_field",
                    f"`{key}` is not read; did you mean `{near[0]}`?",
                    hint=f"rename it to `{near[0]}`, or ignore this",
                    path=(*path, key),
                    at_key=True,
                )


def _alike(word: str, known: str) -> bool:
    from difflib import SequenceMatcher  # rarely needed

    return SequenceMatcher(None, word.lower(), known).ratio() > 0.8

"""Reads the `cluster` section: number of nodes and node groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from placetui.placement.config.reader import Unresolved
from placetui.placement.problems import ProblemReporter, Problems
from placetui.placement.topology import CLUSTER, DEFAULT_GPUS, Node, NodeGroup, Topology
from placetui.placement.wording import count

READ = ("num_nodes", "component_placement", "node_groups")
"""Keys of the section that are read here."""

MOST_NODES = 65_536
"""Beyond any cluster; keeps a typing mistake from filling the memory."""

MOST_MEMBERSHIPS = 1_000_000
"""Nodes in groups, counted as often as they are named."""


@dataclass(slots=True)
class ClusterReading:
    """What could be read of the section; problems are reported on the side."""

    nodes: tuple[Node, ...]
    groups: dict[str, NodeGroup] = field(default_factory=dict)
    """In file order, without the reserved ones."""

    robots: dict[tuple[int, str], int] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    """Labels of groups with problems: what is placed on them is not judged."""

    memberships: int = 0
    """Nodes in groups and their environments, counted as often as they are named."""

    sized: bool = True
    """False when the number of nodes is wrong: device ranks cannot be judged."""

    @property
    def topology(self) -> Topology:
        return Topology(self.nodes, list(self.groups.values()), self.robots)


def read_cluster(section: Mapping[str, Any], nodes: Sequence[Node] | None, problems: Problems) -> ClusterReading:
    """Read and check the section; `nodes` is None when the topology is assumed."""
    at = problems.at((CLUSTER,))
    number = _num_nodes(section, at)
    most = MOST_NODES if nodes is None else len(nodes)
    reading = ClusterReading(
        _nodes_in_use(number, nodes, at.below("num_nodes")), sized=number is not None and number <= most
    )
    entries, at = section.get("node_groups"), at.below("node_groups")
    if entries is None or isinstance(entries, Unresolved):
        entries = []
    if isinstance(entries, str | Mapping) or not isinstance(entries, Sequence):
        at.error("node_groups_not_list", "`node_groups` must be a list", hint="start each group with `- label: …`")
        entries = []
    if entries:
        _read_groups(entries, number, reading, at)
    return reading


def _read_groups(entries: Sequence[Any], number: int | None, reading: ClusterReading, at: ProblemReporter) -> None:
    from placetui.frameworks.rlinf.node_groups import GroupReader, check_robots  # most files have no groups

    found = [GroupReader(reading, entry, at.below(index), index) for index, entry in enumerate(entries)]
    for group in found:
        if reading.memberships > MOST_MEMBERSHIPS:
            message = f"the node groups together name more than {MOST_MEMBERSHIPS} nodes"
            group.at.error("too_many_values", message, hint="use fewer groups")
            reading.broken.update(str(one.label) for one in found)
            break
        group.read(number)
    check_robots(found, reading)
    for group in found:
        group.finish()


def _num_nodes(section: Mapping[str, Any], at: ProblemReporter) -> int | None:
    if "num_nodes" not in section:
        at.error("missing_field", "`num_nodes` is missing in the `cluster` section", hint="add `num_nodes: 1`")
        return None
    number = section["num_nodes"]
    if type(number) is int and number > 0:
        return number
    if not isinstance(number, Unresolved):
        hint = "write it without quotes" if isinstance(number, str) else "write for example `num_nodes: 2`"
        message = f"`num_nodes` must be a whole number above 0, not `{number!r}`"
        at.below("num_nodes").error("num_nodes_invalid", message, hint=hint)
    return None


def _nodes_in_use(number: int | None, nodes: Sequence[Node] | None, at: ProblemReporter) -> tuple[Node, ...]:
    if nodes is None:
        if number is not None and number > MOST_NODES:
            message = f"{number} nodes are more than {MOST_NODES}"
            at.error("num_nodes_invalid", message, hint="check the number of digits")
            number = None
        return (Node(DEFAULT_GPUS),) * (number or 1)
    if number is not None and number > len(nodes):
        at.error(
            "not_enough_nodes",
            f"`num_nodes` is {number}, but there {'is' if len(nodes) == 1 else 'are'} only {count(len(nodes), 'node')}",
            hint=f"write `num_nodes: {len(nodes)}`, or start more nodes; RLinf would wait for them forever",
        )
    return tuple(nodes[:number])


def warn_of_misspelled(keys: Sequence[str], problems: Problems) -> None:
    """Unknown keys are ignored by RLinf; those that look like known ones are worth a word."""
    for key in keys:
        near = [known for known in READ if known not in keys and _alike(key, known)] if key not in READ else []
        if near:
            message = f"`{key}` is not read; did you mean `{near[0]}`?"
            hint = f"rename it to `{near[0]}`, or ignore this"
            problems.at((CLUSTER, key)).warning("unknown_cluster_field", message, hint=hint, at_key=True)


def _alike(word: str, known: str) -> bool:
    from difflib import SequenceMatcher  # rarely needed

    return SequenceMatcher(None, word.lower(), known).ratio() > 0.8

"""Whether somebody came, went or moved: a quick look, where working out a whole picture would be slow."""

from __future__ import annotations

from collections.abc import Hashable

from placetui.observe.model import NodeSample, Observation, ProcessSample


class Whereabouts:
    """Remembers who is on which GPU; only nodes that changed are gone through again."""

    def __init__(self) -> None:
        self._nodes: dict[int, tuple[NodeSample, Hashable]] = {}

    def moved(self, observation: Observation) -> bool:
        """Whether anybody is elsewhere than when this was last asked."""
        known, self._nodes = self._nodes, {}
        moved = False
        for node in observation.nodes:
            before = known.pop(node.rank, None)
            if before is None or before[0] is not node:
                now = node, _who(node)
                moved = moved or before is None or before[1] != now[1]
                before = now
            self._nodes[node.rank] = before
        return moved or bool(known)


def _who(node: NodeSample) -> Hashable:
    """Everything of a node that a picture of it tells."""
    devices = tuple(
        (device.index, device.memory_total, device.claims, tuple(map(_owner, device.processes)))
        for device in node.devices
    )
    return node.name, node.ip, devices


def _owner(one: ProcessSample) -> Hashable:
    return one.kind, one.actor_id, one.actor, one.job, one.component, one.rank

"""Sets of devices as plain integers: what makes searching a large cluster quick."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property

from placetui.grid.densities import Place
from placetui.observe.model import DeviceSample, Observation
from placetui.placement.plan import GPU, NODE, SHARE_UNITS, Component, Plan


class DeviceSets:
    """The devices of one plan, numbered densely by node, kind and index.

    Nothing here builds a `Device`: all comes from the placements, in one pass over those that matter.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        most: dict[str, int] = {GPU: max((node.gpus for node in plan.nodes), default=0)}
        for node in plan.nodes:
            for kind, number in node.hardware.items():
                most[kind] = max(most.get(kind, 0), number)
        self._first: dict[str, int] = {}
        """Number of the first device of each kind within a node."""
        self._stride = 0
        for kind, number in (*most.items(), (NODE, 1)):
            self._first[kind] = self._stride
            self._stride += number
        self._starts = {
            label: self._first[kind] for label, kind in plan.topology.robot_kinds.items() if kind in self._first
        }

    def key(self, node: int, kind: str, index: int) -> int:
        return node * self._stride + self._first[kind] + index

    def place(self, key: int) -> Place:
        node, within = divmod(key, self._stride)
        kind = next(kind for kind, first in reversed(self._first.items()) if first <= within)
        return Place(node, kind, within - self._first[kind])

    def find(self, place: Place) -> int | None:
        """The number of a device; None for one that the plan cannot have."""
        first = self._first.get(place.kind)
        if first is None or not 0 <= place.node < len(self.plan.nodes) or place.index < 0:
            return None
        key = self.key(place.node, place.kind, place.index)
        return key if self.place(key) == place else None

    def node_of(self, key: int) -> int:
        return key // self._stride

    def of_ranks(self, component: Component, ranks: Iterable[int] | None = None) -> set[int]:
        """Devices of some ranks of a component; None: of all."""
        placements = component.placements
        chosen = placements if ranks is None else [placements[rank] for rank in ranks]
        stride, starts, on_node = self._stride, self._starts, self._first[NODE]
        found: set[int] = set()
        for placement in chosen:
            base = placement.cluster_node_rank * stride
            owned = placement.devices
            if not owned:
                found.add(base + on_node)
                continue
            if starts:
                base += starts.get(placement.node_group_label, 0)
            for index in owned:
                found.add(base + index)
        return found

    @cached_property
    def by_component(self) -> list[set[int]]:
        """Devices of each component, in file order."""
        return [self.of_ranks(component) for component in self.plan.components.values()]

    def gpus(self, nodes: Iterable[int] | None = None) -> set[int]:
        """The GPUs of some nodes; None: of all."""
        found: set[int] = set()
        for node in range(len(self.plan.nodes)) if nodes is None else nodes:
            first = node * self._stride
            found.update(range(first, first + self.plan.nodes[node].gpus))
        return found

    def free(self) -> set[int]:
        return self.gpus().difference(*self.by_component)

    def shared(self) -> set[int]:
        seen: set[int] = set()
        found: set[int] = set()
        for keys in self.by_component:
            found |= seen & keys
            seen |= keys
        return found

    def oversubscribed(self) -> set[int]:
        """GPUs of which more than all is promised."""
        units: dict[int, int] = {}
        stride, starts = self._stride, self._starts
        for component in self.plan.components.values():
            for placement, share in zip(component.placements, component.rank_units, strict=False):
                if share is None or (starts and starts.get(placement.node_group_label)):
                    continue
                base = placement.cluster_node_rank * stride
                for index in placement.devices:
                    units[base + index] = units.get(base + index, 0) + share
        return {key for key, held in units.items() if held > SHARE_UNITS}

    def of_nodes(self, nodes: Iterable[int]) -> set[int]:
        """All devices of some nodes; a node without any counts as one itself."""
        ranks = set(nodes)
        found = self.gpus(ranks)
        with_themselves = {
            placement.cluster_node_rank
            for component in self.plan.components.values()
            for placement in component.placements
            if not placement.devices
        } & ranks
        for rank in ranks:
            node = self.plan.nodes[rank]
            for kind, number in node.hardware.items():
                first = self.key(rank, kind, 0)
                found.update(range(first, first + number))
            if not node.gpus and not node.hardware:
                with_themselves.add(rank)
        found.update(self.key(rank, NODE, 0) for rank in with_themselves)
        return found

    def of_kind(self, kind: str, nodes: Iterable[int], indices: Iterable[range]) -> set[int]:
        """Devices with some indices on some nodes, as far as those have them."""
        pieces = tuple(indices)
        found: set[int] = set()
        for rank in nodes:
            node = self.plan.nodes[rank]
            number = node.gpus if kind == GPU else node.hardware.get(kind, 0)
            first = self.key(rank, kind, 0)
            for piece in pieces:
                found.update(range(first + min(piece.start, number), first + min(piece.stop, number)))
        return found

    def in_state(self, observation: Observation, state: str) -> set[int]:
        """Devices of the ranks that are in a state."""
        found: set[int] = set()
        for name, component in self.plan.components.items():
            size = component.world_size
            ranks = [one.rank for one in observation.ranks.get(name, ()) if one.state == state and 0 <= one.rank < size]
            found |= self.of_ranks(component, ranks)
        return found

    def stale(self, observation: Observation) -> list[int]:
        """Nodes whose values are too old."""
        return [node.rank for node in observation.nodes if node.stale and 0 <= node.rank < len(self.plan.nodes)]

    def where(self, observation: Observation, holds: Callable[[DeviceSample], bool]) -> set[int]:
        """GPUs of the plan whose sample fulfils a condition."""
        found: set[int] = set()
        for node in observation.nodes:
            if 0 <= node.rank < len(self.plan.nodes):
                base = node.rank * self._stride
                gpus = self.plan.nodes[node.rank].gpus
                found.update(
                    base + device.index for device in node.devices if 0 <= device.index < gpus and holds(device)
                )
        return found


class Places(Collection[Place]):
    """Devices in the order of node, kind and index; each is made on demand, as there can be very many."""

    def __init__(self, sets: DeviceSets | None = None, keys: Iterable[int] = ()) -> None:
        self._sets = sets
        self._set = frozenset(keys)
        self._keys = sorted(self._set)

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, index: int) -> Place:
        return self._place(self._keys[index])

    def __iter__(self) -> Iterator[Place]:
        return map(self._place, self._keys)

    def __contains__(self, place: object) -> bool:
        return isinstance(place, Place) and self._sets is not None and self._sets.find(place) in self._set

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Places | tuple) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self._set)

    def nodes(self) -> list[int]:
        return sorted(set(map(self._sets.node_of, self._keys))) if self._sets else []

    def first_of_nodes(self) -> Places:
        if self._sets is None:
            return self
        node_of = self._sets.node_of
        return Places(self._sets, {node_of(key): key for key in reversed(self._keys)}.values())

    def _place(self, key: int) -> Place:
        assert self._sets is not None
        return self._sets.place(key)

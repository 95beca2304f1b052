"""Why a placement group or an actor waits, in one sentence that a person can act on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from placetui.frameworks.demand import ActorDemand, BundleDemand, GroupDemand
from placetui.frameworks.scheduling import (
    UNIT_INSTANCES,
    UNITS,
    NodeResources,
    Request,
    Scheduled,
    allocate,
    matches,
    schedule,
    units,
)
from placetui.placement.wording import count, gib, listing

MOST_NODES = 3
"""Nodes that a sentence names."""

NODE_ID = "ray.io/node-id"
"""A label that every node has."""

_LESS_CPU = "request fewer CPUs in a bundle, or start Ray with more there: --num-cpus"
_BYTES = ("memory", "object_store_memory")


@dataclass(frozen=True, slots=True)
class Holding:
    """What somebody has of a node."""

    node: str
    who: str
    """In words: `job train-7 (root@head, 3 h)`."""

    resources: Mapping[str, int]
    """In 1/10000."""

    end: str = ""
    """How to end it; empty if unknown."""

    own: bool = False
    """Whether an earlier request of the same job holds it."""


@dataclass(frozen=True, slots=True)
class NodeGap:
    """What a node is short of."""

    node: str
    missing: Mapping[str, int]
    """In 1/10000, for one more of what is requested."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why something waits."""

    sentence: str
    hint: str
    gaps: tuple[NodeGap, ...] = ()
    resources: frozenset[str] = frozenset()
    """What is short."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Equal parts of a request, each of which needs one node."""

    needs: Mapping[str, int]
    selectors: tuple[Mapping[str, str], ...]
    count: int

    def allowed(self, node: NodeResources) -> bool:
        return all(matches(node.labels, selector) for selector in self.selectors)

    def lacking(self, free: Mapping[str, int]) -> dict[str, int]:
        return {name: need - free.get(name, 0) for name, need in self.needs.items() if need > free.get(name, 0)}

    def distance(self, missing: Mapping[str, int]) -> tuple[int, float]:
        """How far a node that is short of this is from having room."""
        return len(missing), sum(short / max(1, self.needs[name]) for name, short in missing.items())


def amount_text(resource: str, amount: int) -> str:
    """`8 GPUs`, `0.5 GPU`, `2 nvme`, `16.0 GiB memory`."""
    if resource in _BYTES:
        return f"{gib(amount / UNITS)} {resource}"
    plural = "s" if resource in ("GPU", "CPU") and amount not in range(1, UNITS + 1) else ""
    return f"{amount / UNITS:g} {resource}{plural}"


def needs_text(request: Request) -> str:
    """`8 bundles of 1 GPU + 3 CPUs on one node`."""
    if isinstance(request, ActorDemand):
        return f"{count(request.count, 'actor')} of {_each(request.resources)}"
    where = {"STRICT_PACK": " on one node", "STRICT_SPREAD": ", each on a node of its own"}.get(request.strategy, "")
    alike: Counter[str] = Counter()
    for one in request.bundles:
        alike[_each(one.resources)] += one.count
    return listing(f"{count(number, 'bundle')} of {each}" for each, number in alike.items()) + where


def _needs(resources: Mapping[str, float]) -> dict[str, int]:
    return {name: units(amount) for name, amount in resources.items() if units(amount)}


def _each(resources: Mapping[str, float]) -> str:
    asked = _needs(resources)
    return " + ".join(amount_text(name, asked[name]) for name in sorted(asked, key=_gpu_first)) or "nothing"


def _gpu_first(resource: str) -> tuple[bool, bool, str]:
    return resource != "GPU", resource != "CPU", resource


def remaining(nodes: Sequence[NodeResources], placed: Iterable[Scheduled]) -> list[NodeResources]:
    """The nodes after requests have taken their part, in the outcome that stands for all."""
    free = {node.name: dict(node.free) for node in nodes}
    devices = {node.name: {name: list(parts) for name, parts in node.instances.items()} for node in nodes}
    for one in placed:
        for node, needs in taken(one):
            for name, need in needs.items():
                free[node][name] = max(0, free[node].get(name, 0) - need)
                if name in devices[node]:
                    allocate(devices[node][name], need)
    instances = {node: {name: tuple(parts) for name, parts in own.items()} for node, own in devices.items()}
    return [replace(node, free=free[node.name], instances=instances[node.name]) for node in nodes]


def taken(one: Scheduled) -> Iterable[tuple[str, dict[str, int]]]:
    """What a request takes, bundle by bundle or actor by actor, with the node."""
    request = one.request
    each: list[BundleDemand | ActorDemand] = (
        [bundle for bundle in request.bundles for _ in range(bundle.count)]
        if isinstance(request, GroupDemand)
        else [request] * request.count
    )
    for node, asked in zip(one.nodes, each, strict=False):
        yield node, _needs(asked.resources)


def explain_wait(
    request: Request,
    nodes: Sequence[NodeResources],
    holdings: Sequence[Holding] = (),
    title: Callable[[str], str] = str,
) -> Shortage:
    """The smallest reason why a request waits, on nodes as they are when Ray gets to it."""
    return _Explanation(request, nodes, holdings, title).shortage()


@dataclass(frozen=True)
class _Explanation:
    request: Request
    nodes: Sequence[NodeResources]
    holdings: Sequence[Holding]
    title: Callable[[str], str]

    @cached_property
    def pieces(self) -> list[_Piece]:
        request = self.request
        if isinstance(request, ActorDemand):
            return [_Piece(_needs(request.resources), (request.labels,), request.count)]
        if request.strategy != "STRICT_PACK":
            return [_Piece(_needs(one.resources), (one.labels,), one.count) for one in request.bundles]
        total: Counter[str] = Counter()
        for one in request.bundles:
            total.update({name: amount * one.count for name, amount in _needs(one.resources).items()})
        return [_Piece(total, tuple(one.labels for one in request.bundles), 1)]

    @cached_property
    def _by_id(self) -> Mapping[str, list[NodeResources]]:
        found: dict[str, list[NodeResources]] = {}
        for node in self.nodes:
            found.setdefault(node.labels.get(NODE_ID, ""), []).append(node)
        return found

    def _allowed(self, piece: _Piece) -> Sequence[NodeResources]:
        """Nodes whose labels suit it; where it is tied to one by its id, there is no need to try all."""
        wanted = piece.selectors[0].get(NODE_ID, "!")
        near = self.nodes if wanted.startswith(("!", "in(")) else self._by_id.get(wanted, [])
        return near if not any(piece.selectors) else [node for node in near if piece.allowed(node)]

    @property
    def _spreads(self) -> bool:
        return isinstance(self.request, GroupDemand) and self.request.strategy == "STRICT_SPREAD"

    def shortage(self) -> Shortage:
        begin = f"{self.request.name} needs {needs_text(self.request)}"
        if not self.nodes:
            return Shortage(f"{begin}; the cluster has no node", "start Ray on a node")
        for piece in self.pieces:
            if found := self._no_labels(piece, begin) or self._too_large(piece, begin):
                return found
        if self._spreads and sum(piece.count for piece in self.pieces) > len(self.nodes):
            return Shortage(
                f"{begin}; the cluster has {count(len(self.nodes), 'node')}",
                f"add nodes, or plan for {count(len(self.nodes), 'bundle')}",
            )
        empty = [replace(node, free=node.total, instances={}) for node in self.nodes]
        if schedule(empty, [self.request])[0].verdict == "waits":
            return self._too_small(begin)
        return self._busy(begin)

    def _no_labels(self, piece: _Piece, begin: str) -> Shortage | None:
        if self._allowed(piece):
            return None
        wanted = {key: value for selector in piece.selectors for key, value in selector.items()}
        text = listing(f"{key}={value}" for key, value in wanted.items())
        if set(wanted) == {NODE_ID}:
            return Shortage(f"{begin} on a node that is gone", "request it again for the nodes that there are")
        return Shortage(f"{begin}; no node has the label {text}", "start a node with that label: ray start --labels")

    def _too_large(self, piece: _Piece, begin: str) -> Shortage | None:
        allowed = self._allowed(piece)
        if any(not piece.lacking(node.total) for node in allowed):
            return None
        best = min(allowed, key=lambda node: piece.distance(piece.lacking(node.total)))
        short = piece.lacking(best.total)
        resource = min(short, key=_gpu_first)
        if not any(node.total.get(resource) for node in self.nodes):
            return Shortage(
                f"{begin}; no node has any {resource}",
                f"start a node with it, or request no {resource}",
                resources=frozenset(short),
            )
        has = listing(amount_text(name, best.total.get(name, 0)) for name in short)
        hint = "request less in a bundle"
        if isinstance(self.request, GroupDemand) and self.request.strategy == "STRICT_PACK":
            hint = "request less on one node, or add a larger node"
        return Shortage(
            f"{begin}; the nearest node, {self.title(best.name)}, has {has} in all",
            hint if isinstance(self.request, GroupDemand) else "request less",
            (NodeGap(best.name, short),),
            frozenset(short),
        )

    def _too_small(self, begin: str) -> Shortage:
        """It would not fit either if nobody else were there."""
        short: dict[str, tuple[int, int]] = {}
        for name in {name for piece in self.pieces for name in piece.needs}:
            needed = sum(piece.needs.get(name, 0) * piece.count for piece in self.pieces)
            there = sum(node.total.get(name, 0) for node in self.nodes)
            if needed > there:
                short[name] = needed, there
        if short:
            name = min(short, key=_gpu_first)
            needed, there = short[name]
            return Shortage(
                f"{begin}: {amount_text(name, needed)} in all, and the cluster has {amount_text(name, there)}",
                f"plan for {amount_text(name, there)}, or add nodes",
                self._gaps(total=True),
                frozenset(short),
            )
        gaps = self._gaps(total=True)
        resources = frozenset(name for gap in gaps for name in gap.missing)
        limits = self._clauses(gaps, total=True)
        return Shortage(
            f"{begin}, which fits in total but not per node{f': {limits}' if limits else ''}",
            _LESS_CPU if resources == {"CPU"} else "request less in a bundle, so that nodes are filled without a rest",
            gaps,
            resources,
        )

    def _busy(self, begin: str) -> Shortage:
        # Where somebody holds what is missing, there is something to be done.
        gaps = tuple(sorted(self._gaps(), key=lambda gap: not self._is_held(gap)))
        short = frozenset(name for gap in gaps for name in gap.missing)
        parts = self._in_parts() if not short else ""
        if parts:
            return Shortage(f"{begin}; {parts}", "stop what has the other parts, or request smaller ones", gaps)
        clauses = self._clauses(gaps)
        if not clauses:
            return Shortage(f"{begin}; Ray finds no way to divide them over the nodes", "use fewer kinds of bundles")
        return Shortage(f"{begin}; {clauses}", self._hint(gaps, short), gaps, short)

    def _is_held(self, gap: NodeGap) -> bool:
        node = self._by_name[gap.node]
        return any(node.free.get(name, 0) < node.total.get(name, 0) for name in gap.missing)

    @cached_property
    def _by_name(self) -> Mapping[str, NodeResources]:
        return {node.name: node for node in self.nodes}

    def _in_parts(self) -> str:
        """Nodes of which the amounts would do, but not the single devices."""
        for piece in self.pieces:
            for name in sorted(UNIT_INSTANCES & set(piece.needs)):
                for node in self._allowed(piece):
                    parts = [part for part in node.devices(name) if 0 < part < UNITS]
                    if parts:
                        each = " + ".join(f"{part / UNITS:g}" for part in parts[:6])
                        return (
                            f"{self.title(node.name)} has {amount_text(name, node.free.get(name, 0))} free, of which "
                            f"{each} are parts of single {name}s"
                        )
        return ""

    def _gaps(self, *, total: bool = False) -> tuple[NodeGap, ...]:
        """What each node is short of for one more, after as many as possible are placed."""
        free = {node.name: dict(node.total if total else node.free) for node in self.nodes}
        used: set[str] = set()
        left: _Piece | None = None
        for piece in self.pieces:
            rest = piece.count
            for node in self._allowed(piece):
                if self._spreads and node.name in used:
                    continue
                room = min((free[node.name].get(name, 0) // need for name, need in piece.needs.items()), default=rest)
                here = min(rest, 1 if self._spreads else room, room)
                if here:
                    used.add(node.name)
                for name, need in piece.needs.items():
                    free[node.name][name] = free[node.name].get(name, 0) - need * here
                rest -= here
            if rest and left is None:
                left = piece
        if left is None:
            return ()
        gaps = [
            NodeGap(node.name, short)
            for node in self._allowed(left)
            if (short := left.lacking(free[node.name]))
            if not (self._spreads and node.name in used)
        ]
        return tuple(sorted(gaps, key=lambda gap: left.distance(gap.missing)))

    def _clauses(self, gaps: Sequence[NodeGap], *, total: bool = False) -> str:
        """`node2 has 8 GPUs but 2 of 64 CPUs free: 6 CPUs are reserved by job train-7`."""
        asked = sorted({name for piece in self.pieces for name in piece.needs}, key=_gpu_first)
        texts: list[str] = []
        for gap in gaps[:MOST_NODES]:
            node = self._by_name[gap.node]
            free = node.total if total else node.free
            plenty = [name for name in asked if name not in gap.missing and free.get(name)]
            good = listing(amount_text(name, free.get(name, 0)) for name in plenty)
            bad = listing(self._of(name, free.get(name, 0), node, total) for name in gap.missing)
            text = f"{self.title(node.name)} has {f'{good} but ' if good else ''}{bad}{'' if total else ' free'}"
            holders = "" if total else self._holders(node.name, gap.missing)
            texts.append(f"{text}: {holders}" if holders else text)
        more = f"; and {count(len(gaps) - MOST_NODES, 'node')} more" if len(gaps) > MOST_NODES else ""
        return "; ".join(texts) + more

    @staticmethod
    def _of(name: str, free: int, node: NodeResources, total: bool) -> str:
        there = node.total.get(name, 0)
        if total or not there or name in _BYTES:
            return amount_text(name, free)
        return f"{free / UNITS:g} of {amount_text(name, there)}"

    def _holders(self, node: str, missing: Mapping[str, int]) -> str:
        found = [
            f"{amount_text(name, one.resources[name])} reserved by {one.who}"
            for name in missing
            for one in self.holdings
            if one.node == node and one.resources.get(name)
        ]
        return listing(found, 4)

    def _hint(self, gaps: Sequence[NodeGap], short: frozenset[str]) -> str:
        concerned = {gap.node: gap.missing for gap in gaps[:MOST_NODES]}
        holders = [one for one in self.holdings if any(one.resources.get(name) for name in concerned.get(one.node, ()))]
        ends = dict.fromkeys(one.end for one in holders if one.end)
        hints = [] if "GPU" in short or not short else [f"request fewer {listing(sorted(short))}s"]
        if ends:
            hints.append(f"stop the job that has it: {listing(list(ends), 2)}")
        elif holders and all(one.own for one in holders):
            hints.append("add nodes" if hints else "plan for fewer GPUs, or add nodes")
        else:
            hints.append("wait until it is free")
        return ", or ".join(hints)

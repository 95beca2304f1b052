"""What Ray's scheduler will do with placement groups and actors, computed without Ray.

`schedule(nodes, requests)` follows Ray 2.60 step by step: the order in which the head sorts the bundles of a group, the
score by which it picks a node, and the raylet's own books, where a part of a GPU is a part of one certain GPU. All
amounts are integers of 1/10000, as Ray counts.

Where nodes have equal scores Ray takes any of them. Nodes that are alike in everything the requests ask for are
interchangeable: one stands for all. Where they differ, every choice is followed, and the answer is "may" if it depends
on the choice.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from placetui.frameworks.demand import ActorDemand, BundleDemand, GroupDemand, Strategy

UNITS = 10_000
"""Of one GPU or CPU, in Ray's units."""

UNIT_INSTANCES = frozenset({"GPU", "NPU", "TPU", "HPU", "neuron_cores", "RBLN", "FURIOSA", "TTNPU", "MBLT"})
"""Resources that Ray hands out as single devices: a part of one is never made of two halves."""

MOST_PATHS = 64
"""Ways through Ray's choices that are followed one by one, and as many again by chance; fewer for large clusters."""

MOST_STEPS = 100_000
"""Bundles and nodes that are followed on all paths together."""

MOST_ATTEMPTS = 12
"""Times that a group is tried again after a raylet has turned it down."""

Verdict: TypeAlias = Literal["fits", "waits", "may"]
Request: TypeAlias = GroupDemand | ActorDemand
Amounts: TypeAlias = tuple[int, ...]
"""Of the resources that the requests name, in 1/10000."""


def units(amount: float) -> int:
    """An amount of a resource in 1/10000."""
    return round(amount * UNITS)


@dataclass(frozen=True, slots=True)
class NodeResources:
    """What a node has, and what of it is free, in 1/10000."""

    name: str
    """Unique: what results call it."""

    total: Mapping[str, int]
    free: Mapping[str, int]
    labels: Mapping[str, str] = field(default_factory=dict)
    instances: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """What is free of each single device of a resource; where it is missing, free devices are whole."""

    def devices(self, resource: str) -> tuple[int, ...]:
        known = self.instances.get(resource)
        if known is not None:
            return known
        whole, part = divmod(self.free.get(resource, 0), UNITS)
        used = self.total.get(resource, 0) // UNITS - whole - bool(part)
        return (*(0,) * max(0, used), *((part,) if part else ()), *(UNITS,) * whole)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What becomes of one request."""

    request: Request
    verdict: Verdict
    nodes: tuple[str, ...] = ()
    """For each bundle or actor its node, in one possible outcome; empty where none was found."""

    choices: tuple[frozenset[str], ...] = ()
    """For each bundle all nodes that Ray may take: with a single one the node is certain. Empty for actors."""

    infeasible: bool = False
    """Whether Ray gives up until a node joins: some bundle is too large for every node, even if all were free."""


def schedule(nodes: Sequence[NodeResources], requests: Iterable[Request]) -> list[Scheduled]:
    """Follow Ray through requests in their order; each takes its part of what is free for the next.

    A request that waits holds nothing. Actors outside of groups that ask for nothing fit anywhere.
    """
    problem = _Problem(nodes, tuple(requests))
    merged: list[_Merged] = [_Merged() for _ in problem.requests]
    for outcomes in _explore(problem):
        for total, one in zip(merged, outcomes, strict=True):
            total.add(one)
        if all(total.mixed for total in merged):
            break
    return [total.result(problem, index) for index, total in enumerate(merged)]


# ── the order in which Ray takes bundles ───────────────────────────────────────────────────────────────────────────


def sorted_bundles(needs: Sequence[Mapping[str, int]], custom: Iterable[str] = ()) -> list[int]:
    """Indices of bundles in the order in which Ray places them: GPUs first, then custom resources, memory and CPUs,
    and the larger before the smaller. Equal ones come as C++ sorts them, which beyond 16 is not their own order.
    Custom resources come in the order in which the head met them, which nobody else knows.
    """
    order = ("GPU", *custom, "object_store_memory", "memory", "CPU")
    keys = [tuple(-need.get(name, 0) for name in order) for need in needs]
    return _unstable_sort(keys)


def _unstable_sort(keys: Sequence[tuple[int, ...]]) -> list[int]:
    """Indices as GNU's `std::sort` leaves them."""
    items = list(range(len(keys)))
    if len(items) > _THRESHOLD:
        _introsort(items, keys, 0, len(items), 2 * (len(items).bit_length() - 1))
    # What is left is sorted by insertion, which keeps the order of equal ones.
    items.sort(key=keys.__getitem__)
    return items


_THRESHOLD = 16
_PREDEFINED = frozenset({"CPU", "GPU", "memory", "object_store_memory"})


def _introsort(items: list[int], keys: Sequence[tuple[int, ...]], first: int, last: int, depth: int) -> None:
    while last - first > _THRESHOLD:
        if depth == 0:
            items[first:last] = sorted(items[first:last], key=keys.__getitem__)
            return
        depth -= 1
        middle = first + (last - first) // 2
        median = _median(items, keys, first + 1, middle, last - 1)
        items[first], items[median] = items[median], items[first]
        pivot = keys[items[first]]
        low, high = first + 1, last
        while True:
            while keys[items[low]] < pivot:
                low += 1
            high -= 1
            while pivot < keys[items[high]]:
                high -= 1
            if low >= high:
                break
            items[low], items[high] = items[high], items[low]
            low += 1
        _introsort(items, keys, low, last, depth)
        last = low


def _median(items: list[int], keys: Sequence[tuple[int, ...]], a: int, b: int, c: int) -> int:
    x, y, z = (keys[items[at]] for at in (a, b, c))
    if x < y:
        return b if y < z else (c if x < z else a)
    return a if x < z else (c if y < z else b)


def matches(labels: Mapping[str, str], selector: Mapping[str, str]) -> bool:
    """Whether a node's labels satisfy a label selector: `value`, `!value`, `in(a,b)`, `!in(a,b)`."""
    for key, wanted in selector.items():
        text = wanted.removeprefix("!")
        values = text[3:-1].split(",") if text.startswith("in(") and text.endswith(")") else [text]
        if (labels.get(key) in values) == wanted.startswith("!"):
            return False
    return True


# ── one problem: nodes and requests as tuples of integers ──────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Shape:
    """A bundle or actor."""

    needs: Amounts
    selector: int
    """Number of its label selector."""

    wanted: tuple[tuple[int, int], ...]
    """The resources of `needs` that are not zero."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Nodes that are alike: an initial class, and what is free by now."""

    group: int
    free: Amounts
    devices: tuple[Amounts, ...]
    """Of each resource that is handed out in parts, what is free of each device; in rising order."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What becomes of a request on one path."""

    fits: bool
    nodes: tuple[int, ...] = ()
    infeasible: bool = False
    fragmented: bool = False


_Pool: TypeAlias = dict[_Kind, list[int]]
_Decide: TypeAlias = Callable[[int], int]


class _Problem:
    """Nodes and requests, reduced to what they have to do with each other."""

    def __init__(self, nodes: Sequence[NodeResources], requests: tuple[Request, ...]) -> None:
        self.nodes = nodes
        self.requests = requests
        shapes = [
            one for request in requests for one in (request.bundles if isinstance(request, GroupDemand) else (request,))
        ]
        self.resources = sorted({name for one in shapes for name, amount in one.resources.items() if units(amount)})
        self._selectors: dict[frozenset[tuple[str, str]], int] = {}
        for one in shapes:
            self._selectors.setdefault(frozenset(one.labels.items()), len(self._selectors))
        columns = [_allowed(nodes, dict(selector)) for selector in self._selectors]
        self.fits_labels = list(zip(*columns, strict=True)) if columns else [()] * len(nodes)
        self.totals = [tuple(node.total.get(name, 0) for name in self.resources) for node in nodes]
        self.parted = [at for at, name in enumerate(self.resources) if self._is_parted(name, shapes)]
        alike: dict[tuple[Amounts, tuple[Amounts, ...], tuple[bool, ...]], list[int]] = {}
        for number, node in enumerate(nodes):
            free = tuple(node.free.get(name, 0) for name in self.resources)
            devices = tuple(tuple(sorted(node.devices(self.resources[at]))) for at in self.parted)
            alike.setdefault((free, devices, self.fits_labels[number]), []).append(number)
        self.members = list(alike.values())
        self.group_of = {number: group for group, numbers in enumerate(self.members) for number in numbers}
        self.labels_of = [labels for _, _, labels in alike]
        self.pool: _Pool = {
            _Kind(group, free, devices): numbers[::-1]
            for group, ((free, devices, _), numbers) in enumerate(alike.items())
        }

    def _is_parted(self, name: str, shapes: Sequence[BundleDemand | ActorDemand]) -> bool:
        if name not in UNIT_INSTANCES:
            return False
        asked = (units(one.resources.get(name, 0)) for one in shapes)
        return any(amount % UNITS for amount in asked) or any(
            part % UNITS for node in self.nodes for part in node.devices(name)
        )

    def shape(self, resources: Mapping[str, float], labels: Mapping[str, str]) -> _Shape:
        needs = tuple(units(resources.get(name, 0)) for name in self.resources)
        wanted = tuple((at, amount) for at, amount in enumerate(needs) if amount)
        return _Shape(needs, self._selectors[frozenset(labels.items())], wanted)

    def possible(self, shape: _Shape) -> bool:
        """Whether some node could hold it if it were empty."""
        return any(self.possible_on(number, shape) for number in range(len(self.nodes)))

    def possible_on(self, node: int, shape: _Shape) -> bool:
        total = self.totals[node]
        return self.fits_labels[node][shape.selector] and all(total[at] >= amount for at, amount in shape.wanted)


def _allowed(nodes: Sequence[NodeResources], selector: Mapping[str, str]) -> list[bool]:
    if not selector:
        return [True] * len(nodes)
    if len(selector) == 1:
        ((key, value),) = selector.items()
        if not value.startswith(("!", "in(")):
            return [node.labels.get(key) == value for node in nodes]
    return [matches(node.labels, selector) for node in nodes]


@dataclass(slots=True)
class _Merged:
    """What becomes of a request on all paths."""

    fits: int = 0
    waits: int = 0
    example: tuple[int, ...] = ()
    seen: list[set[int]] = field(default_factory=list)
    last: tuple[int, ...] = ()
    infeasible: bool = False

    @property
    def mixed(self) -> bool:
        return bool(self.fits and self.waits)

    def add(self, outcome: _Outcome) -> None:
        if not outcome.fits:
            self.waits += 1
            self.infeasible = outcome.infeasible
            return
        self.fits += 1
        if not self.example:
            self.example = outcome.nodes
            self.seen = [{number} for number in outcome.nodes]
        elif outcome.nodes != self.last:
            for numbers, number in zip(self.seen, outcome.nodes, strict=True):
                numbers.add(number)
        self.last = outcome.nodes

    def result(self, problem: _Problem, index: int) -> Scheduled:
        verdict: Verdict = "may" if self.mixed else "fits" if self.fits else "waits"
        names = [node.name for node in problem.nodes]
        alike: dict[frozenset[int], frozenset[str]] = {}
        choices: list[frozenset[str]] = []
        of_group = isinstance(problem.requests[index], GroupDemand)
        for numbers in self.seen if of_group else ():
            groups = frozenset(problem.group_of[number] for number in numbers)
            if groups not in alike:
                alike[groups] = frozenset(names[member] for group in groups for member in problem.members[group])
            choices.append(alike[groups])
        return Scheduled(
            problem.requests[index],
            verdict,
            tuple(names[number] for number in self.example),
            tuple(choices),
            self.infeasible,
        )


class _Script:
    """Ray's choices on one path: those that are written, then always the first."""

    def __init__(self, choices: Sequence[int]) -> None:
        self._written = choices
        self.taken: list[int] = []
        self._widths: list[int] = []

    def decide(self, width: int) -> int:
        at = len(self.taken)
        self.taken.append(self._written[at] if at < len(self._written) else 0)
        self._widths.append(width)
        return self.taken[at]

    def following(self) -> list[int] | None:
        """The choices of the next path; None after the last."""
        for at in range(len(self.taken) - 1, -1, -1):
            if self.taken[at] + 1 < self._widths[at]:
                return [*self.taken[:at], self.taken[at] + 1]
        return None


def _explore(problem: _Problem) -> Iterator[list[_Outcome]]:
    """Outcomes of all paths through Ray's choices, or of many of them."""
    size = len(problem.nodes) + sum(one.size for one in problem.requests if isinstance(one, GroupDemand))
    most = max(2, min(MOST_PATHS, MOST_STEPS // (size + 1)))
    choices: list[int] | None = []
    for _ in range(most):
        if choices is None:
            return
        script = _Script(choices)
        yield _Path(problem, script.decide).run()
        choices = script.following()
    chance = random.Random(0)
    for _ in range(most if choices else 0):
        yield _Path(problem, chance.randrange).run()


class _Path:
    """One way through Ray's choices."""

    def __init__(self, problem: _Problem, decide: _Decide) -> None:
        self._problem = problem
        self._decide = decide
        self._pool: _Pool = {kind: list(numbers) for kind, numbers in problem.pool.items()}
        self._bundles: dict[str, list[list[int]]] = {}

    def run(self) -> list[_Outcome]:
        found: list[_Outcome | None] = [None] * len(self._problem.requests)
        waiting: list[tuple[int, GroupDemand, int]] = []
        requests = self._problem.requests
        last_group = max((at for at, one in enumerate(requests) if isinstance(one, GroupDemand)), default=-1)
        for index, request in enumerate(requests):
            if isinstance(request, GroupDemand):
                waiting.append((index, request, 1))
                continue
            self._settle(waiting, found)
            found[index] = self._actors(request, index < last_group)
        self._settle(waiting, found)
        return [one for one in found if one is not None]

    def _settle(self, waiting: list[tuple[int, GroupDemand, int]], found: list[_Outcome | None]) -> None:
        """Place groups. One that a raylet turned down is tried again behind the others."""
        while waiting:
            index, group, attempt = waiting.pop(0)
            outcome = self._group(group)
            if outcome.fragmented and attempt < MOST_ATTEMPTS:
                waiting.append((index, group, attempt + 1))
            else:
                found[index] = outcome

    # ── groups ──

    def _group(self, group: GroupDemand) -> _Outcome:
        problem = self._problem
        shapes = [problem.shape(one.resources, one.labels) for one in group.bundles]
        of_bundle = [shape for shape, one in zip(shapes, group.bundles, strict=True) for _ in range(one.count)]
        if not of_bundle:
            return _Outcome(True)
        asked = [({name: units(amount) for name, amount in one.resources.items()}, one.count) for one in group.bundles]
        needs = [need for need, number in asked for _ in range(number)]
        if not self._feasible(group.strategy, shapes, of_bundle):
            return _Outcome(False, infeasible=True)
        pool = {kind: list(numbers) for kind, numbers in self._pool.items()}
        if group.strategy == "STRICT_PACK":
            placed = self._strict_pack(pool, of_bundle)
        else:
            custom = sorted({name for need in needs for name in need} - _PREDEFINED)
            if len(custom) > 1 and self._decide(2):
                custom.reverse()
            order = sorted_bundles(needs, custom)
            if group.strategy == "PACK":
                placed = self._pack(pool, of_bundle, order)
            else:
                placed = self._spread(pool, of_bundle, order, reuse=group.strategy == "SPREAD")
        if placed is None:
            return _Outcome(False)
        self._pool = pool
        if problem.parted and not self._prepare(placed, of_bundle):
            return _Outcome(False, fragmented=True)
        self._bundles[group.name] = [list(shape.needs) for shape in of_bundle]
        return _Outcome(True, tuple(placed))

    def _feasible(self, strategy: Strategy, shapes: Sequence[_Shape], of_bundle: Sequence[_Shape]) -> bool:
        problem = self._problem
        if strategy == "STRICT_PACK":
            total = _total(of_bundle)
            return any(
                problem.possible_on(number, total) and all(problem.fits_labels[number][one.selector] for one in shapes)
                for number in range(len(problem.nodes))
            )
        if strategy == "STRICT_SPREAD" and len(of_bundle) > len(problem.nodes):
            return False
        return all(problem.possible(shape) for shape in shapes)

    def _best(self, pool: _Pool, shape: _Shape, selectors: Iterable[int] = ()) -> _Kind | None:
        """The kind of nodes with the highest score; any of those that are equal."""
        best: list[_Kind] = []
        highest = -1.0
        labels_of = self._problem.labels_of
        wanted = shape.wanted
        for kind in pool:
            if not labels_of[kind.group][shape.selector]:
                continue
            score = 0.0
            free = kind.free
            for at, amount in wanted:
                left = free[at] - amount
                if left < 0:
                    break
                score += left / free[at]
            else:
                if not all(labels_of[kind.group][one] for one in selectors):
                    continue
                if score > highest + 1e-12:
                    best, highest = [kind], score
                elif score > highest - 1e-12:
                    best.append(kind)
        if not best:
            return None
        return best[0] if len(best) == 1 else best[self._decide(len(best))]

    def _pack(self, pool: _Pool, of_bundle: Sequence[_Shape], order: Sequence[int]) -> list[int] | None:
        runs: list[tuple[_Shape, list[int]]] = []
        for bundle in order:
            if runs and runs[-1][0] == of_bundle[bundle]:
                runs[-1][1].append(bundle)
            else:
                runs.append((of_bundle[bundle], [bundle]))
        placed = [0] * len(of_bundle)
        done: list[tuple[_Kind, int]] = []
        while runs:
            kind = self._best(pool, runs[0][0])
            if kind is None:
                return None
            node = _pop(pool, kind)
            free = list(kind.free)
            left: list[tuple[_Shape, list[int]]] = []
            for shape, bundles in runs:
                room = self._room(kind, free, shape)
                here, rest = bundles[:room], bundles[room:]
                for bundle in here:
                    placed[bundle] = node
                for at, amount in shape.wanted:
                    free[at] -= amount * len(here)
                if rest:
                    left.append((shape, rest))
            runs = left
            done.append((_Kind(kind.group, tuple(free), kind.devices), node))
        for kind, node in done:
            pool.setdefault(kind, []).append(node)
        return placed

    def _room(self, kind: _Kind, free: Sequence[int], shape: _Shape) -> int:
        """How many of a shape still go on a node."""
        if not self._problem.labels_of[kind.group][shape.selector]:
            return 0
        return min((free[at] // amount for at, amount in shape.wanted), default=1 << 30)

    def _spread(
        self, pool: _Pool, of_bundle: Sequence[_Shape], order: Sequence[int], *, reuse: bool
    ) -> list[int] | None:
        """Each bundle on a node without one, or with `reuse`, as long as there are such nodes."""
        placed = [0] * len(of_bundle)
        selected: _Pool = {}
        for bundle in order:
            shape = of_bundle[bundle]
            source = pool
            kind = self._best(pool, shape)
            if kind is None and reuse:
                source = selected
                kind = self._best(selected, shape)
            if kind is None:
                return None
            node = _pop(source, kind)
            selected.setdefault(_less(kind, shape), []).append(node)
            placed[bundle] = node
        for kind, numbers in selected.items():
            pool.setdefault(kind, []).extend(numbers)
        return placed

    def _strict_pack(self, pool: _Pool, of_bundle: Sequence[_Shape]) -> list[int] | None:
        total = _total(of_bundle)
        kind = self._best(pool, total, {shape.selector for shape in of_bundle})
        if kind is None:
            return None
        node = _pop(pool, kind)
        pool.setdefault(_less(kind, total), []).append(node)
        return [node] * len(of_bundle)

    # ── what raylets say ──

    def _prepare(self, placed: Sequence[int], of_bundle: Sequence[_Shape]) -> bool:
        """Take devices on every node, bundles in their own order; what any raylet turns down is given back.

        A raylet that turned down its first bundle has nothing to report, and the head keeps counting what it had
        taken there: the next attempt goes elsewhere.
        """
        kind_of = {node: kind for kind, numbers in self._pool.items() for node in numbers}
        bundles_of: dict[int, list[_Shape]] = {}
        for node, shape in zip(placed, of_bundle, strict=True):
            bundles_of.setdefault(node, []).append(shape)
        after: dict[int, tuple[Amounts, ...]] = {}
        stays_taken: set[int] = set()
        for node, shapes in bundles_of.items():
            devices = [list(one) for one in kind_of[node].devices]
            for done, shape in enumerate(shapes):
                if not all(allocate(devices[at], shape.needs[name]) for at, name in enumerate(self._problem.parted)):
                    if not done:
                        stays_taken.add(node)
                    break
            else:
                after[node] = tuple(tuple(sorted(one)) for one in devices)
        accepted = len(after) == len(bundles_of)
        for node, shapes in bundles_of.items():
            kind = kind_of[node]
            if accepted:
                kind = _Kind(kind.group, kind.free, after[node])
            elif node not in stays_taken:
                free = tuple(have + sum(one.needs[at] for one in shapes) for at, have in enumerate(kind.free))
                kind = _Kind(kind.group, free, kind.devices)
            if kind != kind_of[node]:
                numbers = self._pool[kind_of[node]]
                numbers.remove(node)
                if not numbers:
                    del self._pool[kind_of[node]]
                self._pool.setdefault(kind, []).append(node)
        return accepted

    # ── actors ──

    def _actors(self, request: ActorDemand, groups_follow: bool) -> _Outcome:
        """Actors outside of groups go to any node with room; where no group comes after them it does not matter."""
        problem = self._problem
        shape = problem.shape(request.resources, request.labels)
        if request.group is not None:
            return self._in_group(request.group, shape, request.count)
        if not shape.wanted and not request.labels:
            return _Outcome(True)
        if not problem.possible(shape):
            return _Outcome(False, infeasible=True)
        placed: list[int] = []
        for _ in range(request.count):
            kinds = [kind for kind in self._pool if self._holds(kind, shape)]
            if not kinds:
                return _Outcome(False, fragmented=any(self._room(kind, kind.free, shape) for kind in self._pool))
            kind = kinds[self._decide(len(kinds)) if groups_follow and len(kinds) > 1 else 0]
            node = _pop(self._pool, kind)
            devices = [list(one) for one in kind.devices]
            for at, name in enumerate(problem.parted):
                allocate(devices[at], shape.needs[name])
            less = _Kind(kind.group, _less(kind, shape).free, tuple(tuple(sorted(one)) for one in devices))
            self._pool.setdefault(less, []).append(node)
            placed.append(node)
        return _Outcome(True, tuple(placed))

    def _holds(self, kind: _Kind, shape: _Shape) -> bool:
        if not self._room(kind, kind.free, shape):
            return False
        return all(allocate(list(kind.devices[at]), shape.needs[name]) for at, name in enumerate(self._problem.parted))

    def _in_group(self, group: str, shape: _Shape, number: int) -> _Outcome:
        """Whether actors fit into the bundles of their group, each into the one with most room."""
        bundles = self._bundles.get(group)
        if bundles is None:
            return _Outcome(False)
        if not shape.wanted:
            return _Outcome(True)
        leading = shape.wanted[0][0]
        for start in range(0, number, len(bundles)):
            roomiest = sorted(bundles, key=lambda bundle: -bundle[leading])
            for bundle in roomiest[: number - start]:
                if any(bundle[at] < amount for at, amount in shape.wanted):
                    return _Outcome(False)
                for at, amount in shape.wanted:
                    bundle[at] -= amount
        return _Outcome(True)


def _total(of_bundle: Sequence[_Shape]) -> _Shape:
    needs = tuple(sum(column) for column in zip(*(one.needs for one in of_bundle), strict=True))
    return _Shape(needs, of_bundle[0].selector, tuple((at, amount) for at, amount in enumerate(needs) if amount))


def _less(kind: _Kind, shape: _Shape) -> _Kind:
    free = tuple(have - amount for have, amount in zip(kind.free, shape.needs, strict=True))
    return _Kind(kind.group, free, kind.devices)


def _pop(pool: _Pool, kind: _Kind) -> int:
    numbers = pool[kind]
    node = numbers.pop()
    if not numbers:
        del pool[kind]
    return node


def allocate(devices: list[int], amount: int) -> bool:
    """Take an amount of devices as a raylet does: whole ones first, a part from the fullest that has room."""
    if len(devices) > 1:
        for at, free in enumerate(devices):
            if amount < UNITS:
                break
            if free == UNITS:
                devices[at] = 0
                amount -= UNITS
        if amount >= UNITS:
            return False
    if not amount:
        return True
    rooms = [(free, at) for at, free in enumerate(devices) if free >= amount]
    if not rooms:
        return False
    devices[min(rooms)[1]] -= amount
    return True

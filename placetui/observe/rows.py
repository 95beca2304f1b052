"""Who is there: every process on every GPU, and every rank with what it holds, as rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from placetui.observe.model import Claim, DeviceSample, NodeSample, Observation, ProcessKind, ProcessSample, RankState

if TYPE_CHECKING:
    from placetui.placement.placements import Placement
    from placetui.placement.plan import Component, Plan

Owner: TypeAlias = "tuple[str, str, int]"
"""Job (empty: the one that is watched), component and rank."""


class ProcessRow(NamedTuple):
    """A process on a GPU, or an actor that belongs there and holds nothing yet.

    Made of what was observed, so that tens of thousands cost little: the rest is worked out for those that are shown.
    """

    node: NodeSample
    device: DeviceSample
    process: ProcessSample | None
    """None: nothing of the actor runs on the GPU."""

    claim: Claim | None
    """What the actor it belongs to says of the GPU."""

    @property
    def key(self) -> tuple[object, ...]:
        """What stays the same from one observation to the next."""
        one = self.process
        actor = self.claim.actor_id if self.claim else None
        return self.node.rank, self.device.index, actor if one is None else one.pid, one is None

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process else self.claim.pid if self.claim else None

    @property
    def memory(self) -> int | None:
        """Bytes; 0 for an actor that holds nothing, None where that cannot be read."""
        if self.process is not None:
            return self.process.memory
        return None if self.device.is_unread else 0

    @property
    def memory_percent(self) -> float | None:
        """Part of the GPU's memory, 0–100."""
        memory, total = self.memory, self.device.memory_total
        return None if memory is None or not total else 100 * memory / total

    @property
    def kind(self) -> ProcessKind:
        if self.process is not None:
            return self.process.kind
        return self.claim.kind if self.claim is not None else "actor"

    @property
    def component(self) -> str | None:
        return one.component if (one := self.process or self.claim) else None

    @property
    def rank(self) -> int | None:
        return one.rank if (one := self.process or self.claim) else None

    @property
    def job(self) -> str | None:
        return one.job if (one := self.process or self.claim) else None

    @property
    def who(self) -> str:
        """`rollout:3`, the name of an actor, or what runs."""
        if self.component is not None and self.rank is not None:
            return f"{self.component}:{self.rank}"
        one = self.process or self.claim
        if self.kind == "service" and self.component is not None:
            return self.component
        if one is None or (one.actor is None and isinstance(one, ProcessSample)):
            return (one.command if isinstance(one, ProcessSample) else None) or self._nameless
        return one.actor or self._nameless

    @property
    def _nameless(self) -> str:
        return "memory without a process" if self.kind == "gone" else "not visible here"

    @property
    def user(self) -> str | None:
        return self.process.user if self.process else None

    @property
    def stale(self) -> bool:
        return self.node.stale or self.device.stale

    @property
    def note(self) -> str:
        if self.process is None:
            reserved = self.claim.reserved if self.claim else None
            how = "its environment names this GPU" if reserved is None else f"{reserved:.4g} of this GPU is reserved"
            if self.claim is not None and self.claim.state == "dead":
                return "it is dead"
            if reserved is None and self.claim is not None and self.claim.device_from == "ray":
                how = "it is in the placement group of its job"
            return f"memory unknown: {how}" if self.device.is_unread else f"uses no memory yet: {how}"
        if self.process.note:
            return self.process.note
        # What a child of an actor is, its command says.
        return self.process.command or "" if self.process.actor is not None else ""


class Held(NamedTuple):
    """What a rank holds in all."""

    memory: int | None
    """Bytes; None if some of it cannot be measured."""

    places: tuple[tuple[int, int], ...]
    """Node and GPU, where it holds memory or a reservation."""

    reserved: float | None
    """The largest fraction of a GPU that Ray reserved for it."""


class RankRow(NamedTuple):
    """A rank of a job."""

    component: str
    rank: int
    job: str
    state: RankState | None
    """None: nothing is known of it."""

    share: float | None
    """Its share of each of its GPUs: by the plan, else as reserved by Ray."""

    held: Held | None
    planned: Placement | None
    launched: bool = True
    """Whether the job's script starts its component at all."""

    @property
    def key(self) -> tuple[object, ...]:
        return self.job, self.component, self.rank

    @property
    def who(self) -> str:
        return f"{self.component}:{self.rank}"

    @property
    def memory(self) -> int | None:
        return self.held.memory if self.held else 0

    @property
    def status(self) -> str:
        if not self.launched:
            return "not launched"
        return self.state.state if self.state else "not seen" if self.held is None else "seen"

    @property
    def restarts(self) -> int:
        return self.state.restarts if self.state else 0

    @property
    def pid(self) -> int | None:
        return self.state.pid if self.state else None

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """Where it is, else where it should be."""
        if self.held is not None:
            return self.held.places
        if self.planned is None:
            return ()
        node = self.planned.cluster_node_rank
        return tuple((node, index) for index in self.planned.devices)

    @property
    def node(self) -> int | None:
        if self.state is not None and self.state.node is not None:
            return self.state.node
        places = self.places
        return places[0][0] if places else self.planned.cluster_node_rank if self.planned else None

    @property
    def note(self) -> str:
        return (self.state.reason or "") if self.state else ""


Matches: TypeAlias = "Callable[[ProcessRow], bool]"


class TableRows:
    """The rows of one observation after the other: only nodes that changed are gone through again."""

    def __init__(self) -> None:
        self._observation: Observation | None = None
        self._rows: dict[int, tuple[NodeSample, tuple[ProcessRow, ...]]] = {}
        self._matches: Matches | None = None
        self._matching: dict[int, tuple[tuple[ProcessRow, ...], tuple[ProcessRow, ...]]] = {}
        self._held: dict[int, tuple[tuple[ProcessRow, ...], dict[Owner, Held]]] = {}
        self._plan: Plan | None = None
        self._ranks: dict[str, list[RankRow]] = {}
        self._job = ""

    def update(self, observation: Observation) -> None:
        known, self._rows = self._rows, {}
        for node in observation.nodes:
            before = known.get(node.rank)
            self._rows[node.rank] = before if before and before[0] is node else (node, tuple(rows_of(node)))
        if observation.job != self._job:
            self._job = observation.job
            self._held.clear()
            self._ranks.clear()
        self._observation = observation

    def processes(self, matches: Matches | None = None) -> list[ProcessRow]:
        """All rows, or those that match, in order of nodes and GPUs."""
        if matches is None:
            return [row for _, rows in self._rows.values() for row in rows]
        if matches is not self._matches:
            self._matches, self._matching = matches, {}
        found: list[ProcessRow] = []
        for rank, (_, rows) in self._rows.items():
            before = self._matching.get(rank)
            if before is None or before[0] is not rows:
                before = self._matching[rank] = rows, tuple(filter(matches, rows))
            found.extend(before[1])
        return found

    def ranks(self, plan: Plan | None = None) -> list[RankRow]:
        """The ranks of the plan, then others that are seen, by component and rank."""
        held = self._all_held()
        states = self._observation.ranks if self._observation else {}
        left_out = self._observation.not_launched if self._observation else ()
        if plan is not self._plan:
            self._plan, self._ranks = plan, {}
        found: list[RankRow] = []
        planned = plan.components if plan is not None else {}
        for name in {**dict.fromkeys(planned), **dict.fromkeys(states)}:
            seen, known = states.get(name, ()), self._ranks.get(name, [])
            size = max(len(seen), planned[name].world_size if name in planned else 0)
            rows: list[RankRow] = []
            for rank in range(size):
                here = held.pop(("", name, rank), None)
                state = seen[rank] if rank < len(seen) else None
                # Making a row costs more than finding out that it is still the same.
                launched = name not in left_out
                row = known[rank] if rank < len(known) else None
                if row is None or row.state is not state or row.held is not here or row.launched != launched:
                    row = self._rank(planned.get(name), name, rank, state, here)._replace(launched=launched)
                rows.append(row)
            self._ranks[name] = rows
            found += rows
        for (job, name, rank), here in sorted(held.items(), key=lambda entry: entry[0]):
            found.append(RankRow(name, rank, job or self._job, None, here.reserved, here, None))
        return found

    def _rank(
        self, component: Component | None, name: str, rank: int, state: RankState | None, held: Held | None
    ) -> RankRow:
        if component is None or rank >= component.world_size:
            return RankRow(name, rank, self._job, state, held.reserved if held else None, held, None)
        share = component.rank_share(rank)
        if share is None and held is not None:
            share = held.reserved
        return RankRow(name, rank, self._job, state, share, held, component.placements[rank])

    def _all_held(self) -> dict[Owner, Held]:
        everywhere: dict[Owner, Held] = {}
        for node, (_, rows) in self._rows.items():
            known = self._held.get(node)
            if known is None or known[0] is not rows:
                known = self._held[node] = rows, held_by_rank(rows, self._job)
            for owner, held in known[1].items():
                before = everywhere.get(owner)
                everywhere[owner] = held if before is None else _together(before, held)
        return everywhere


def rows_of(node: NodeSample) -> Iterator[ProcessRow]:
    """Everybody on a node's GPUs."""
    for device in node.devices:
        if not device.claims:
            for process in device.processes:
                yield ProcessRow(node, device, process, None)
            continue
        claims = {claim.actor_id: claim for claim in device.claims}
        idle = dict(claims)
        for process in device.processes:
            actor = process.actor_id
            if actor is not None:
                idle.pop(actor, None)
            yield ProcessRow(node, device, process, claims.get(actor) if actor is not None else None)
        for claim in idle.values():
            yield ProcessRow(node, device, None, claim)


def held_by_rank(rows: tuple[ProcessRow, ...], job: str = "") -> dict[Owner, Held]:
    """What each rank holds there; ranks of the job that is watched come under the empty name."""
    found: dict[Owner, Held] = {}
    for row in rows:
        one = row.process or row.claim
        if one is None or one.component is None or one.rank is None:
            continue
        own = not job or one.job is None or one.job == job
        owner = ("" if own else one.job or "", one.component, one.rank)
        reserved = row.claim.reserved if row.claim else None
        held = Held(row.memory, ((row.node.rank, row.device.index),), reserved)
        before = found.get(owner)
        found[owner] = held if before is None else _together(before, held)
    return found


def _together(one: Held, other: Held) -> Held:
    parts = [part for part in (one.reserved, other.reserved) if part is not None]
    return Held(
        None if one.memory is None or other.memory is None else one.memory + other.memory,
        one.places if other.places[0] in one.places else one.places + other.places,
        max(parts, default=None),
    )

"""What can be asked of the rows of each table, and by what they are sorted."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from placetui.observe.alerts import Alert
from placetui.observe.drift import Drift
from placetui.observe.events import Event
from placetui.observe.model import GroupState
from placetui.observe.rows import ProcessRow, RankRow
from placetui.placement.wording import GIB

Notice: TypeAlias = "Drift | Alert"
"""Something that wants to be seen."""

Row: TypeAlias = "ProcessRow | RankRow | Notice | GroupState | Event"
"""A row of any table."""

TableName: TypeAlias = Literal["processes", "ranks", "drift", "groups", "events"]
Order: TypeAlias = Callable[[Any], Any]

_FIGURES = re.compile(r"[0-9.]+(?: GiB|%| s\b)")

STATES = ("dead", "restarting", "not seen", "pending", "starting", "seen", "alive", "not launched")
"""Of ranks, the most urgent first."""


R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Field(Generic[R]):
    """Something of a row that a filter can ask for."""

    name: str
    text: Callable[[R], str | None] | None = None
    how: Literal["part", "start", "whole"] = "part"
    """How much of the text a value has to be."""

    number: Callable[[R], float | None] | None = None
    percent: Callable[[R], float | None] | None = None
    """The number as part of a whole, 0–100."""

    scale: float = 1.0
    """What a number in a filter stands for."""

    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sorting:
    """By which column, and which way."""

    column: str
    descending: bool = False


def _text(value: str | None) -> str:
    return (value or "").casefold()


def _number(value: float | None) -> float:
    return -1 if value is None else value


PROCESS_FIELDS: tuple[Field[ProcessRow], ...] = (
    Field("component", lambda row: row.component, "start"),
    Field("rank", number=lambda row: row.rank),
    Field("mem", number=lambda row: row.memory, percent=lambda row: row.memory_percent, scale=GIB, aliases=("memory",)),
    Field("kind", lambda row: row.kind, "whole"),
    Field("node", lambda row: row.node.name, number=lambda row: row.node.rank, aliases=("host",)),
    Field("gpu", number=lambda row: row.device.gpu_id),
    Field("job", lambda row: row.job),
    Field("user", lambda row: row.user),
    Field("pid", number=lambda row: row.pid),
    Field("actor", lambda row: row.who),
    Field("load", number=lambda row: row.device.utilization, percent=lambda row: row.device.utilization),
    Field("share", number=lambda row: row.claim.reserved if row.claim else None),
)

RANK_FIELDS: tuple[Field[RankRow], ...] = (
    Field("component", lambda row: row.component, "start"),
    Field("rank", number=lambda row: row.rank),
    Field("mem", number=lambda row: row.memory, scale=GIB, aliases=("memory",)),
    Field("state", lambda row: row.status, "start"),
    Field("restarts", number=lambda row: row.restarts),
    Field("share", number=lambda row: row.share),
    Field("node", number=lambda row: row.node),
    Field("job", lambda row: row.job),
    Field("pid", number=lambda row: row.pid),
)

NOTICE_FIELDS: tuple[Field[Notice], ...] = (
    Field("kind", lambda row: row.kind),
    Field("component", lambda row: row.component if isinstance(row, Drift) else None, "start"),
    Field("rank", number=lambda row: row.rank if isinstance(row, Drift) else None),
    Field("node", number=lambda row: row.node),
    Field("gpu", number=lambda row: row.device),
)

GROUP_FIELDS: tuple[Field[GroupState], ...] = (
    Field("name", lambda row: row.name or row.id),
    Field("state", lambda row: row.state, "start"),
    Field("namespace", lambda row: row.namespace),
    Field("bundles", number=lambda row: len(row.bundles)),
    Field("gpus", number=lambda row: held_gpus(row)),
)

EVENT_FIELDS: tuple[Field[Event], ...] = (
    Field("kind", lambda row: row.kind, "start"),
    Field("component", lambda row: row.component, "start"),
    Field("rank", number=lambda row: row.rank),
    Field("node", number=lambda row: row.node),
    Field("gpu", number=lambda row: row.device),
)

FIELDS: dict[TableName, tuple[Field[Any], ...]] = {
    "processes": PROCESS_FIELDS,
    "ranks": RANK_FIELDS,
    "drift": NOTICE_FIELDS,
    "groups": GROUP_FIELDS,
    "events": EVENT_FIELDS,
}


def _who(row: ProcessRow | RankRow) -> tuple[str, int]:
    # Ranks as numbers: 2 comes before 10.
    return (_text(row.component), row.rank or 0) if row.component is not None else (_text(row.who), -1)


ORDERS: dict[TableName, dict[str, Order]] = {
    "processes": {
        "node": lambda row: (row.node.rank, row.device.index),
        "gpu": lambda row: row.device.index,
        "pid": lambda row: _number(row.pid),
        "who": _who,
        "kind": lambda row: row.kind,
        "memory": lambda row: _number(row.memory),
        "rule": lambda row: _text(row.component),
        "job": lambda row: _text(row.job),
        "user": lambda row: _text(row.user),
        "note": lambda row: _text(row.note),
    },
    "ranks": {
        "who": _who,
        "state": lambda row: STATES.index(row.status),
        "memory": lambda row: _number(row.memory),
        "share": lambda row: _number(row.share),
        "restarts": lambda row: row.restarts,
        "node": lambda row: (_number(row.node), row.places),
        "pid": lambda row: _number(row.pid),
        "up": lambda row: -_number(row.state.since if row.state else None),
        "job": lambda row: _text(row.job),
        "rule": lambda row: _text(row.component),
        "note": lambda row: _text(row.note),
    },
    "drift": {
        "kind": lambda row: row.kind,
        "who": lambda row: (_text(rank_of(row)[0]), _number(rank_of(row)[1])),
        "node": lambda row: (_number(row.node), _number(row.device)),
        "note": lambda row: _text(row.message),
    },
    "groups": {
        "who": lambda row: _text(row.name or row.id),
        "state": lambda row: row.state,
        "bundles": lambda row: len(row.bundles),
        "gpus": lambda row: held_gpus(row),
        "node": lambda row: _number(first_node(row)),
        "namespace": lambda row: _text(row.namespace),
        "note": lambda row: _text(row.reason),
    },
    "events": {
        "time": lambda row: row.time,
        "who": lambda row: (_text(row.component), _number(row.rank)),
        "kind": lambda row: row.kind,
        "node": lambda row: (_number(row.node), _number(row.device)),
        "note": lambda row: _text(row.message),
    },
}
"""By table and column that it can be sorted by; the first column is the order in which rows come."""

LARGEST_FIRST = frozenset({"memory", "share", "restarts", "bundles", "gpus"})
"""Columns whose large values are of interest."""


def held_gpus(group: GroupState) -> float:
    """GPUs that a placement group reserves."""
    return sum(bundle.gpus for bundle in group.bundles)


def first_node(group: GroupState) -> int | None:
    """Rank of the first node that it is on."""
    return min((bundle.node for bundle in group.bundles if bundle.node is not None), default=None)


def haystack(row: Row) -> str:
    """All text of a row, in lower case."""
    if isinstance(row, ProcessRow):
        command = row.process.command if row.process else None
        parts: tuple[str | None, ...] = (row.node.name, row.who, command, row.job, row.user, row.kind, row.note)
    elif isinstance(row, RankRow):
        parts = (row.who, row.job, row.status, row.note)
    elif isinstance(row, GroupState):
        parts = (row.name, row.id, row.state, row.namespace, row.reason)
    else:
        parts = (row.kind, row.message)
    return " ".join(part for part in parts if part).casefold()


def key_of(row: Row) -> object:
    """What stays the same of a row from one observation to the next."""
    if isinstance(row, ProcessRow | RankRow):
        return row.key
    if isinstance(row, GroupState):
        return row.id
    if isinstance(row, Event):
        return row
    if isinstance(row, Drift):
        # Processes on one GPU differ by identity, not by how much memory they use.
        return row.kind, row.component, row.rank, row.node, row.device, _FIGURES.sub("", row.message)
    return row.kind, row.node, row.device


def rank_of(row: Row) -> tuple[str | None, int | None]:
    """Component and rank that a row is about."""
    return (None, None) if isinstance(row, GroupState | Alert) else (row.component, row.rank)


def places_of(row: Row) -> Sequence[tuple[int, int | None]]:
    """Nodes and GPUs that a row is about; without a GPU, the node as a whole."""
    if isinstance(row, ProcessRow):
        return [(row.node.rank, row.device.index)]
    if isinstance(row, RankRow):
        return row.places or ([] if row.node is None else [(row.node, None)])
    if isinstance(row, GroupState):
        return sorted({(bundle.node, None) for bundle in row.bundles if bundle.node is not None})
    return [] if row.node is None else [(row.node, row.device)]


def place_of(row: Row) -> tuple[int, int | None] | None:
    """The first of these places."""
    return next(iter(places_of(row)), None)

"""Observations as JSON: rows of values in the order of the fields, trailing defaults left out.

Short enough for a pipe and a recording at thousands of nodes. Reading checks every value's type, since a recording
may be damaged: the only error it raises is `CodecError`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import partial
from operator import attrgetter
from sys import intern
from types import UnionType
from typing import Any, Generic, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from placetui.observe.delta import NOTHING, TABLES, CodecError, Delta, apply, changes
from placetui.observe.model import (
    BundleState,
    Claim,
    DeviceSample,
    GroupState,
    JobSummary,
    NodeSample,
    Observation,
    ProcessSample,
    RankState,
    Source,
)

SCHEMA = 1
"""Raised when a reader of the schema before could misread what is written."""

T = TypeVar("T")
Row: TypeAlias = "list[Any]"


class _Record(Generic[T]):
    """Rows for one dataclass, from its own annotations: plain values, and tuples of `nested` ones.

    Texts in `shared` fields are few and repeat: each is kept in memory once.
    """

    def __init__(
        self, cls: type[T], nested: Mapping[str, _Record[Any]] | None = None, shared: Collection[str] = ()
    ) -> None:
        members = fields(cls)  # type: ignore[arg-type]
        hints = get_type_hints(cls)
        self._cls = cls
        self._values: Callable[[T], tuple[Any, ...]] = attrgetter(*(member.name for member in members))
        self._defaults = tuple(member.default for member in members)
        self._required = sum(member.default is MISSING for member in members)
        self._checks = tuple(_accepted(hints[member.name]) for member in members)
        self._seen: set[tuple[type, ...]] = set()
        """Types of rows that passed the check: there are few, and to look one up is quick."""

        self._shared = tuple(place for place, member in enumerate(members) if member.name in shared)
        self._choices = tuple(
            (place, {choice: choice for choice in get_args(hints[member.name])})
            for place, member in enumerate(members)
            if get_origin(hints[member.name]) is Literal
        )
        self._nested = tuple(
            (place, nested[member.name]) for place, member in enumerate(members) if nested and member.name in nested
        )

    def write(self, value: T) -> Row:
        row = list(self._values(value))
        for place, record in self._nested:
            row[place] = [record.write(part) for part in row[place]]
        while len(row) > self._required and (row[-1] == self._defaults[len(row) - 1] or row[-1] == []):
            row.pop()
        return row

    def read(self, row: Any) -> T:
        if type(row) is not list:
            raise CodecError(f"{self._cls.__name__}: {_excerpt(row)} is not a row of it")
        types = tuple(map(type, row))
        if types not in self._seen:
            self._check(row)
            self._seen.add(types)
        values = row.copy()
        for place, choices in self._choices:
            if place < len(values):
                values[place] = choices.get(values[place])
                if values[place] is None:
                    raise CodecError(f"{self._cls.__name__}: {_excerpt(row[place])} is not one of {list(choices)}")
        for place in self._shared:
            if place < len(values) and values[place] is not None:
                values[place] = intern(values[place])
        for place, record in self._nested:
            if place < len(values):
                values[place] = tuple([record.read(part) for part in values[place]])
        return self._cls(*values)

    def _check(self, row: Row) -> None:
        if not self._required <= len(row) <= len(self._checks):
            raise CodecError(f"{self._cls.__name__}: {_excerpt(row)} has too few or too many values")
        for value, accepted in zip(row, self._checks, strict=False):
            if type(value) not in accepted:
                raise CodecError(f"{self._cls.__name__}: {_excerpt(value)} is out of place in {_excerpt(row)}")


def _accepted(hint: Any) -> frozenset[type]:
    """Types that a JSON value may have where the annotation is `hint`; exact ones, since True is not a number."""
    if isinstance(hint, UnionType) or get_origin(hint) is Union:
        return frozenset().union(*(_accepted(part) for part in get_args(hint)))
    if get_origin(hint) is Literal:
        return frozenset({str})
    if get_origin(hint) is tuple:
        return frozenset({list})
    return frozenset({float, int}) if hint is float else frozenset({hint})


_PROCESS = _Record(ProcessSample, shared=("component", "job", "group", "framework"))
_CLAIM = _Record(Claim, shared=("component", "job", "group", "class_name", "namespace", "placement_group", "framework"))
_DEVICE = _Record(DeviceSample, {"processes": _PROCESS, "claims": _CLAIM}, shared=("name",))
_NODE = _Record(NodeSample, {"devices": _DEVICE})
_RANK = _Record(RankState, shared=("component",))
_TABLES: dict[str, _Record[Any]] = {
    "groups": _Record(GroupState, {"bundles": _Record(BundleState)}),
    "jobs": _Record(JobSummary),
}
_TEXTS = ("job", "owner", "note")


def encode_delta(delta: Delta) -> dict[str, Any]:
    """A delta as values that `json` can write."""
    later = delta.later
    return {
        "schema": SCHEMA,
        "time": later.time,
        "source": later.source,
        "nodes": [_NODE.write(node) for node in later.nodes],
        "gone": list(delta.gone),
        "world_sizes": dict(delta.world_sizes),
        "ranks": [_RANK.write(state) for state in delta.ranks],
        **{name: text for name in _TEXTS if (text := getattr(later, name))},
        **({"not_launched": list(later.not_launched)} if later.not_launched else {}),
        **{name: [_TABLES[name].write(row) for row in getattr(later, name)] for name in sorted(TABLES - delta.same)},
    }


def decode_delta(value: Any) -> Delta:
    """What `encode_delta` wrote; a CodecError if it is something else, or of a later schema."""
    read = partial(_member, value)
    schema = read("schema", int)
    if schema != SCHEMA:
        raise CodecError(f"written with schema {schema}, this version reads {SCHEMA}")
    source = read("source", str)
    if source not in get_args(Source):
        raise CodecError(f"source {_excerpt(source)} is not known")
    sizes = read("world_sizes", dict)
    if not all(type(size) is int and size >= 0 for size in sizes.values()):
        raise CodecError("world_sizes: a size is not a number")
    gone = read("gone", list)
    if not all(type(rank) is int for rank in gone):
        raise CodecError("gone: a rank is not a number")
    optional: dict[str, Any] = {name: read(name, str) for name in _TEXTS if name in value}
    if "not_launched" in value:
        optional["not_launched"] = tuple(map(str, read("not_launched", list)))
    for name in TABLES & value.keys():
        optional[name] = tuple(map(_TABLES[name].read, read(name, list)))
    return Delta(
        Observation(read("time", float, int), source, tuple(map(_NODE.read, read("nodes", list))), **optional),
        tuple(gone),
        sizes,
        tuple(map(_RANK.read, read("ranks", list))),
        TABLES - value.keys(),
    )


def encode(observation: Observation) -> dict[str, Any]:
    """A whole observation as values that `json` can write."""
    return encode_delta(changes(NOTHING, observation))


def decode(value: Any) -> Observation:
    """What `encode` wrote; a CodecError if it is something else, or of a later schema."""
    return apply(NOTHING, decode_delta(value))


def _member(value: Any, name: str, *types: type) -> Any:
    if type(value) is not dict:
        raise CodecError(f"{_excerpt(value)} is not an observation")
    if type(value.get(name)) not in types:
        raise CodecError(f"{name}: {_excerpt(value.get(name))} is not what belongs there")
    return value[name]


def _excerpt(value: Any) -> str:
    text = repr(value if not isinstance(value, Sequence) else value[:8])
    return text if len(text) <= 60 else f"{text[:59]}…"

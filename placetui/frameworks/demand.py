"""What a framework asks of Ray when its job starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Strategy: TypeAlias = Literal["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"]
"""How Ray spreads the bundles of a placement group over nodes."""


@dataclass(frozen=True, slots=True)
class BundleDemand:
    """Equal bundles of a placement group."""

    resources: Mapping[str, float]
    """Of each: `{"GPU": 1, "CPU": 1}`."""

    count: int = 1
    labels: Mapping[str, str] = field(default_factory=dict)
    """Ray's label selector of each: `{"ray.io/node-id": "…"}`, `{"zone": "!in(a,b)"}`."""


@dataclass(frozen=True, slots=True)
class GroupDemand:
    """A placement group."""

    name: str
    """For people; Ray may know the group by another name, or by none."""

    strategy: Strategy
    bundles: tuple[BundleDemand, ...]

    @property
    def size(self) -> int:
        return sum(one.count for one in self.bundles)


@dataclass(frozen=True, slots=True)
class ActorDemand:
    """Equal actors: the ranks of a component, or what the framework adds."""

    name: str
    resources: Mapping[str, float]
    """Of each; empty where the framework reserves nothing."""

    count: int
    group: str | None = None
    """Name of the placement group they run in, one to a bundle as far as they last; None outside of any."""

    labels: Mapping[str, str] = field(default_factory=dict)
    """Ray's label selector of each."""

    before_groups: bool = False
    """Whether they are started first, and hold what they take when the groups are requested."""


@dataclass(frozen=True, slots=True)
class PortDemand:
    """A port that a file fixes: it must be free when the job starts, or something must already listen there."""

    port: int
    setting: str
    """What the file calls it."""

    host: str = ""
    """Empty: a node of the cluster that the framework chooses."""

    serves: bool = False
    """Whether something must listen there."""


@dataclass(frozen=True, slots=True)
class RayDemand:
    """What the framework itself will ask of Ray when the job starts."""

    groups: tuple[GroupDemand, ...] = ()
    """In the order of the requests."""

    actors: tuple[ActorDemand, ...] = ()

    @property
    def requests(self) -> tuple[GroupDemand | ActorDemand, ...]:
        """Groups and actors in the order in which Ray gets them."""
        first = [one for one in self.actors if one.before_groups]
        return (*first, *self.groups, *(one for one in self.actors if not one.before_groups))

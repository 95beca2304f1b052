"""Ports: how observations get from any source to a viewer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from placetui.observe.model import Observation, Source
from placetui.observe.operations import AUTO

Link: TypeAlias = Literal["starting", "connected", "lost", "failed", "closed"]
"""How the link to a source is.

`starting`: on its way, nothing to show yet; `connected`: observations will come, also again after a loss;
`lost`: it broke, the last picture stands, and it is being restored; `failed`: it will not come back by itself;
`closed`: ended by its owner.
"""


@dataclass(frozen=True, slots=True)
class Status:
    """The state of the link to a source, or a problem while the link holds."""

    link: Link
    message: str = ""
    """One sentence for a person; empty when there is nothing to say."""

    retry_in: float | None = None
    restarts: int = 0
    absent: bool = False
    """Whether there simply is nothing to look at, as on a machine without a cluster: no reason to alarm anybody.
    The source keeps looking for one."""


CONNECTED = Status("connected")


class NoObservation(Exception):
    """There is nothing to show for now: what was seen last stands."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


class Subscriber(Protocol):
    """A viewer. Called from a thread of the source: take the value, return at once, raise nothing."""

    def updated(self, observation: Observation) -> None:
        """There is a new observation; `delta.changed_nodes(shown, latest)` tells where it differs from one before."""

    def status_changed(self, status: Status) -> None:
        """The link changed, or something went wrong."""


class ClusterSource(Protocol):
    """A stream of observations for one viewer. No call here waits for the cluster."""

    @property
    def name(self) -> Source:
        """What its observations say they are: known before the first one comes."""

    @property
    def interval(self) -> float:
        """Seconds between observations."""

    @property
    def paused(self) -> bool:
        """Whether the stream rests."""

    def start(self, subscriber: Subscriber) -> None:
        """Begin. Called once."""

    def set_interval(self, seconds: float) -> None:
        """Observe faster or slower; takes effect at once."""

    def set_paused(self, paused: bool) -> None:
        """Pause sampling, or continue."""

    def close(self) -> None:
        """End the stream. Nothing is delivered once this has returned."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """Which Ray cluster is watched, and how."""

    address: str = AUTO
    job: str = ""
    """The job to follow; empty: the running one that fits the plan best."""

    mode: str = ""
    """Of the plan, like the number of nodes."""

    nodes: int = 0
    sample: bool = True
    settle: float = 0.0
    """Seconds for which the first observation may be held back until every node has answered."""

    plan: Mapping[str, Any] = field(default_factory=dict)
    """As `PlanOutline.to_dict` gives it."""

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> WatchOptions:
        """Check the options of a request; a ValueError if they are wrong."""
        kinds = {name: {type(value)} for name, value in asdict(cls()).items()}
        kinds["settle"].add(int)
        for name, value in options.items():
            if type(value) not in kinds.get(name, ()):
                raise ValueError(f"a Ray cluster cannot be observed with {name} = {value!r}")
        return cls(**options)


class Observer(Protocol):
    """Reads a cluster on request: the producer of a stream.

    An observer may have a `status` of its link to the cluster, which is read after each observation.
    """

    def observe(self, deadline: float) -> Observation:
        """What could be read before `deadline` (`time.monotonic()`); what could not is absent, with a reason.

        Raises:
            NoObservation: nothing could, and the reason.
        """

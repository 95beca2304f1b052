"""`BridgeSource`: the observations of a child process, as one who looks wants them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, get_args

from placetui.bridge.client import Bridge, BridgeLost
from placetui.bridge.messages import Message, ProtocolError
from placetui.bridge.stream import Gap, StreamReceiver
from placetui.observe.delta import CodecError
from placetui.observe.model import Source
from placetui.observe.ports import Link, Status, Subscriber, WatchOptions
from placetui.observe.simulation import SimulationOptions, layout_of

if TYPE_CHECKING:
    from placetui.placement.plan import Plan

START_TIMEOUT = 60.0

SETTLE_AGAIN = 5.0
"""Seconds that the nodes of a cluster have to answer a new child before it shows something."""


class BridgeSource:
    """A `ClusterSource` over a bridge, which stays its owner's: closing the source only ends the stream."""

    def __init__(
        self,
        bridge: Bridge,
        name: Source,
        service: str,
        options: Mapping[str, Any],
        interval: float = 1.0,
        options_again: Mapping[str, Any] | None = None,
    ) -> None:
        self.name: Source = name
        self._bridge = bridge
        self._service = service
        self._options = options
        self._options_again = options_again or {}
        """Other options for a child that takes the place of one that was lost."""

        self.interval = interval
        self.paused = False
        self._subscriber: Subscriber | None = None
        # Reentrant, so that a subscriber may close the source from within a call.
        self._lock = threading.RLock()
        self._receiver = StreamReceiver()
        self._refreshing = False
        self._status = Status("starting")
        self._said: Status | None = None
        """What the child said last of its own link."""

    def start(self, subscriber: Subscriber) -> None:
        self._subscriber = subscriber
        self._bridge.subscribe(self)
        try:
            self._bridge.start()
        except OSError as problem:
            self._tell_status(Status("failed", f"no child process without a log: {problem}"))

    def set_interval(self, seconds: float) -> None:
        self.interval = seconds
        self._change_rate()

    def set_paused(self, paused: bool) -> None:
        self.paused = paused
        self._change_rate()

    def close(self) -> None:
        with self._lock:
            self._subscriber = None
        self._bridge.unsubscribe(self)
        if self._status.link == "connected":
            self._bridge.request("stop")

    # The bridge's thread comes in here

    def received(self, message: Message) -> None:
        if message.kind == "observation":
            self._observed(message)
        elif message.kind == "error":
            self._report(str(message.body.get("message", "")))
        elif message.kind == "status":
            self._observer_said(message.body)

    def status_changed(self, status: Status) -> None:
        """The link to the child changed: each new child has to be told what to do."""
        new = status.link == "connected" and self._status.link != "connected"
        self._status, self._said = status, None
        if new:
            self._refreshing = False
            options = {**self._options, **(self._options_again if status.restarts else {})}
            self._ask("start", timeout=START_TIMEOUT, service=self._service, options=options, seconds=self._seconds)
        self._tell_status(status)

    @property
    def _seconds(self) -> float | None:
        return None if self.paused else float(self.interval)

    def _change_rate(self) -> None:
        # A child that is not there yet gets it when it starts.
        if self._status.link == "connected":
            self._ask("interval", seconds=self._seconds)

    def _observed(self, message: Message) -> None:
        try:
            observation = self._receiver.take(
                message.read("stream", int),
                message.read("sequence", int),
                message.read("last", bool),
                message.read("delta", dict),
            )
        except (Gap, CodecError, ProtocolError) as problem:
            # Ask for all of it, once; until that comes, what arrives does not fit either.
            if not self._refreshing:
                self._refreshing = True
                self._report(f"an observation was skipped: {problem}")
                self._ask("refresh")
            return
        self._refreshing = False
        if observation is None:
            return
        with self._lock:
            if self._subscriber:
                self._subscriber.updated(observation)

    def _ask(self, request: str, timeout: float = 10.0, **body: Any) -> None:
        self._bridge.request(request, timeout=timeout, **body).add_done_callback(self._answered)

    def _answered(self, future: Future[Message]) -> None:
        problem = future.exception()
        # Of a child that is lost the bridge tells.
        if problem and not isinstance(problem, BridgeLost):
            self._report(str(problem))

    def _observer_said(self, body: Mapping[str, Any]) -> None:
        """How the child's own link to the cluster is; the child itself is there all the time."""
        link: Link = body["link"] if body.get("link") in get_args(Link) else self._status.link
        self._said = Status(
            link, str(body.get("message", "")), restarts=self._status.restarts, absent=bool(body.get("absent"))
        )
        self._tell_status(self._said)

    def _report(self, message: str) -> None:
        """A note; the state of the link does not change."""
        self._tell_status(replace(self._said or self._status, message=message))

    def _tell_status(self, status: Status) -> None:
        with self._lock:
            if self._subscriber:
                self._subscriber.status_changed(status)


def simulated_source(
    bridge: Bridge, plan: Plan, options: SimulationOptions | None = None, interval: float = 0.5
) -> BridgeSource:
    """A simulated cluster with the nodes and ranks of a plan, for `--demo`."""
    options = options or SimulationOptions(story=True)
    simulation = {"layout": layout_of(plan).to_dict(), "options": options.to_dict()}
    return BridgeSource(bridge, "simulated", "simulation", simulation, interval)


def nvml_source(bridge: Bridge, interval: float = 1.0) -> BridgeSource:
    """The GPUs of this node, as node 0, over a bridge to `NVML_CHILD`."""
    return BridgeSource(bridge, "nvml", "nvml", {}, interval)


def ray_source(bridge: Bridge, options: WatchOptions, interval: float = 1.0) -> BridgeSource:
    """A Ray cluster, over a bridge to the process with Ray in it; best one of its own, since Ray may take the process
    with it when the head dies.
    """
    # A new child knows no memory at first: what the one before has shown stands until it does.
    again = {"settle": max(options.settle, SETTLE_AGAIN) if options.sample else options.settle}
    return BridgeSource(bridge, "ray", "ray", asdict(options), interval, again)

"""A source of observations that a test speaks for."""

from __future__ import annotations

from placetui.observe.model import Observation, Source
from placetui.observe.ports import Status, Subscriber


class SpokenFor:
    """Silent until a test delivers something."""

    name: Source = "simulated"

    def __init__(self) -> None:
        self.interval = 1.0
        self.paused = False
        self.closed = False
        self.subscriber: Subscriber | None = None

    def start(self, subscriber: Subscriber) -> None:
        self.subscriber = subscriber

    def set_interval(self, seconds: float) -> None:
        self.interval = seconds

    def set_paused(self, paused: bool) -> None:
        self.paused = paused

    def close(self) -> None:
        self.closed = True

    def deliver(self, observation: Observation) -> None:
        """Show something."""
        assert self.subscriber is not None
        self.subscriber.updated(observation)

    def say(self, status: Status) -> None:
        """Change the link."""
        assert self.subscriber is not None
        self.subscriber.status_changed(status)

"""The latest observation of a source, for a command that waits for it."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType

from placetui.observe.model import Observation, Source
from placetui.observe.ports import ClusterSource, Status
from placetui.observe.recording.writer import Recorder, RecordingSubscriber

LATE = 2.5
"""Seconds (or intervals, if those are longer) without an update after which the last one is stale."""


class Feed:
    """A subscriber that a command can wait for."""

    def __init__(self, source: ClusterSource, recorder: Recorder | None = None) -> None:
        self.status = Status("starting")
        self.recording = RecordingSubscriber(self, recorder) if recorder is not None else None
        self._source = source
        self._latest: Observation | None = None
        self._came = 0.0
        self._broken = False
        """Whether the link was lost since."""

        self._reason = ""
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    def __enter__(self) -> Feed:
        self._source.start(self.recording or self)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._source.close()
        if self.recording is not None:
            self.recording.close()
        os.close(self._reader)
        os.close(self._writer)

    @property
    def source_name(self) -> Source:
        return self._source.name

    @property
    def is_empty(self) -> bool:
        """Whether there was an observation, and nothing in it."""
        return self._latest is not None and not self._latest.nodes

    # From a thread of the source

    def updated(self, observation: Observation) -> None:
        self._latest, self._came, self._broken = observation, time.monotonic(), False
        self.wake()

    def status_changed(self, status: Status) -> None:
        self.status = status
        if status.link == "lost":
            self._broken, self._reason = True, status.message
        self.wake()

    def wake(self) -> None:
        try:
            os.write(self._writer, b"!")
        except BlockingIOError:
            # It has been woken already.
            return

    # From the command

    def wait(self, seconds: float, others: Sequence[int] = ()) -> list[int]:
        """Wait for an update, or for something to read from `others`; returns those that can be read."""
        ready, _, _ = select.select([self._reader, *others], [], [], max(0.0, seconds))
        if self._reader in ready:
            os.read(self._reader, 4096)
        return [descriptor for descriptor in ready if descriptor != self._reader]

    def latest(self) -> Observation | None:
        """The last observation, marked as stale if the source is silent. None before the first nodes."""
        latest, age = self._latest, time.monotonic() - self._came
        if latest is None or not latest.nodes:
            return None
        if age < LATE * max(1.0, self._source.interval) and not self._broken:
            return latest
        reason = self._reason if self._broken else "the process that reads the GPUs does not answer"
        nodes = tuple(replace(node, age=round(node.age + age, 1), stale=True, error=reason) for node in latest.nodes)
        return replace(latest, time=time.time(), nodes=nodes)

"""Observations as they are sent: when the next one is due, and how it differs from the last."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from placetui.observe.codec import decode_delta, encode_delta
from placetui.observe.delta import NOTHING, apply, changes, parts
from placetui.observe.model import Observation
from placetui.observe.ports import CONNECTED, Observer, Status

NODES_PER_MESSAGE = 256
"""A message of this many nodes takes a reader some tens of milliseconds."""


class StreamSender:
    """The sending side."""

    def __init__(
        self, number: int, observer: Observer, interval: float | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._number = number
        self._observer = observer
        self._interval = interval
        self._clock = clock
        self._due = clock()
        self._last = NOTHING
        self._sequence = 0
        self._sent = 0

    @property
    def fresh(self) -> bool:
        """Whether only one observation was sent so far."""
        return self._sent == 1

    @property
    def status(self) -> Status:
        status = getattr(self._observer, "status", CONNECTED)
        return status if isinstance(status, Status) else CONNECTED

    def close(self) -> None:
        """Let the observer end what it has begun, if it has a way to."""
        close = getattr(self._observer, "close", None)
        if close is not None:
            close()

    def wait(self) -> float | None:
        """Seconds until the next observation is due; None while the stream rests."""
        return None if self._interval is None else max(0.0, self._due - self._clock())

    def set_interval(self, interval: float | None) -> None:
        """Seconds between observations from now on; None to rest."""
        self._interval = interval
        if interval is not None:
            self._due = min(self._due, self._clock() + interval)

    def restart(self) -> None:
        """Send everything again, now."""
        self._last = NOTHING
        self._sequence = 0
        self._due = self._clock()

    def observe(self) -> list[dict[str, Any]]:
        """Observe, and give the messages that say what changed."""
        interval = self._interval or 0.0
        # The next one after this one, in step; those that were missed are left out.
        self._due = max(self._due + interval, self._clock())
        observation = self._observer.observe(self._clock() + max(interval, 0.5))
        pieces = list(parts(changes(self._last, observation), NODES_PER_MESSAGE))
        messages = [
            {
                "stream": self._number,
                "sequence": self._sequence + place,
                "last": place == len(pieces) - 1,
                "delta": encode_delta(piece),
            }
            for place, piece in enumerate(pieces)
        ]
        self._sequence += len(messages)
        self._last = observation
        self._sent += 1
        return messages


class StreamReceiver:
    """The receiving side: whole observations again."""

    def __init__(self) -> None:
        self._stream = -1
        self._next = 0
        self._partial = NOTHING

    def take(self, stream: int, sequence: int, last: bool, delta: Any) -> Observation | None:
        """A whole observation if this message completes one.

        Raises:
            Gap: something before it is missing; all comes right after a `refresh`.
            CodecError: it is no delta.
        """
        if sequence == 0:
            self._stream, self._next, self._partial = stream, 0, NOTHING
        if stream != self._stream or sequence != self._next:
            raise Gap(f"message {sequence} of stream {stream} came where {self._next} was due")
        # Only a message that was taken is followed by the next: after one that fails, all else is a gap.
        self._partial = apply(self._partial, decode_delta(delta))
        self._next = sequence + 1
        return self._partial if last else None


class Gap(ValueError):
    """Observations that do not follow on those before."""

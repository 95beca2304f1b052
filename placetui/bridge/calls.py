"""Requests that wait for their answer."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from placetui.bridge.messages import Message


class BridgeError(Exception):
    """A request came to nothing."""


class BridgeLost(BridgeError):
    """The child ended before it answered, or the bridge was closed."""


class RequestRefused(BridgeError):
    """The child says no; the text says why."""


@dataclass(slots=True)
class Call:
    """One request."""

    line: bytes
    deadline: float
    """`time.monotonic()`."""

    future: Future[Message] = field(default_factory=Future)
    sent: bool = False
    progress: Callable[[Message], None] | None = None
    """Told how far long work is."""


@dataclass(frozen=True, slots=True)
class LongCall:
    """Long work of the child, as the one who asked for it sees it."""

    future: Future[Message]
    """As of a request. Cancelling it means: never mind the outcome."""

    interrupt: Callable[[], None]
    """Stop it; the future tells when that is done."""

    answer: Callable[[Any], None]
    """Answer the question that it asked last."""


class Calls:
    """All of them, by number. Used by one thread."""

    def __init__(self) -> None:
        self._calls: dict[int, Call] = {}

    def add(self, number: int, call: Call) -> None:
        self._calls[number] = call

    def unsent(self) -> bytes:
        """The lines to be sent now."""
        waiting = [call for call in self._calls.values() if not call.sent]
        for call in waiting:
            call.sent = True
        return b"".join(call.line for call in waiting)

    def next_deadline(self) -> float | None:
        return min((call.deadline for call in self._calls.values()), default=None)

    def answer(self, reply: Message) -> None:
        """Hand a reply to the one who waits for it; if nobody does, it is dropped."""
        number, error = reply.body.get("id"), reply.body.get("error")
        if isinstance(number, int) and number in self._calls:
            self._settle(number, reply if error is None else RequestRefused(str(error)))

    def progress(self, message: Message) -> None:
        """Hand on how far a request is."""
        number = message.body.get("request")
        call = self._calls.get(number) if isinstance(number, int) else None
        if call and call.progress:
            call.progress(message)

    def forget(self, number: int) -> bool:
        """Drop a request; whether the child had been sent it."""
        call = self._calls.pop(number, None)
        return call is not None and call.sent

    def expire(self, now: float) -> None:
        """Fail what is overdue."""
        for number in [number for number, call in self._calls.items() if call.deadline <= now]:
            self._settle(number, TimeoutError("no answer in time"))

    def lose(self, reason: str, *, unsent_too: bool) -> None:
        """Fail what the child can no longer answer."""
        for number in [number for number, call in self._calls.items() if call.sent or unsent_too]:
            self._settle(number, BridgeLost(reason))

    def _settle(self, number: int, outcome: Message | Exception) -> None:
        future = self._calls.pop(number).future
        if not future.set_running_or_notify_cancel():
            return
        if isinstance(outcome, Message):
            future.set_result(outcome)
        else:
            future.set_exception(outcome)

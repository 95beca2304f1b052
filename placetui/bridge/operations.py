"""`BridgeOperations`: operations on a cluster, done by the child process behind a bridge."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from typing import Any

from placetui.bridge.client import Bridge, BridgeLost
from placetui.bridge.messages import Message
from placetui.observe.operations import Failure, Nothing, Operation, Reporter

_DETAILS_APART = ("step", "request", "message", "hint", "interrupted")


class BridgeOperations:
    """`Operations` over a bridge, which stays its owner's."""

    refusal = ""

    def __init__(self, bridge: Bridge, after_loss: str = "") -> None:
        """Use a bridge; `after_loss` is the hint when its child ends in the middle of something."""
        self._bridge = bridge
        self._after_loss = after_loss

    def begin(self, kind: str, reporter: Reporter, *, timeout: float = 60.0, **body: Any) -> Operation:
        """Ask the child; it is started if it does not run yet."""
        try:
            self._bridge.start()
        except OSError as problem:
            reporter.finished(Failure(f"there can be no log: {problem}"))
            return Nothing()
        listener = _Listener(reporter, timeout, self._after_loss)
        call = self._bridge.begin(kind, progress=listener.progress, timeout=timeout, **body)
        call.future.add_done_callback(listener.done)
        return call


@dataclass(slots=True)
class _Listener:
    """Turns the child's messages about one request into what its reporter wants to hear."""

    reporter: Reporter
    timeout: float
    after_loss: str
    failure: Mapping[str, Any] = field(default_factory=dict)

    def progress(self, message: Message) -> None:
        if message.body.get("step") == "failed":
            self.failure = message.body
        self.reporter.told({name: value for name, value in message.body.items() if name != "request"})

    def done(self, future: Future[Message]) -> None:
        try:
            body = future.result().body
        except (Exception, CancelledError) as problem:
            self.reporter.finished(self._failed(problem))
        else:
            self.reporter.finished({name: value for name, value in body.items() if name not in ("id", "error")})

    def _failed(self, problem: BaseException) -> Failure:
        told, lost = self.failure, isinstance(problem, BridgeLost)
        message = str(told.get("message") or problem)
        if lost:
            message = f"the process that talks to Ray ended: {problem}"
        elif isinstance(problem, TimeoutError):
            message = f"the process that talks to Ray did not answer within {self.timeout:g} s"
        return Failure(
            message,
            hint=self.after_loss if lost else str(told.get("hint") or ""),
            interrupted=bool(told.get("interrupted")) or message == "interrupted",
            details={
                **{name: value for name, value in told.items() if name not in _DETAILS_APART},
                **({"lost": True} if lost else {}),
            },
        )

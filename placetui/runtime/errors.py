"""What can go wrong with a cluster, each as one sentence for a person."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LAST_LINES = 12
"""Of a traceback that is shown."""


class ClusterError(ValueError):
    """The cluster, or something on it, is not as it should be."""

    def __init__(self, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint and sys.version_info >= (3, 11):
            # Shown below the traceback of a program that does not catch it.
            self.add_note(f"hint: {hint}")
        self.details: Mapping[str, Any] = details
        """The same, machine-readable, such as component and rank."""

    def to_dict(self) -> dict[str, Any]:
        return {"message": self.message, "hint": self.hint, **self.details}


class NotReady(ClusterError):
    """Ray is not there, or not as it should be."""


class NoCluster(ClusterError):
    """There is no cluster where one was looked for."""


class NothingFound(NoCluster):
    """Nobody named a cluster, and there is none on this machine."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint, absent=True)


class ClusterLost(ClusterError):
    """A call to the head failed."""


class Unreachable(ClusterLost):
    """The head does not answer now; it may again in a moment."""


class Silent(Unreachable):
    """It takes connections, and that is all."""


class NotAllowed(ClusterLost):
    """The head requires a token or certificate that this process does not have."""


class NotPossible(ClusterError):
    """The plan cannot be launched as things are."""


class WrongFile(ClusterError):
    """The file is the reason."""


@dataclass(frozen=True, slots=True)
class RankFailure:
    """Why a rank has no result."""

    reason: str
    """In one line: `ValueError: no space left`, `the process died: …`."""

    traceback: tuple[str, ...] = ()
    """Its last lines, where the worker's own code raised."""

    @classmethod
    def of(cls, problem: BaseException) -> RankFailure:
        """What Ray raised in place of a result."""
        lines = [line for line in str(problem).rstrip().splitlines() if line.strip()]
        return cls(explain(problem), tuple(lines[-LAST_LINES:]) if len(lines) > 1 else ())

    def error(self, component: str, rank: int) -> ClusterError:
        """The same about a rank that did not come up."""
        return ClusterError(
            f"{component}:{rank} did not come up: {self.reason}",
            component=component,
            rank=rank,
            traceback=list(self.traceback),
        )


def explain(cause: BaseException | str) -> str:
    """Why something failed, in one line: from an exception, or from what Ray wrote about a death."""
    if isinstance(cause, ClusterError):
        return cause.message
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    if isinstance(cause, str):
        return _death(lines[0]) if lines else ""
    kinds = {kind.__name__ for kind in type(cause).__mro__}
    if "RayTaskError" in kinds:
        return explain(getattr(cause, "cause", None) or Exception(lines[-1] if lines else ""))
    if "ActorDiedError" in kinds:
        # First comes that it died, then Ray's fields, then why; an error in the constructor comes with its traceback.
        constructor = "creation task" in lines[0] if lines else False
        return lines[-1] if constructor else _death(lines[-1] if lines else "")
    if "ActorUnavailableError" in kinds:
        return f"it cannot be reached: {lines[0]}" if lines else "it cannot be reached"
    return f"{type(cause).__name__}: {lines[0]}" if lines else type(cause).__name__


def _death(text: str) -> str:
    """Ray's paragraph on a dead process without the guesses and ids at its end."""
    text = text.partition(" Some common causes")[0].partition(" Placement group id:")[0]
    before, _, seen = text.rpartition("Worker exit detail: ")
    seen = seen.removeprefix("The actor is dead because ").rstrip(".")
    return f"the process died: {seen}" if seen or before else "the process died"

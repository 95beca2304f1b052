"""What can go wrong with a cluster, each as one sentence for a person."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any


class ClusterError(ValueError):
    """The cluster, or something on it, is not as it should be."""

    def __init__(self, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        """What to do about it."""

        if hint and sys.version_info >= (3, 11):
            # Shown below the traceback of a program that does not catch it.
            self.add_note(f"hint: {hint}")
        self.details: Mapping[str, Any] = details
        """The same for programs, such as component and rank."""

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
    """The head of the cluster answers no more."""


class Silent(ClusterLost):
    """It takes connections, and that is all."""


class Refused(ClusterError):
    """The plan cannot be launched as things are."""


class WrongFile(ClusterError):
    """The file is the reason."""


def first_line(problem: BaseException) -> str:
    """What went wrong, without the rest of what Ray says about it."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return f"{type(problem).__name__}: {lines[0]}" if lines else type(problem).__name__

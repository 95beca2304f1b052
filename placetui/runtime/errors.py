"""What can go wrong with a cluster, each as one sentence for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ClusterError(ValueError):
    """The cluster, or something on it, is not as it should be."""

    def __init__(self, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        """What to do about it."""

        self.details: Mapping[str, Any] = details
        """The same for programs, such as component and rank."""

    def to_dict(self) -> dict[str, Any]:
        return {"message": self.message, "hint": self.hint, **self.details}


class NotReady(ClusterError):
    """Ray is not there, or not as it should be."""


class NoCluster(ClusterError):
    """There is no cluster where one was looked for."""


class ClusterLost(ClusterError):
    """The head of the cluster answers no more."""


class Refused(ClusterError):
    """The plan cannot be launched as things are."""


class WrongFile(ClusterError):
    """The file is the reason."""

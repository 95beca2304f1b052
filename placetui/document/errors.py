"""The one exception of this package."""

from __future__ import annotations

from placetui.placement.problems import PlacementError, Problem


class DocumentError(PlacementError):
    """A file or an option cannot be read at all; `problems` says why."""


def refuse(rule: str, message: str, *, hint: str = "", file: str = "") -> DocumentError:
    """The error for a single problem."""
    return DocumentError([Problem(rule, message, hint=hint, file=file)])

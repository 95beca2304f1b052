"""How a command ends: exit codes are an interface."""

from __future__ import annotations

from collections.abc import Sequence

FINE = 0
PROBLEMS = 1
"""Problems found, or differences, or drift; or somebody answered no."""

USAGE = 2
"""Wrong usage or a file that cannot be read."""

CLUSTER = 3
"""The cluster or its hardware failed."""

INTERRUPTED = 130


class Abort(Exception):
    """The command ends here. Its message, if it has one, is printed with the lines it quotes and its hint."""

    def __init__(self, code: int, message: str = "", hint: str = "", quoted: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.quoted = quoted


class UsageError(Exception):
    """Arguments that are wrong together; reported as the parser reports a wrong one."""

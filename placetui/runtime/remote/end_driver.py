"""In a task on the node of a driver: end it. Shipped by value."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from subprocess import list2cmdline

PATIENCE = 5.0
"""Seconds for a driver to end by itself before it is killed."""

_INTERACTIVE = "(interactive_shell) "


def end_driver(pid: int, entrypoint: str, mask: Callable[[Sequence[str]], list[str]]) -> str:
    """End a driver; why not, if it was not. A process whose command line, masked, is another one is somebody else's."""
    try:
        if list2cmdline(mask(_words(pid))) != entrypoint.removeprefix(_INTERACTIVE):
            return "that process has another command line"
        os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if not _is_running(pid):
                return ""
            time.sleep(0.1)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    except FileNotFoundError:
        return "there is no such process"
    except OSError as problem:
        return problem.strerror or str(problem)
    return ""


def _words(pid: int) -> list[str]:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().decode("utf-8", "replace").split("\0")[:-1]


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # One that has ended stays until its parent has asked for it.
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False

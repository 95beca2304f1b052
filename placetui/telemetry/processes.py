"""Who a process is, from /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass

_FIRST_NAMESPACE = 0xEFFFFFFC
"""Number of the namespace of processes that Linux begins with."""

MOST_CHARACTERS = 300
"""Of a command line: enough to tell one program from another."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What can be read of a process; None what cannot."""

    user: str | None = None
    command: str | None = None


class Processes:
    """Remembers who was who: a process is looked at once, and a number that was given out again is not confused."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[str, Identity]] = {}

    def identify(self, pids: list[int]) -> dict[int, Identity]:
        """Those of the processes that can be seen from here; the others are forgotten."""
        found = {}
        for pid in pids:
            started = _started(pid)
            if started is None:
                continue
            known = self._known.get(pid)
            found[pid] = known if known and known[0] == started else (started, _identity(pid))
        self._known = found
        return {pid: identity for pid, (_, identity) in found.items()}


def _started(pid: int) -> str | None:
    """When it began, in the kernel's own count."""
    stat = read_file(f"/proc/{pid}/stat")
    # The name before the last bracket may hold anything.
    fields = stat.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else None


def _identity(pid: int) -> Identity:
    return Identity(user_of(pid), command_of(pid))


def in_container(proc: str = "/proc") -> bool:
    """Whether processes have numbers of their own here, which mean nothing outside."""
    try:
        return os.stat(f"{proc}/self/ns/pid").st_ino != _FIRST_NAMESPACE
    except OSError:
        return False


def user_of(pid: int, proc: str = "/proc") -> str | None:
    """Name of the user whose process it is, or his number; None if it cannot be seen."""
    for line in read_file(f"{proc}/{pid}/status").splitlines():
        if line.startswith("Uid:"):
            number = int(line.split()[2])
            try:
                from pwd import getpwuid

                return getpwuid(number).pw_name
            except KeyError:
                # As in a container that knows nothing of the host's users.
                return str(number)
    return None


def command_of(pid: int, proc: str = "/proc") -> str | None:
    """Its title or command line; None if it cannot be seen."""
    words = read_file(f"{proc}/{pid}/cmdline").replace("\0", " ").strip()
    if not words:
        name = read_file(f"{proc}/{pid}/comm").strip()
        words = f"[{name}]" if name else ""
    return words[:MOST_CHARACTERS] or None


def read_file(path: str, most: int = 4096) -> str:
    """The beginning of a file; empty if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""

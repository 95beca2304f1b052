"""Who a process is, from /proc."""

from __future__ import annotations

from dataclasses import dataclass

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
    stat = _read(f"/proc/{pid}/stat")
    # The name before the last bracket may hold anything.
    fields = stat.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else None


def _identity(pid: int) -> Identity:
    return Identity(_user(pid), _command(pid))


def _user(pid: int) -> str | None:
    for line in _read(f"/proc/{pid}/status").splitlines():
        if line.startswith("Uid:"):
            number = int(line.split()[2])
            try:
                from pwd import getpwuid

                return getpwuid(number).pw_name
            except KeyError:
                # As in a container that knows nothing of the host's users.
                return str(number)
    return None


def _command(pid: int) -> str | None:
    words = _read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
    if not words:
        name = _read(f"/proc/{pid}/comm").strip()
        words = f"[{name}]" if name else ""
    return words[:MOST_CHARACTERS] or None


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(4096).decode("utf-8", "replace")
    except OSError:
        return ""

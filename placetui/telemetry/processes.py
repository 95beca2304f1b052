"""Who a process is, from /proc: as much as a person and attribution need."""

from __future__ import annotations

import os
from collections.abc import Iterable

from placetui.masking import mask_words
from placetui.observe.attribution import NodeFacts, ProcessFact

_FIRST_NAMESPACE = 0xEFFFFFFC
"""Number of the namespace of processes that Linux begins with."""

MOST_CHARACTERS = 300
"""Of a command line: enough to tell one program from another."""

_DEEPEST = 64
"""Ancestors that are followed at most."""


class ProcessTable:
    """Reads processes, and remembers those that are asked for again; a reused pid is a new process."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._known: dict[tuple[int, str], ProcessFact] = {}
        self._boot = _boot_time(proc)
        self._tick = 1.0 / os.sysconf("SC_CLK_TCK")
        self._complete = _sees_everything(proc)
        self._facts = NodeFacts(complete=self._complete)

    def look(self, pids: Iterable[int], *, ancestors: bool = True) -> NodeFacts:
        """These processes, with ancestors and leaders of their groups, as far as they can be seen from here."""
        known: dict[tuple[int, str], ProcessFact] = {}
        found: dict[int, ProcessFact] = {}
        waiting = [(pid, _DEEPEST) for pid in pids]
        while waiting:
            pid, depth = waiting.pop()
            if pid <= 0 or pid in found or not depth:
                continue
            stat = _stat(self._proc, pid)
            if stat is None:
                continue
            parent, leader, started = stat
            fact = self._known.get((pid, started))
            title = command_of(pid, self._proc)
            # A title changes with what a worker does, and a parent when it ends.
            if fact is None or (fact.parent, fact.leader, fact.command) != (parent, leader, title):
                fact = self._read(pid, parent, leader, started, title)
            known[pid, started] = found[pid] = fact
            if ancestors:
                waiting += [(other, depth - 1) for other in (parent, leader) if other > 1]
        self._known = known
        if found != self._facts.processes:
            self._facts = NodeFacts(found, self._complete)
        return self._facts

    def _read(self, pid: int, parent: int, leader: int, started: str, title: str | None) -> ProcessFact:
        inner = None
        for line in read_file(f"{self._proc}/{pid}/status").splitlines():
            if line.startswith("NSpid:"):
                numbers = line.split()[1:]
                inner = int(numbers[-1]) if len(numbers) > 1 else None
        began = None if self._boot is None else round(self._boot + int(started) * self._tick, 2)
        return ProcessFact(pid, began, parent, leader, user_of(pid, self._proc), title, inner)


def in_container(proc: str = "/proc") -> bool:
    """Whether processes have their own numbers here, which mean nothing outside."""
    try:
        return os.stat(f"{proc}/self/ns/pid").st_ino != _FIRST_NAMESPACE
    except OSError:
        return False


def user_of(pid: int, proc: str = "/proc") -> str | None:
    """Name of the user whose process it is, or the user's number; None if it cannot be seen."""
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
    """Its title or command line, without secrets; None if it cannot be seen."""
    words = " ".join(mask_words(read_file(f"{proc}/{pid}/cmdline").split("\0"))).strip()
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


def _stat(proc: str, pid: int) -> tuple[int, int, str] | None:
    """Parent, process group, and when it began in the kernel's own count."""
    # The name before the last bracket may hold anything.
    fields = read_file(f"{proc}/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[1]), int(fields[2]), fields[19]) if len(fields) > 19 else None


def _boot_time(proc: str) -> float | None:
    """Seconds since the epoch at which the machine began."""
    for line in read_file(f"{proc}/stat", 2**20).splitlines():
        if line.startswith("btime "):
            return float(line.split()[1])
    return None


def _sees_everything(proc: str) -> bool:
    """Whether every process of the machine can be seen from here: within a container, or with hidden ones, not."""
    return os.path.exists(f"{proc}/self/ns/pid") and not in_container(proc) and os.path.exists(f"{proc}/1/stat")

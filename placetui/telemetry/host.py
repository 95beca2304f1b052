"""CPU and memory of the node itself, from /proc."""

from __future__ import annotations

import socket

PERIOD = 2.0
"""Seconds between readings: on a large machine the kernel works for a millisecond at each."""

_STEP = 2**26
"""Bytes: smaller changes of memory are noise, and would have to be sent."""


class Host:
    """Busy part of the CPU since the last reading, and memory."""

    def __init__(self) -> None:
        self.name = socket.gethostname()
        self.ip = _own_address()
        self.cpu_percent: float | None = None
        self.memory_used: int | None = None
        self.memory_total: int | None = None
        self._before: tuple[int, int] | None = None
        self._due = 0.0

    def read(self, now: float) -> None:
        if now < self._due:
            return
        # Soon again while there is nothing to compare with.
        self._due = now + (0.5 if self.cpu_percent is None else PERIOD - 0.1)
        self.memory_used, self.memory_total = _memory()
        times = _cpu_times()
        if times is None or self._before is None:
            self.cpu_percent = None
        elif times[1] > self._before[1]:
            busy, whole = times[0] - self._before[0], times[1] - self._before[1]
            self.cpu_percent = float(round(100 * max(0, busy) / whole))
        self._before = times


def _cpu_times() -> tuple[int, int] | None:
    """Ticks of all cores so far: busy, and in all."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            # The time of guests is in the user's already.
            ticks = [int(word) for word in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    if len(ticks) < 5:
        return None
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, sum(ticks)


def _memory() -> tuple[int | None, int | None]:
    """Bytes that are not available, and in all."""
    sizes = {}
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                name, _, rest = line.partition(":")
                if name in ("MemTotal", "MemAvailable"):
                    sizes[name] = int(rest.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        return None, None
    total, available = sizes.get("MemTotal"), sizes.get("MemAvailable")
    if total is None or available is None:
        return None, total
    return (total - available) // _STEP * _STEP, total


def _own_address() -> str:
    """The address that others would reach this node at; nothing is sent to find it."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("10.255.255.255", 1))
            return str(probe.getsockname()[0])
    except OSError:
        return ""

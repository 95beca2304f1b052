"""`Gpu`: reads one GPU, or the MIG instances that it is divided into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from placetui.observe.model import DeviceSample, ProcessSample
from placetui.telemetry.nvml import LOST, NOT_SUPPORTED, REASONS, Handle, Nvml, NvmlFailure
from placetui.telemetry.processes import ProcessTable

DETAIL_PERIOD = 5.0
"""Seconds between readings of what is dear or slow: processes, temperature, power."""

MEMORY_STEP = 256 * 2**20
"""Bytes: when the memory in use moved by this much, processes came or went, and are read immediately."""

T = TypeVar("T")


class Gpu:
    """One GPU of this node, known by its UUID once that was read. Used by one thread at a time."""

    def __init__(self, nvml: Nvml, index: int) -> None:
        self.index = index
        self.uuid: str | None = None
        self.lost = False
        """Whether nothing could be read from it, and nothing will until it comes back."""

        self.doing = ""
        """What is being read now."""

        self._nvml = nvml
        self._handle: Handle = None
        self.name: str | None = None
        self._parts: list[_Part] = []

    def reopen(self) -> None:
        """NVML was opened again: handles of before are void."""
        self._handle = None

    def read(self, now: float) -> tuple[DeviceSample, ...]:
        """Its values at `now` (`time.monotonic()`), or those of its instances."""
        try:
            if self._handle is None:
                self._find()
            samples = tuple([part.read(now) for part in self._parts])
        except NvmlFailure as failure:
            self.lost = failure.code in LOST
            return (DeviceSample(self.index, self.uuid, self.name, error=str(failure)),)
        self.lost = False
        return samples or (
            DeviceSample(self.index, self.uuid, self.name, error="divided by MIG, and there is no instance"),
        )

    def _find(self) -> None:
        self.doing = "opening the GPU"
        nvml = self._nvml
        # Its place in NVML's list may be another one since it was seen first.
        handle = nvml.by_index(self.index) if self.uuid is None else nvml.by_uuid(self.uuid)
        self.uuid, self.name = nvml.uuid(handle), nvml.name(handle)
        instances = nvml.instances(handle)
        if instances is None:
            self._parts = [_Part(self, nvml, handle, self.uuid, self.name)]
        else:
            self._parts = [_Part(self, nvml, one, nvml.uuid(one), nvml.name(one), instance=True) for one in instances]
        self._handle = handle


class _Part:
    """What has memory of its own: a GPU, or an instance."""

    def __init__(self, gpu: Gpu, nvml: Nvml, handle: Handle, uuid: str, name: str, *, instance: bool = False) -> None:
        self._gpu = gpu
        self._nvml = nvml
        self._handle = handle
        self._uuid = uuid
        self._name = name
        self._instance = instance
        self._processes = ProcessTable()
        self._held: tuple[ProcessSample, ...] = ()
        self._temperature: int | None = None
        self._power: int | None = None
        self._problems: dict[str, str] = {}
        self._due: float | None = None
        self._used_then: int | None = None
        """Memory in use when the processes were read."""

        self._last: DeviceSample | None = None

    def read(self, now: float) -> DeviceSample:
        memory = self._try("memory", self._nvml.memory)
        used, total = memory or (None, None)
        utilization = None
        if self._instance:
            self._problems["load, temperature and power"] = "not known of an instance"
        else:
            utilization = self._try("load", self._nvml.utilization)
        if self._due is None or now >= self._due:
            # The GPUs of a node take turns: together they would hold up the programs on them.
            self._due = now + (DETAIL_PERIOD if self._due is not None else 1 + self._gpu.index % DETAIL_PERIOD)
            self._read_processes(used)
            if not self._instance:
                self._temperature = self._try("temperature", self._nvml.temperature)
                self._power = self._try("power", self._nvml.power)
        elif used is not None and abs(used - (self._used_then or 0)) >= MEMORY_STEP:
            self._read_processes(used)
        sample = DeviceSample(
            index=self._gpu.index,
            uuid=self._uuid,
            name=self._name,
            memory_used=used,
            memory_total=total,
            utilization=utilization,
            temperature=self._temperature,
            power=self._power,
            processes=self._held,
            error=sentence(self._problems),
        )
        # What did not change stays the same object, which is quick to compare.
        if self._last is None or sample != self._last:
            self._last = sample
        return self._last

    def _read_processes(self, used: int | None) -> None:
        self._used_then = used
        held = dict(self._try("processes", self._nvml.compute_processes) or {})
        for pid, memory in (self._try("graphics processes", self._nvml.graphics_processes) or {}).items():
            known = held.get(pid)
            # One that computes and draws is in both lists, with all of its memory in each.
            held[pid] = memory if known is None else max(known, memory or 0)
        if self._problems.get("graphics processes") == REASONS[NOT_SUPPORTED]:
            # As on most boards of a cluster: nothing is missing.
            del self._problems["graphics processes"]
        if None in held.values():
            self._problems["memory per process"] = "not reported by the driver"
        else:
            self._problems.pop("memory per process", None)
        self._gpu.doing = "looking at its processes"
        who = self._processes.look(held, ancestors=False).processes
        self._held = tuple(
            ProcessSample(
                pid,
                memory,
                user=who[pid].user if pid in who else None,
                command=who[pid].command if pid in who else None,
            )
            for pid, memory in sorted(held.items())
        )

    def _try(self, what: str, read: Callable[[Handle], T]) -> T | None:
        """A value, or None and a note why there is none."""
        self._gpu.doing = f"reading its {what}"
        try:
            value = read(self._handle)
        except NvmlFailure as failure:
            # What else cannot be read spares the rest; of a GPU that is lost this one tells.
            if what == "memory" and failure.code in LOST:
                raise
            self._problems[what] = str(failure)
            return None
        self._problems.pop(what, None)
        return value


def sentence(problems: Mapping[str, str]) -> str | None:
    """`power, temperature: not supported here; processes: no permission to read it`."""
    by_reason: dict[str, list[str]] = {}
    for what, reason in problems.items():
        by_reason.setdefault(reason, []).append(what)
    return "; ".join(f"{', '.join(sorted(things))}: {reason}" for reason, things in by_reason.items()) or None

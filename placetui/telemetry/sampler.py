"""`NodeSampler`: reads all GPUs of this node, whatever single ones of them do.

A call into NVML may take forever. So all of them are made in threads, and `read` only takes what these have found: one
thread reads GPU after GPU, as is cheapest and kindest to the driver; when it is not done in a moment, it keeps the GPU
it is at, and all others get a thread of their own. A thread that hangs ends when its call returns, and its GPU is back.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from placetui.observe.model import DeviceSample, NodeSample
from placetui.telemetry.gpu import Gpu
from placetui.telemetry.host import Host
from placetui.telemetry.nvml import LIB_RM_VERSION_MISMATCH, Nvml, NvmlFailure
from placetui.telemetry.processes import in_container
from placetui.telemetry.visible import Board

OUTDATED = "the NVIDIA driver was updated: reading it from a new process"
"""Why a process ends whose library does not fit the driver any more; the bridge starts another one."""

HURRY = 0.05  # seconds for all GPUs one after the other, before they are read at the same time
PATIENCE = 0.25  # seconds that `read` waits at most
STALE_AGE = 1.8
"""Seconds after which values are not trusted, if new ones do not come: at 1 Hz the second reading that is missed."""

STUCK = 0.5  # seconds that a call may take before it counts as one that may not return
REOPEN_DELAYS = (2.0, 5.0, 15.0, 60.0)
"""Seconds before NVML is opened again for a GPU that is lost, the last for all later times. That is dear, and a GPU
that comes back by itself needs none."""


Samples: TypeAlias = "tuple[DeviceSample, ...]"


@dataclass(slots=True)
class _Seat:
    """A GPU and what is known of it."""

    gpu: Gpu
    samples: Samples = ()
    read_at: float | None = None
    """When something was read from it last."""

    busy_since: float | None = None
    """Since when a thread reads it."""


class NodeSampler:
    """The GPUs of this node, its CPU and memory. `read` is called by one thread, again and again."""

    def __init__(self, nvml: Nvml | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.outdated = False
        """Whether another driver was loaded than the one whose library this process has: only a new one can read it."""

        self.boards: tuple[Board, ...] = ()
        """What `read` gave, by GPU as NVML lists them."""

        self.numbers_of_host = False
        """Whether the pids that NVML tells are the host's, and mean nothing in this container."""

        self._nvml = nvml or Nvml()
        self._clock = clock
        self._host = Host()
        self._in_container = in_container()
        self._first_read: float | None = None
        self._last: NodeSample | None = None
        self._state = threading.Condition()
        """Told when a round is done, or NVML is open. A seat belongs to its thread while it is busy, all else to the
        one that reads, but for the time in which NVML is being opened."""

        self._seats: list[_Seat] = []
        self._round: list[_Seat] = []
        """Those that are read this time: all but the ones that hang."""

        self._opening_since: float | None = None
        self._is_open = False
        self._failure: str | None = None
        self._attempts = 0
        self._reopen_at = 0.0

    def read(self, patience: float = PATIENCE) -> NodeSample | None:
        """What is known now, after `patience` seconds at most; None while nothing is, just after the start."""
        now = self._clock()
        if self._first_read is None:
            self._first_read = now
        deadline = now + patience
        self._host.read(now)
        with self._state:
            self._open_if_needed(now)
            # While NVML is being opened, no other call is made.
            if self._wait(lambda: self._opening_since is None, deadline) and self._is_open:
                self._read_gpus(deadline)
            sample = self._compose(self._clock())
        if sample != self._last:
            self._last = sample
        complete = all(seat.samples for seat in self._seats) and self._opening_since is None
        return self._last if complete or self._clock() - self._first_read >= STALE_AGE else None

    # Reading

    def _read_gpus(self, deadline: float) -> None:
        self._round = [seat for seat in self._seats if seat.busy_since is None]
        if not self._round:
            return
        for seat in self._round:
            seat.busy_since = self._clock()
        waiting = deque(self._round)
        _in_thread(self._read_seats, waiting)
        if not self._wait(self._round_is_done, min(deadline, self._clock() + HURRY)):
            # The thread that takes a GPU from the queue reads it.
            while waiting:
                with suppress(IndexError):
                    _in_thread(self._read_seats, deque([waiting.popleft()]))
            self._wait(self._round_is_done, deadline)

    def _round_is_done(self) -> bool:
        return all(seat.busy_since is None for seat in self._round)

    def _read_seats(self, waiting: deque[_Seat]) -> None:
        """Read the GPUs that are waiting, one after the other."""
        with suppress(IndexError):
            while True:
                self._read_seat(waiting.popleft())

    def _read_seat(self, seat: _Seat) -> None:
        try:
            samples = seat.gpu.read(self._clock())
        except Exception as problem:
            samples = (DeviceSample(seat.gpu.index, seat.gpu.uuid, error=f"{type(problem).__name__}: {problem}"),)
        seat.samples = samples
        if not seat.gpu.lost or seat.read_at is None:
            seat.read_at = self._clock()
        # From here on it is no longer ours.
        seat.busy_since = None
        if self._round_is_done():
            with self._state:
                self._state.notify_all()

    # Opening

    def _open_if_needed(self, now: float) -> None:
        # Not under the feet of a call that has not returned.
        if self._opening_since is not None or any(seat.busy_since is not None for seat in self._seats):
            return
        if self._is_open and self._failure is None and not any(seat.gpu.lost for seat in self._seats):
            self._attempts = 0
            self._reopen_at = now + REOPEN_DELAYS[0]
        if now < self._reopen_at:
            return
        self._reopen_at = now + REOPEN_DELAYS[min(self._attempts, len(REOPEN_DELAYS) - 1)]
        self._attempts += 1
        self._opening_since = now
        _in_thread(self._open)

    def _open(self) -> None:
        count, failure = 0, None
        try:
            if self._is_open:
                self._is_open = False
                self._nvml.close()
            self._nvml.open()
            self._is_open = True
            count = self._nvml.count()
        except NvmlFailure as problem:
            failure = str(problem)
            self.outdated = problem.code == LIB_RM_VERSION_MISMATCH and bool(self._seats)
        except Exception as problem:
            failure = f"{type(problem).__name__}: {problem}"
        if not failure and not count and not self._seats:
            failure = "the NVIDIA driver knows of no GPU"
        with self._state:
            self._failure = failure
            for seat in self._seats:
                seat.gpu.reopen()
            # A GPU that is known keeps its place, also while it is not there.
            if not self._seats:
                self._seats = [_Seat(Gpu(self._nvml, index)) for index in range(count)]
            self._opening_since = None
            self._state.notify_all()

    # Telling

    def _compose(self, now: float) -> NodeSample:
        devices: list[DeviceSample] = []
        samples = self._named([self._samples_of(seat, now) for seat in self._seats])
        self.boards = tuple(
            Board(seat.gpu.index, seat.gpu.uuid, seat.gpu.name, found)
            for seat, found in zip(self._seats, samples, strict=True)
        )
        for board in self.boards:
            for sample in board.samples:
                # GPUs that are divided make the later ones move up.
                place = len(devices)
                devices.append(sample if sample.index == place else replace(sample, index=place))
        error = self._failure
        stale = bool(devices) and all(device.stale for device in devices)
        age = min((device.age for device in devices), default=0.0) if stale else 0.0
        if self._opening_since is not None:
            waited = now - self._opening_since
            if waited >= STUCK:
                error = f"NVML has not answered for {waited:.0f} s"
                age = round(now - min((seat.read_at or now for seat in self._seats), default=self._opening_since), 1)
                stale = age >= STALE_AGE or not devices
        elif stale:
            error = error or "no GPU answers"
        return NodeSample(
            rank=0,
            name=self._host.name,
            ip=self._host.ip,
            age=age,
            stale=stale,
            error=error,
            devices=tuple(devices),
            cpu_percent=self._host.cpu_percent,
            memory_used=self._host.memory_used,
            memory_total=self._host.memory_total,
        )

    def _named(self, samples: list[Samples]) -> list[Samples]:
        """In a container, nobody is named after a number that may be another's.

        Newer drivers translate numbers, and leave out processes that cannot be seen here. So one that cannot be seen
        tells that the numbers are the host's: one of them may well be somebody's here.
        """
        listed = (process for found in samples for sample in found for process in sample.processes)
        self.numbers_of_host = self._in_container and any(one.user is None and one.command is None for one in listed)
        return [tuple(map(_without_names, found)) for found in samples] if self.numbers_of_host else samples

    def _samples_of(self, seat: _Seat, now: float) -> Samples:
        gpu = seat.gpu
        samples = seat.samples or (DeviceSample(gpu.index, gpu.uuid, error="not read yet"),)
        age = now - (self._first_read or now if seat.read_at is None else seat.read_at)
        if seat.busy_since is not None:
            stuck = now - seat.busy_since
            stale, error = age >= STALE_AGE and stuck >= STUCK, f"{gpu.doing} has not returned for {stuck:.0f} s"
        else:
            stale, error = age >= STALE_AGE or gpu.lost, self._failure or samples[0].error or "not read"
        if not stale:
            return samples
        return tuple(replace(sample, age=round(age, 1), stale=True, error=error) for sample in samples)

    def _wait(self, condition: Callable[[], bool], deadline: float) -> bool:
        return self._state.wait_for(condition, max(0.0, deadline - self._clock()))


def _in_thread(function: Callable[..., None], *arguments: Any) -> None:
    threading.Thread(target=function, args=arguments, name="nvml", daemon=True).start()


def _without_names(sample: DeviceSample) -> DeviceSample:
    return replace(sample, processes=tuple(replace(process, user=None, command=None) for process in sample.processes))

"""Reading recordings, also ones that were cut off or damaged: as far as they are whole."""

from __future__ import annotations

import json
import os
import re
import threading
import time
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from placetui.observe.codec import decode, decode_delta
from placetui.observe.delta import CodecError, apply
from placetui.observe.model import Observation
from placetui.observe.recording.writer import FORMAT, GZIP, SCHEMA

_BLOCK = 1 << 18
LARGEST = 1 << 28
"""Bytes of one member: more than any cluster needs, and less than would hurt."""

LAST = 253_402_300_799.0
"""Seconds since the epoch, of the last moment that a calendar has."""

_LINE = re.compile(rb'\{"time":([0-9.e+-]+),"(?:whole|change)":')


class RecordingError(Exception):
    """A file is no recording, or one that cannot be read."""


class Member(NamedTuple):
    """A part of the file that can be read by itself."""

    start: int
    """Where in the file it begins."""

    lines: list[bytes]
    whole: bool
    """Whether it was ended; the last one of a recorder that was killed was not."""


class Recording:
    """A recording. Opening reads its first line, `scan` goes through all of it once.

    Raises:
        RecordingError: it is no recording, of a later schema, or cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.times: list[float] = []
        """When each observation was made, as far as the file is whole; filled by `scan`. Never descending, also where
        the clock was set back."""

        self.problem: str | None = None
        """What is wrong with the rest of the file, once that is known."""

        self._lock = threading.Lock()
        self._starts: list[int] = []
        self._firsts: list[int] = []
        """Of each member with observations, where in the file it begins, and the number of its first observation."""

        self._last: tuple[int, Observation] | None = None
        self._lines: tuple[int, list[bytes]] = -1, []
        """The member that was read last, and its lines."""

        try:
            header = next(self._members(0), None)
        except OSError as problem:
            missing = isinstance(problem, FileNotFoundError)
            said = f"there is no file `{self.path}`" if missing else f"{self.path}: {problem.strerror or problem}"
            raise RecordingError(said) from problem
        except RecordingError:
            header = None
        _check_header(self.path, header)

    def scan(self) -> None:
        """Find the observations: their times, and where reading can begin."""
        with self._lock:
            if self._starts:
                return
            for member in self._observations():
                self._starts.append(member.start)
                self._firsts.append(len(self.times))
                for moment in _times(member.lines):
                    self.times.append(max(moment, self.times[-1]) if self.times else moment)

    def number_at(self, moment: float) -> int:
        """The last observation that was made by `moment`, or the first one."""
        return max(0, bisect_right(self.times, moment) - 1)

    def observation(self, number: int) -> Observation:
        """An observation by its number, from 0; the next one is quick, a jump reads up to a minute's worth."""
        with self._lock:
            return self._read(number)

    def _read(self, number: int) -> Observation:
        if self._last is not None and self._last[0] == number:
            return self._last[1]
        place = bisect_right(self._firsts, number) - 1
        first = self._firsts[place]
        if self._lines[0] != place:
            try:
                self._lines = place, next(self._members(self._starts[place])).lines
            except (OSError, StopIteration) as problem:
                raise RecordingError(f"{self.path} is no longer what it was") from problem
        at, seen = first - 1, None
        if self._last is not None and first <= self._last[0] < number:
            at, seen = self._last
        for line in self._lines[1][at + 1 - first : number + 1 - first]:
            try:
                seen = _decode(line, seen)
            except ValueError as problem:
                raise RecordingError(f"observation {at + 2} is damaged: {problem}") from problem
            at += 1
        if seen is None or at != number:
            raise RecordingError(f"there is no observation {number + 1}")
        self._last = number, seen
        return seen

    def __iter__(self) -> Iterator[Observation]:
        """All observations, to where the file is whole; then `problem` says what is wrong, if anything is."""
        self.scan()
        return map(self.observation, range(len(self.times)))

    def _observations(self) -> Iterator[Member]:
        """The members after the first, without what is cut off."""
        count = 0
        try:
            for member in islice(self._members(0), 1, None):
                _times(member.lines)
                if member.lines:
                    count += len(member.lines)
                    yield member
                if not member.whole:
                    self.problem = f"cut off after {_observations(count)}"
        except (RecordingError, OSError) as problem:
            self.problem = f"damaged after {_observations(count)}: {problem}"

    def _members(self, start: int) -> Iterator[Member]:
        """The members of the file from `start` on, each with its complete lines; a RecordingError at one that is
        damaged.
        """
        with open(self.path, "rb") as file:
            file.seek(start)
            pending = file.read(_BLOCK)
            while pending:
                inflater = zlib.decompressobj(GZIP)
                text = bytearray()
                consumed = 0
                while pending and not inflater.eof:
                    try:
                        text += inflater.decompress(pending, LARGEST)
                    except zlib.error as problem:
                        raise RecordingError(str(problem)) from problem
                    if len(text) >= LARGEST:
                        raise RecordingError("a part of it is too large")
                    consumed += len(pending) - len(inflater.unused_data)
                    pending = inflater.unused_data or file.read(_BLOCK)
                *lines, rest = bytes(text).split(b"\n")
                if inflater.eof and rest:
                    raise RecordingError("a line is not ended")
                yield Member(start, lines, inflater.eof)
                start += consumed


def _check_header(path: str, member: Member | None) -> None:
    try:
        header: Any = json.loads(member.lines[0]) if member and member.lines else None
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise RecordingError(f"{path}: this is not a recording of `placetui top --record`")
    if header.get("schema") != SCHEMA:
        raise RecordingError(f"{path}: written with schema {header.get('schema')}, this version reads {SCHEMA}")


def _times(lines: list[bytes]) -> list[float]:
    """When the observations were made; a RecordingError if a line is none."""
    found = []
    for line in lines:
        match = _LINE.match(line)
        try:
            moment = float(match[1] if match else b"")
        except ValueError as problem:
            raise RecordingError("a line is no observation") from problem
        if not 0.0 <= moment <= LAST:
            raise RecordingError("a line is of no time")
        found.append(moment)
    return found


def _decode(line: bytes, before: Observation | None) -> Observation:
    """What a line says; a ValueError if nothing that makes sense here."""
    value = json.loads(line)
    if not isinstance(value, dict):
        raise CodecError("a line is no observation")
    if "whole" in value:
        return decode(value["whole"])
    if before is None:
        raise CodecError("it begins with a change")
    return apply(before, decode_delta(value.get("change")))


def _observations(count: int) -> str:
    return "1 observation" if count == 1 else f"{count} observations"


def clock(moment: float) -> str:
    """A time as people write it."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))

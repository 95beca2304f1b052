"""Recordings: observations in a file, to be replayed.

Compressed JSON lines. The first line says what it is; each other one is a whole observation, or what changed since the
one before. Each whole one begins a new member of the gzip file: reading can start there, and damage is found by the
checksum of its member. `zcat` prints it all.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from placetui.observe.codec import encode, encode_delta
from placetui.observe.delta import changes
from placetui.observe.model import Observation
from placetui.observe.ports import Status, Subscriber

SCHEMA = 1
"""Raised when a reader of the schema before could misread what is written."""

FORMAT = "placetui recording"

WHOLE_EVERY = 60
"""Observations from one whole one to the next: a jump reads no more than these."""

LARGEST_MEMBER = 1 << 25
"""Bytes, before compression, after which a whole one follows all the same: what is read at once stays small."""

FLUSH_EVERY = 2.0
"""Seconds of observations that are lost at most when the recorder is killed."""

GZIP = 16 + zlib.MAX_WBITS
_LEVEL = 6


class Recorder:
    """Writes observations to a new file that only its owner can read.

    Raises:
        OSError: the file is there already, or it cannot be made.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        whole_every: int = WHOLE_EVERY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = os.fspath(path)
        self.count = 0
        """Observations written."""

        self._whole_every = whole_every
        self._since_whole = 0
        """Observations, and bytes, since the last whole one."""

        self._bytes = 0
        self._clock = clock
        self._flushed = clock()
        self._last: Observation | None = None
        self._member: Any = None
        self._file = os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        header = {"format": FORMAT, "schema": SCHEMA, "began": time.time()}
        self._begin()
        self._write(json.dumps(header, separators=(",", ":")))
        self.flush()

    def write(self, observation: Observation) -> None:
        """Append an observation; an OSError if the file can no longer be written."""
        if self._last is None or self._since_whole >= self._whole_every or self._bytes >= LARGEST_MEMBER:
            self._end()
            self._begin()
            kind, body = "whole", encode(observation)
        else:
            kind, body = "change", encode_delta(changes(self._last, observation))
        # The time comes first, so that an index can be made without reading the rest.
        self._write(f'{{"time":{observation.time!r},"{kind}":{json.dumps(body, separators=(",", ":"))}}}')
        self._last = observation
        self.count += 1
        self._since_whole += 1
        if self._clock() - self._flushed >= FLUSH_EVERY:
            self.flush()

    def flush(self) -> None:
        """Hand everything to the system: from here on it survives the end of this process."""
        if self._member is not None:
            self._file.write(self._member.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()
        self._flushed = self._clock()

    def close(self) -> None:
        if not self._file.closed:
            try:
                self._end()
            finally:
                self._file.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self) -> None:
        self._member = zlib.compressobj(_LEVEL, zlib.DEFLATED, GZIP)
        self._since_whole = self._bytes = 0

    def _end(self) -> None:
        member, self._member = self._member, None
        if member is not None:
            self._file.write(member.flush(zlib.Z_FINISH))

    def _write(self, line: str) -> None:
        self._bytes += len(line)
        self._file.write(self._member.compress(line.encode() + b"\n"))


class RecordingSubscriber:
    """Records what it passes on to another subscriber."""

    def __init__(self, subscriber: Subscriber, recorder: Recorder) -> None:
        self._subscriber = subscriber
        self._recorder = recorder
        self._status = Status("starting")
        self.problem: str | None = None
        """Why not all was recorded."""

    def close(self) -> None:
        """End the recording, once nothing more is delivered."""
        try:
            self._recorder.close()
        except OSError as problem:
            self.problem = self.problem or f"the recording is not complete: {problem.strerror or problem}"

    def updated(self, observation: Observation) -> None:
        if self.problem is None and observation.nodes:
            try:
                self._recorder.write(observation)
            except OSError as problem:
                # Looking is worth more than recording.
                self.problem = f"the recording ends here: {problem.strerror or problem}"
                self._subscriber.status_changed(replace(self._status, message=self.problem))
        self._subscriber.updated(observation)

    def status_changed(self, status: Status) -> None:
        self._status = status
        self._subscriber.status_changed(status)

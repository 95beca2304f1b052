"""What goes over the pipe: JSON, one message a line, each an object with a `type`.

From the child: `hello` first, then `reply` (to a request, by `id`), `observation`, `status` and `error`.
To the child: `start`, `refresh`, `interval`, `stop` and `shutdown`, each with an `id`; and `cancel`, which names one.
Work that takes long has more: see `work`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

PROTOCOL = 1
"""Both ends must have the same: an upgrade under a running program may part them."""

LINE_LIMIT = 64 * 2**20
"""Bytes; a longer line is not kept in memory."""

T = TypeVar("T")


class ProtocolError(ValueError):
    """A message is not what it should be."""


@dataclass(frozen=True, slots=True)
class Message:
    """One line of the pipe."""

    kind: str
    body: Mapping[str, Any] = field(default_factory=dict)

    def read(self, name: str, kind: type[T]) -> T:
        """A value of the body; a ProtocolError if it is missing, or of another type."""
        value = self.body.get(name)
        # Not True for a number.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ProtocolError(f"{self.kind}: {name} is {_excerpt(repr(value))}")
        return value


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line that was skipped."""

    reason: str


def encode(message: Message) -> bytes:
    """The line, with its end; a ValueError if something has no JSON, such as an infinite number."""
    value = {"type": message.kind, **message.body}
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Message | Malformed:
    """A message, or why the line is none."""
    try:
        value = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as problem:
        return Malformed(f"not JSON ({_excerpt(str(problem))}): {_excerpt(line.decode('utf-8', 'replace'))}")
    kind = value.pop("type", None) if isinstance(value, dict) else None
    if not isinstance(kind, str):
        return Malformed(f"no message: {_excerpt(line.decode('utf-8', 'replace'))}")
    return Message(kind, value)


class LineDecoder:
    """Bytes as they come in, messages as they are whole. A line that is none is reported and skipped."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[Message | Malformed]:
        """What `data` completes. To be used up before the next call."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._take(line)
            yield from self._finish()
        self._take(rest)

    def _take(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            self._pieces.clear()
        elif piece:
            self._pieces.append(piece)

    def _finish(self) -> Iterator[Message | Malformed]:
        line, size = b"".join(self._pieces), self._size
        self._pieces.clear()
        self._size = 0
        if size > self._limit:
            yield Malformed(f"a line of {size} bytes, the most is {self._limit}")
        elif line.strip():
            yield decode(line)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _excerpt(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"

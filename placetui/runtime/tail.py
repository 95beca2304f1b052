"""In a task on a rank's node: what the rank's process wrote. Shipped by value."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from typing import Any

from placetui.runtime.private import is_mark, logs_directory

STREAMS = ("out", "err")
CHUNK = 2**18
"""Bytes of a file that are sent at once."""


def read(worker: str, pid: int, places: Mapping[str, int] | None, lines: int, rest: bool) -> dict[str, Any] | None:
    """Lines of a process, and where to read on.

    Args:
        worker: Ray's id of the process; empty if it is not known any more.
        pid: Of the process, by which it is found then.
        places: By stream, where to begin; None for the last `lines` of each.
        lines: How many of them.
        rest: Also a last line that has no end yet.

    Returns:
        `lines` by stream, `places`, and whether there is `more`; None if the process left no file.
    """
    found: dict[str, Any] = {"lines": {}, "places": {}, "more": False}
    # While an actor is started again, its row may have the id of the new process and the number of the old one.
    pattern = f"worker-{worker}-*" if worker else f"worker-*-{pid}"
    for stream in STREAMS:
        files = glob.glob(os.path.join(logs_directory(), f"{pattern}.{stream}"))
        if not files:
            continue
        begin = places.get(stream, 0) if places is not None else None
        text, place, more = read_file(max(files, key=os.path.getmtime), begin, lines, rest)
        found["lines"][stream] = [line for line in text if not is_mark(line)]
        found["places"][stream] = place
        found["more"] |= more
    return found if found["places"] else None


def read_file(path: str, begin: int | None, lines: int, rest: bool) -> tuple[list[str], int, bool]:
    """Lines of a file from a place on, or the last ones; where to read on; whether there is more by now."""
    size = os.path.getsize(path)
    start = max(0, size - CHUNK) if begin is None else begin
    if start > size:
        # Somebody began it anew.
        start = 0
    with open(path, "rb") as file:
        file.seek(start)
        data = file.read(CHUNK)
    if not rest:
        # A line without an end waits for it, unless it is longer than all that is sent at once.
        whole = data.rfind(b"\n") + 1
        data = data[: whole or (len(data) if len(data) == CHUNK else 0)]
    end = start + len(data)
    texts = data.decode("utf-8", "replace").split("\n")
    if texts and not texts[-1]:
        texts.pop()
    if begin is None:
        if start and len(texts) > 1:
            texts = texts[1:]  # the middle of a line
        texts = texts[-lines:] if lines else []
    # Of a line that was written over and over, such as a progress bar, what a terminal would show.
    return [text.rstrip("\r").rpartition("\r")[2] for text in texts], end, end < size and bool(data)

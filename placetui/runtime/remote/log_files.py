"""In a task on a rank's node: what the rank's process wrote. Shipped by value."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from placetui.runtime.remote.internals import is_mark, logs_directory

STREAMS = ("out", "err")
CHUNK = 2**18
"""Bytes of a file that are sent at once."""


def files_of_worker(worker: str, pid: int) -> dict[str, str]:
    """Patterns of the files of a process by stream; without Ray's id of it by its number."""
    # While an actor is started again, its row may have the id of the new process and the number of the old one.
    return {stream: f"worker-{worker}-*.{stream}" if worker else f"worker-*-{pid}.{stream}" for stream in STREAMS}


def files_of_driver(submission: str) -> dict[str, str]:
    """The same of the driver of a submission: Ray Jobs write both of its streams to one file."""
    return {"out": f"job-driver-{glob.escape(submission)}.log"}


def read_all(
    wanted: Sequence[tuple[Mapping[str, str], Mapping[str, int] | None]], lines: int, rest: bool, pattern: str = ""
) -> list[dict[str, Any] | None]:
    """The same of several processes of this node; of the lines only those that the pattern is in."""
    found = [read(files, places, lines, rest) for files, places in wanted]
    if pattern:
        search = re.compile(pattern).search
        for one in found:
            if one:
                one["lines"] = {
                    stream: [text for text in texts if search(text)] for stream, texts in one["lines"].items()
                }
    return found


def read(
    patterns: Mapping[str, str], places: Mapping[str, int] | None, lines: int, rest: bool
) -> dict[str, Any] | None:
    """Lines of a process, and where to read on.

    Args:
        patterns: Of the files that it writes, by stream.
        places: By stream, where to begin; None for the last `lines` of each.
        lines: How many of them.
        rest: Also a last line that has no end yet.

    Returns:
        `lines` by stream, `places`, and whether there is `more`; None if the process left no file.
    """
    found: dict[str, Any] = {"lines": {}, "places": {}, "more": False}
    for stream, pattern in patterns.items():
        files = glob.glob(os.path.join(logs_directory(), pattern))
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
        # The file was started again.
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

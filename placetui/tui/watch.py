"""Notices that a file changed on disk."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

PERIOD = 0.3
"""Seconds between looks."""


class FileWatch:
    """A daemon thread that looks at a file and calls back when it is another one.

    A thread, because a look can hang (a lost network file system), and a daemon, so that it never keeps the
    program from ending.
    """

    def __init__(self, path: str, changed: Callable[[], None]) -> None:
        self._path = path
        self._changed = changed
        self._stop = threading.Event()
        self._seen = _stamp(path)
        self._thread = threading.Thread(target=self._watch, name="file watch", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(PERIOD):
            stamp = _stamp(self._path)
            if stamp != self._seen:
                self._seen = stamp
                self._changed()

    def close(self) -> None:
        """End the thread soon; a call that hangs is left behind."""
        self._stop.set()


def _stamp(path: str) -> tuple[int, ...]:
    """What changes when a file is written or replaced; empty when it is gone."""
    try:
        stat = os.stat(path)
    except OSError:
        return ()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino

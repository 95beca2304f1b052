"""What happens beside the keys: soon, or in daemon threads, so that leaving never waits for a call that hangs."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from textual.app import App
from textual.timer import Timer

Result = TypeVar("Result")

WATCH_PERIOD = 0.3
"""Seconds between looks at a file."""


def start_thread(target: Callable[[], object], name: str) -> None:
    """Run something in its own thread that never keeps the program from ending."""
    threading.Thread(target=target, name=name, daemon=True).start()


async def in_thread(call: Callable[[], Result], name: str) -> Result:
    """The result of a call that may take long, or never come back; a cancelled caller leaves it behind."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(set_value: Callable[[], None]) -> None:
        if not future.done():
            set_value()

    def run() -> None:
        try:
            result = call()
        except Exception as problem:
            error = problem
            done = lambda: future.set_exception(error)  # noqa: E731
        else:
            done = lambda: future.set_result(result)  # noqa: E731
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, done)

    start_thread(run, name)
    return await future


class Timers:
    """Things to do soon, by name."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._timers: dict[str, Timer] = {}

    def after(self, name: str, seconds: float, call: Callable[[], object], *, again: bool = False) -> None:
        """Do something soon, once; with `again` so long after the last time it was asked for."""
        if name in self._timers:
            if not again:
                return
            self._timers[name].stop()

        def due() -> None:
            # A timer that was stopped may be on its way already.
            if self._timers.get(name) is timer:
                del self._timers[name]
                call()

        timer = self._timers[name] = self._app.set_timer(seconds, due, name=name)

    def stop(self) -> None:
        """Do none of it."""
        for timer in self._timers.values():
            timer.stop()
        self._timers.clear()


class FileWatch:
    """Looks at a file, and calls back from its thread when it is another one."""

    def __init__(self, path: str, changed: Callable[[], object]) -> None:
        self._path = path
        self._changed = changed
        self._stop = threading.Event()
        start_thread(self._watch, "file watch")

    def _watch(self) -> None:
        seen = _stamp(self._path)
        while not self._stop.wait(WATCH_PERIOD):
            stamp = _stamp(self._path)
            if stamp != seen:
                seen = stamp
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

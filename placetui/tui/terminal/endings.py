"""Leaving in good order when the system says so: a signal, a stop, or a terminal that is gone."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

from textual.app import App

from placetui.tui.background import start_thread

GRACE = 8.0
"""Seconds to leave in good order; after them the program ends as it is. What is unsaved was kept by then."""

_LOOK = 1.0
"""Seconds between looks whether it is over."""


class Endings:
    """What the system does to the program while the dashboard is open. To be made in the main thread."""

    def __init__(self, app: App[int], leave: Callable[[int], None]) -> None:
        self._app = app
        self._leave = leave
        self._loop = asyncio.get_running_loop()
        self._over = threading.Event()
        self._leaving = False
        self._asked_to_stop = False
        handlers: dict[int, Callable[[int, FrameType | None], None]] = {
            signal.SIGTERM: self._end,
            signal.SIGHUP: self._end,
            signal.SIGTSTP: self._stop,
            signal.SIGCONT: self._go_on,
        }
        self._before: dict[int, Any] = {number: signal.signal(number, one) for number, one in handlers.items()}
        start_thread(self._watch_terminal, "terminal watch")

    def close(self) -> None:
        """Restore the handlers; leaving still has its deadline."""
        self._over.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    # Signals. Their handlers run in the main thread even while that waits for a terminal that does not take anything.

    def _end(self, number: int, _frame: FrameType | None) -> None:
        self._leave_soon(128 + number)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """As Textual does it: the terminal is given back, then the program stops."""
        self._asked_to_stop = True
        self._before[signal.SIGTSTP](number, frame)

    def _go_on(self, number: int, frame: FrameType | None) -> None:
        if self._asked_to_stop:
            self._asked_to_stop = False
            self._before[signal.SIGCONT](number, frame)
            self._loop.call_soon_threadsafe(self._paint)
        else:
            # Not in here: what the handler interrupts may hold the lock of what is written to the terminal.
            self._loop.call_soon_threadsafe(self._take_terminal)

    def _take_terminal(self) -> None:
        """SIGSTOP gave no time to put anything back, and who knows what was done to the terminal since. Textual would
        switch everything on a second time, and then back to that.
        """
        if (driver := self._app._driver) is not None:
            driver.suspend_application_mode()
            driver.resume_application_mode()
        self._paint()

    def _paint(self) -> None:
        self._app.refresh(layout=True)

    # Leaving

    def _leave_soon(self, code: int) -> None:
        if self._leaving:
            return
        self._leaving = True
        start_thread(partial(self._leave_anyway, code), "leave")
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._leave, code)

    def _leave_anyway(self, code: int) -> None:
        time.sleep(GRACE)
        os._exit(code)

    def _watch_terminal(self) -> None:
        """Leave when the terminal is gone; not every program gets a signal for that."""
        if sys.__stdin__ is None:
            return
        poll = select.poll()
        # No request is needed: the terminal reports its end anyway.
        poll.register(sys.__stdin__.fileno(), 0)
        while not self._over.is_set():
            if any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(_LOOK * 1000)):
                self._leave_soon(128 + signal.SIGHUP)
                return

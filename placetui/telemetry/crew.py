"""Threads for work that may never end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeAlias

_Job: TypeAlias = "tuple[Callable[..., None], tuple[Any, ...]]"


class Crew:
    """No job waits for another one: if all threads are at work, there is one more.

    One of them stays for the next job, since starting a thread costs more than most jobs.
    """

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[_Job]] = []

    def start(self, job: Callable[..., None], *arguments: Any) -> None:
        """Do it in a thread, from now on."""
        try:
            inbox = self._idle.pop()
        except IndexError:
            inbox = SimpleQueue()
            threading.Thread(target=self._serve, args=(inbox,), name="nvml", daemon=True).start()
        inbox.put((job, arguments))

    def _serve(self, inbox: SimpleQueue[_Job]) -> None:
        while True:
            job, arguments = inbox.get()
            job(*arguments)
            if self._idle:
                return
            self._idle.append(inbox)

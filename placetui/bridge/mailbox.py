"""Things for a thread to do, handed to it by others, with a descriptor that it can wait on."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeAlias

Action: TypeAlias = Callable[[], None]


class Mailbox:
    """Filled by any thread, emptied by one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._actions: deque[Action] = deque()
        self.descriptor, self._write = os.pipe()
        """Readable when there is something to do."""

        os.set_blocking(self.descriptor, False)
        os.set_blocking(self._write, False)
        self._open = True

    def post(self, action: Action) -> bool:
        """Hand over something to do; False if nobody will do it any more."""
        with self._lock:
            if not self._open:
                return False
            self._actions.append(action)
            # When the pipe is full the reader wakes up anyway.
            with suppress(BlockingIOError):
                os.write(self._write, b".")
        return True

    def take(self) -> Iterator[Action]:
        """What is to be done now, also what comes meanwhile."""
        with suppress(BlockingIOError):
            while os.read(self.descriptor, 4096):
                pass
        yield from self._rest()

    def close(self) -> Iterator[Action]:
        """Take nothing more; what was still to be done."""
        with self._lock:
            if self._open:
                self._open = False
                os.close(self.descriptor)
                os.close(self._write)
        yield from self._rest()

    def _rest(self) -> Iterator[Action]:
        while self._actions:
            yield self._actions.popleft()

"""Long-running work: in its own thread, it reports progress, can ask questions, and can be interrupted.

To the child: any request whose kind is in its table of jobs, `cancel`, which also interrupts work that has begun, and
`answer` to a question. From the child: `progress` with the number of the request, then the `reply`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from placetui.bridge.messages import Message

Send: TypeAlias = "Callable[..., None]"
"""Writes a message: its kind, and its body by name."""

Jobs: TypeAlias = "Mapping[str, Callable[[Mapping[str, Any], Work], Mapping[str, Any]]]"
"""By kind of request, what does it: takes the request's body, gives the body of the reply."""


class Interrupted(Exception):
    """The caller cancelled the work."""

    def __init__(self) -> None:
        super().__init__("interrupted")


class Work:
    """One request under way, as the one who does it sees it."""

    def __init__(self, number: int, send: Send) -> None:
        self.number = number
        self.interrupted = threading.Event()
        self._send = send
        self._answers: SimpleQueue[Any] = SimpleQueue()

    def report(self, **body: Any) -> None:
        """Report progress. A missing listener is no reason to stop; `interrupted` is."""
        with suppress(OSError):
            self._send("progress", request=self.number, **body)

    def check(self) -> None:
        if self.interrupted.is_set():
            raise Interrupted

    def ask(self, deadline: float, **question: Any) -> Any:
        """Put a question and wait for its answer.

        Raises:
            Interrupted: instead of an answer.
            TimeoutError: none came before `deadline` (`time.monotonic()`).
        """
        self.report(**question)
        while True:
            self.check()
            if time.monotonic() > deadline:
                raise TimeoutError("no answer in time")
            with suppress(Empty):
                return self._answers.get(timeout=0.1)

    def answer(self, value: Any) -> None:
        self._answers.put(value)


class WorkRunner:
    """All work under way."""

    def __init__(self, jobs: Jobs, send: Send) -> None:
        self._jobs = jobs
        self._send = send
        self._lock = threading.Lock()
        self._under_way: dict[int, Work] = {}
        self._idle = threading.Condition(self._lock)

    def knows(self, kind: str) -> bool:
        return kind in self._jobs

    def begin(self, number: int, request: Message) -> None:
        """Start what the request asks for; it is answered when that is done."""
        work = Work(number, self._send)
        with self._lock:
            self._under_way[number] = work
        job = self._jobs[request.kind]
        threading.Thread(target=self._do, args=(work, job, request.body), name=request.kind, daemon=True).start()

    def interrupt(self, number: Any) -> bool:
        """Tell that work to stop; False if there is none of that number."""
        work = self._find(number)
        if work:
            work.interrupted.set()
        return work is not None

    def answer(self, number: Any, value: Any) -> None:
        work = self._find(number)
        if work:
            work.answer(value)

    def close(self, seconds: float) -> None:
        """Stop everything; wait so long for it to be undone."""
        with self._lock:
            for work in self._under_way.values():
                work.interrupted.set()
            self._idle.wait_for(lambda: not self._under_way, seconds)

    def _find(self, number: Any) -> Work | None:
        with self._lock:
            return self._under_way.get(number) if isinstance(number, int) else None

    def _do(self, work: Work, job: Callable[[Mapping[str, Any], Work], Mapping[str, Any]], body: Any) -> None:
        try:
            reply = {**job(body, work)}
        except (ValueError, Interrupted) as problem:
            reply = {"error": str(problem)}
        except Exception as problem:
            reply = {"error": f"{type(problem).__name__}: {problem}"}
        try:
            # Before it counts as done: the process may end after that.
            with suppress(OSError):
                self._send("reply", id=work.number, **reply)
        finally:
            with self._lock:
                del self._under_way[work.number]
                self._idle.notify_all()

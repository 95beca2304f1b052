"""Operations on the cluster as something to await: `result = await cluster.stop(job)`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

from textual.app import App
from textual.worker import Worker

from placetui.observe.operations import Failure, Operation, Operations
from placetui.placement.wording import plain

Outcome: TypeAlias = "Mapping[str, Any] | Failure"
Params = ParamSpec("Params")


class ClusterRequest:
    """One operation under way: iterate over its steps, or await it for the outcome alone."""

    def __init__(self, operations: Operations, kind: str, *, timeout: float, **body: Any) -> None:
        self.outcome: Outcome | None = None
        """Known once it is over."""

        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[tuple[Mapping[str, Any] | None, Outcome | None]] = asyncio.Queue()
        self._operation: Operation = operations.begin(kind, self, timeout=timeout, **body)

    # What the operation reports, from its own thread

    def told(self, step: Mapping[str, Any]) -> None:
        self._put((step, None))

    def finished(self, outcome: Outcome) -> None:
        self._put((None, outcome))

    def _put(self, report: tuple[Mapping[str, Any] | None, Outcome | None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._queue.put_nowait, report)

    # What the one who asked does

    def __aiter__(self) -> ClusterRequest:
        return self

    async def __anext__(self) -> Mapping[str, Any]:
        if self.outcome is None:
            step, self.outcome = await self._queue.get()
            if step is not None:
                return step
        raise StopAsyncIteration

    def __await__(self) -> Generator[Any, None, Outcome]:
        return self._result().__await__()

    async def _result(self) -> Outcome:
        async for _ in self:
            pass
        assert self.outcome is not None
        return self.outcome

    def interrupt(self) -> None:
        """Stop it and undo what it did; its outcome tells when that is done."""
        if self.outcome is None:
            self._operation.interrupt()

    def answer(self, value: Any) -> None:
        self._operation.answer(value)


def failure_words(failure: Failure) -> str:
    """What went wrong, and what to do about it."""
    return plain(f"{failure.message} ({failure.hint})" if failure.hint else failure.message)


class HasApp(Protocol):
    """Something that works for an app."""

    @property
    def app(self) -> App[int]: ...


Owner = TypeVar("Owner", bound=HasApp)


def flow(
    method: Callable[Concatenate[Owner, Params], Any],
) -> Callable[Concatenate[Owner, Params], Worker[Any]]:
    """A method that asks the user something on its way: it runs as a worker, so that keys reach its dialogs."""

    @wraps(method)
    def begin(self: Owner, /, *args: Params.args, **kwargs: Params.kwargs) -> Worker[Any]:
        return self.app.run_worker(method(self, *args, **kwargs), name=method.__name__)

    return begin

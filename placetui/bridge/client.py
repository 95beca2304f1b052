"""`Bridge`: keeps a child process running, sends it requests, and hands on what it says.

One thread does all of it: it starts the child, reads, writes, watches deadlines, and calls back. Nobody who uses a
bridge ever waits for the child, except in `close`, for two seconds at most.
"""

from __future__ import annotations

import os
import selectors
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeAlias

from placetui.bridge.messages import PROTOCOL, LineDecoder, Malformed, Message, encode
from placetui.bridge.process import ChildProcess, Log, child_command
from placetui.observe.ports import Link, Status


class BridgeError(Exception):
    """A request came to nothing."""


class BridgeLost(BridgeError):
    """The child ended before it answered, or the bridge was closed."""


class RequestRefused(BridgeError):
    """The child says no; the text says why."""


@dataclass(slots=True)
class PendingRequest:
    """One request."""

    line: bytes
    deadline: float
    future: Future[Message] = field(default_factory=Future)
    sent: bool = False
    progress: Callable[[Message], None] | None = None


@dataclass(frozen=True, slots=True)
class RunningRequest:
    """Long work of the child, as the one who asked for it sees it."""

    future: Future[Message]
    """As of a request. Cancelling it means: never mind the outcome."""

    interrupt: Callable[[], None]
    """Stop it; the future tells when that is done."""

    answer: Callable[[Any], None]
    """Answer the question that it asked last."""


class PendingRequests:
    """All of them, by number. Used by one thread."""

    def __init__(self) -> None:
        self._pending: dict[int, PendingRequest] = {}

    def add(self, number: int, call: PendingRequest) -> None:
        self._pending[number] = call

    def unsent(self) -> bytes:
        waiting = [call for call in self._pending.values() if not call.sent]
        for call in waiting:
            call.sent = True
        return b"".join(call.line for call in waiting)

    def next_deadline(self) -> float | None:
        return min((call.deadline for call in self._pending.values()), default=None)

    def answer(self, reply: Message) -> None:
        """Hand a reply to the one who waits for it; if nobody does, it is dropped."""
        number, error = reply.body.get("id"), reply.body.get("error")
        if isinstance(number, int) and number in self._pending:
            self._settle(number, reply if error is None else RequestRefused(str(error)))

    def progress(self, message: Message) -> None:
        number = message.body.get("request")
        call = self._pending.get(number) if isinstance(number, int) else None
        if call and call.progress:
            call.progress(message)

    def forget(self, number: int) -> bool:
        """Drop a request; whether the child had been sent it."""
        call = self._pending.pop(number, None)
        return call is not None and call.sent

    def expire(self, now: float) -> None:
        for number in [number for number, call in self._pending.items() if call.deadline <= now]:
            self._settle(number, TimeoutError("no answer in time"))

    def lose(self, reason: str, *, unsent_too: bool) -> None:
        for number in [number for number, call in self._pending.items() if call.sent or unsent_too]:
            self._settle(number, BridgeLost(reason))

    def _settle(self, number: int, outcome: Message | Exception) -> None:
        future = self._pending.pop(number).future
        if not future.set_running_or_notify_cancel():
            return
        if isinstance(outcome, Message):
            future.set_result(outcome)
        else:
            future.set_exception(outcome)


Action: TypeAlias = Callable[[], object]


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


DELAYS = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds before the child is started again, the last for all later times."""

HELLO_TIMEOUT = 15.0
CLOSE_GRACE = 2.0
_LOST_GRACE = 0.5
_SETTLED = 5.0  # seconds after which a child that ends counts as one that had worked
_LOOK_INTERVAL = 1.0  # seconds between looks whether the child is there, should something else hold its pipe open


class Listener(Protocol):
    """Called from the bridge's thread: return at once."""

    def received(self, message: Message) -> None:
        """The child said something that is not the answer to a request."""

    def status_changed(self, status: Status) -> None:
        """The link changed; also called once, with how it is, after `subscribe`."""


@dataclass(frozen=True, slots=True)
class _End:
    """Why there is no child any more."""

    reason: str
    hopeless: bool = False
    """Whether another one would end the same way."""


class Bridge:
    """A child process that is there as long as the bridge is open."""

    def __init__(
        self,
        log_directory: Path,
        command: Sequence[str] | None = None,
        *,
        delays: Sequence[float] = DELAYS,
        hello_timeout: float = HELLO_TIMEOUT,
        patience: float = CLOSE_GRACE,
    ) -> None:
        self._log_directory = log_directory
        self._command = command if command is not None else child_command()
        self._delays = delays
        self._hello_timeout = hello_timeout
        self._patience = patience
        """Seconds that the child has to undo what it does, when the bridge is closed."""

        self._numbers = count(1)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._mailbox = Mailbox()
        # All below belongs to the thread.
        self._closing = threading.Event()
        self._listeners: dict[Listener, None] = {}
        self._pending = PendingRequests()
        self._outbox = bytearray()
        self._connected = False
        self._connections = 0
        self._status = Status("starting")
        self._child: ChildProcess | None = None
        self._log: Log | None = None

    def __enter__(self) -> Bridge:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        child = self._child
        return child.pid if child else None

    @property
    def log(self) -> Path | None:
        return self._log.path if self._log else None

    def start(self) -> None:
        """Start the child, now or soon; once is enough. An OSError if there can be no log."""
        with self._lock:
            if self._thread or self._closing.is_set():
                return
            self._log = Log(self._log_directory)
            self._thread = threading.Thread(target=self._run, name="bridge", daemon=True)
            self._thread.start()

    def subscribe(self, listener: Listener) -> None:
        """Tell `listener` how the link is, and from then on all that happens."""

        def join() -> None:
            self._listeners[listener] = None
            self._tell(listener.status_changed, self._status)

        self._mailbox.post(join)

    def unsubscribe(self, listener: Listener) -> None:
        """Tell `listener` nothing more; a call that is under way may still end."""
        self._mailbox.post(lambda: self._listeners.pop(listener, None))

    def request(self, kind: str, *, timeout: float = 10.0, **body: Any) -> Future[Message]:
        """Ask the child for something.

        Waits for a child that is not there yet. The future fails with `TimeoutError`, `BridgeLost` or
        `RequestRefused`; cancelling it tells the child not to begin.
        """
        return self.begin(kind, timeout=timeout, **body).future

    def begin(
        self, kind: str, *, progress: Callable[[Message], None] | None = None, timeout: float, **body: Any
    ) -> RunningRequest:
        """Ask the child for work that takes long; `progress` is called from the bridge's thread."""
        number = next(self._numbers)
        line = encode(Message(kind, {"id": number, **body}))
        call = PendingRequest(line, time.monotonic() + timeout, progress=progress)

        def forget_if_cancelled(future: Future[Message]) -> None:
            if future.cancelled():
                self._mailbox.post(lambda: self._forget(number))

        def add() -> None:
            self._pending.add(number, call)
            self._send_calls()

        def send(kind: str, **body: Any) -> None:
            line = encode(Message(kind, {"request": number, **body}))
            self._mailbox.post(lambda: self._outbox.extend(line))

        call.future.add_done_callback(forget_if_cancelled)
        if not self._mailbox.post(add):
            call.future.set_exception(BridgeLost("the bridge is closed"))
        return RunningRequest(
            call.future, interrupt=lambda: send("cancel"), answer=lambda value: send("answer", value=value)
        )

    def close(self, *, wait: bool = True) -> None:
        """End the child, kindly at first. Returns when it is gone, within about two seconds (or its patience).

        Without `wait` it returns at once; the child undoes what it does by itself.
        """
        self._mailbox.post(self._closing.set)
        thread = self._thread
        if thread is None:
            self._finish()
        elif wait and thread is not threading.current_thread():
            thread.join(self._patience + 2.0)

    # The thread

    def _run(self) -> None:
        try:
            self._keep_running()
            self._change("closed")
        except Exception as problem:
            self._note(traceback.format_exc())
            self._change("failed", f"the bridge broke: {problem}")
        finally:
            self._finish()

    def _finish(self) -> None:
        for action in self._mailbox.close():
            self._tell(action)
        self._pending.lose("the bridge is closed", unsent_too=True)
        if self._log:
            self._log.close()
            self._log = None

    def _keep_running(self) -> None:
        failures = 0
        while not self._closing.is_set():
            started = time.monotonic()
            end = self._live_once()
            self._pending.lose(end.reason, unsent_too=False)
            if self._closing.is_set():
                return
            if end.hopeless:
                self._change("failed", end.reason)
                self._wait(None)
                return
            failures = 0 if time.monotonic() - started >= _SETTLED else failures + 1
            delay = self._delays[min(max(failures - 1, 0), len(self._delays) - 1)]
            self._change("lost", f"the child process ended: {end.reason}", delay)
            self._wait(delay)

    def _live_once(self) -> _End:
        """From the start of a child to its end."""
        assert self._log
        try:
            child = self._child = ChildProcess(self._command, self._log)
        except OSError as problem:
            return _End(f"it cannot be started: {problem}")
        try:
            end = self._attend(child)
            reason = child.end(self._patience if self._closing.is_set() else _LOST_GRACE)
        finally:
            self._child = None
            self._connected = False
            self._outbox.clear()
        return end or _End(reason)

    def _attend(self, child: ChildProcess) -> _End | None:
        """Read, write, and keep deadlines until the child or the bridge ends; the reason if it is to be ended."""
        decoder = LineDecoder()
        hello_due = child.started + self._hello_timeout
        with selectors.DefaultSelector() as selector:
            selector.register(child.messages, selectors.EVENT_READ)
            selector.register(self._mailbox.descriptor, selectors.EVENT_READ)
            writing = False
            while True:
                ready = {key.fd for key, _ in selector.select(self._next_look(hello_due))}
                self._perform()
                if self._closing.is_set():
                    self._say_goodbye(child)
                    return None
                if child.messages in ready:
                    data = child.read()
                    if data == b"":
                        return None
                    for message in decoder.feed(data or b""):
                        if end := self._take(message):
                            return end
                elif not ready and child.ended:
                    return None
                if not self._connected and time.monotonic() > hello_due:
                    return _End(f"it said nothing for {self._hello_timeout:g} s")
                self._pending.expire(time.monotonic())
                self._flush(child)
                if bool(self._outbox) != writing:
                    writing = not writing
                    if writing:
                        selector.register(child.requests, selectors.EVENT_WRITE)
                    else:
                        selector.unregister(child.requests)

    def _wait(self, seconds: float | None) -> None:
        """Without a child, for so long or until the bridge is closed."""
        until = time.monotonic() + seconds if seconds is not None else None
        with selectors.DefaultSelector() as selector:
            selector.register(self._mailbox.descriptor, selectors.EVENT_READ)
            while not self._closing.is_set() and (until is None or time.monotonic() < until):
                selector.select(self._next_look(until))
                self._perform()
                self._pending.expire(time.monotonic())

    def _next_look(self, until: float | None) -> float:
        """Seconds until something is due, or until a look does no harm."""
        now = time.monotonic()
        due = [moment for moment in (until, self._pending.next_deadline()) if moment is not None and moment > now]
        return min([_LOOK_INTERVAL, *(moment - now for moment in due)])

    def _perform(self) -> None:
        for action in self._mailbox.take():
            self._tell(action)

    # Messages

    def _take(self, message: Message | Malformed) -> _End | None:
        if isinstance(message, Malformed):
            self._change(self._status.link, f"a line from the child process was skipped: {message.reason}")
        elif message.kind == "hello":
            if message.body.get("protocol") != PROTOCOL:
                return _End("placetui was upgraded while it ran: start it again", hopeless=True)
            self._connected = True
            self._connections += 1
            self._change("connected")
            self._send_calls()
        elif message.kind == "reply":
            self._pending.answer(message)
        elif message.kind == "progress":
            self._tell(self._pending.progress, message)
        else:
            for listener in tuple(self._listeners):
                self._tell(listener.received, message)
        return None

    def _send_calls(self) -> None:
        if self._connected:
            self._outbox += self._pending.unsent()

    def _flush(self, child: ChildProcess) -> None:
        try:
            while self._outbox and (written := child.write(bytes(self._outbox[: 2**16]))):
                del self._outbox[:written]
        except OSError:
            # It reads no more; that it has ended shows on the other pipe.
            self._outbox.clear()

    def _say_goodbye(self, child: ChildProcess) -> None:
        if not self._outbox:
            self._outbox += encode(Message("shutdown", {"id": next(self._numbers)}))
            self._flush(child)

    def _forget(self, number: int) -> None:
        if self._pending.forget(number):
            self._outbox += encode(Message("cancel", {"request": number}))

    # Telling

    def _change(self, link: Link, message: str = "", retry_in: float | None = None) -> None:
        self._status = Status(link, message, retry_in, max(0, self._connections - 1))
        for listener in tuple(self._listeners):
            self._tell(listener.status_changed, self._status)

    def _tell(self, function: Callable[..., object], *values: Any) -> None:
        try:
            function(*values)
        except Exception:
            # Somebody else's mistake must not end the link.
            self._note(traceback.format_exc())

    def _note(self, text: str) -> None:
        if self._log:
            self._log.write(text)

"""The child side of the pipe: a separate process, which may hang, crash or print without harm.

Run as a module it serves the simulation. A process with more to offer (Ray, NVML) calls `run` with its own table.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from placetui.bridge.messages import PROTOCOL, LineDecoder, Malformed, Message, ProtocolError, encode
from placetui.bridge.stream import StreamSender
from placetui.bridge.work import Jobs, WorkRunner
from placetui.observe.model import Observation
from placetui.observe.ports import CONNECTED, NoObservation, Observer, Status
from placetui.observe.simulation import SimulatedLayout, Simulation, SimulationOptions

Services: TypeAlias = "Mapping[str, Callable[[Mapping[str, Any]], Observer]]"
"""By name, what makes an observer from the options of a `start` request; a ValueError refuses them."""

GRACE = 0.5
"""Seconds until the process ends in any case, once it is asked to."""

WORK_GRACE = 30.0
"""Seconds more if long work is under way, which has to be undone."""


class SimulatedObserver:
    """The simulation by the clock on the wall."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._simulation = Simulation(
            SimulatedLayout.from_dict(options.get("layout")), SimulationOptions.from_dict(options.get("options", {}))
        )

    def observe(self, deadline: float) -> Observation:
        return self._simulation.step(time.time())


class Channel:
    """Writes messages; used by any thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def send(self, kind: str, **body: Any) -> None:
        self.write(encode(Message(kind, body)))

    def write(self, line: bytes) -> None:
        """Write a line, waiting for a reader that is slow; an OSError if nobody reads any more."""
        rest = memoryview(line)
        with self._lock:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]


class Child:
    """Requests in, observations out.

    Requests are answered, in order, between observations; those in the table of jobs have a thread each.
    """

    def __init__(self, channel: Channel, services: Services, grace: float = GRACE, jobs: Jobs | None = None) -> None:
        self._channel = channel
        self._services = services
        self._grace = grace
        self._runner = WorkRunner(jobs or {}, channel.send)
        self._requests: SimpleQueue[Message | Malformed | None] = SimpleQueue()
        self._handled = 0
        self._cancelled: set[int] = set()
        """Numbers of requests that nobody waits for any more, later than the one handled last."""

        self._stream: StreamSender | None = None
        self._told = CONNECTED
        """How the link of the stream's observer was when it was last spoken of."""

        self._handlers: dict[str, Callable[[Message], None]] = {
            "start": self._start,
            "refresh": self._refresh,
            "interval": self._set_interval,
            "stop": self._stop,
        }

    def serve(self) -> None:
        self._channel.send("hello", protocol=PROTOCOL, pid=os.getpid())
        while True:
            try:
                request = self._requests.get(timeout=self._stream.wait() if self._stream else None)
            except Empty:
                self._observe()
                continue
            if request is None:
                return
            if isinstance(request, Malformed):
                self._channel.send("error", message=f"a request was skipped: {request.reason}")
            elif not self._handle(request):
                return

    def read_requests(self, descriptor: int) -> None:
        """Take requests until the pipe ends, then end: the viewer is gone."""
        decoder = LineDecoder()
        try:
            while data := os.read(descriptor, 2**16):
                for request in decoder.feed(data):
                    if isinstance(request, Message) and request.kind == "cancel":
                        # Past those that still wait in the queue.
                        self._cancel(request.body.get("request"))
                    elif isinstance(request, Message) and request.kind == "answer":
                        self._runner.answer(request.body.get("request"), request.body.get("value"))
                    else:
                        self._requests.put(request)
        finally:
            self.leave()

    def leave(self) -> None:
        """Go soon: as soon as what runs is done, and after a moment in any case."""
        threading.Thread(target=self._leave_anyway, name="leave", daemon=True).start()
        self._requests.put(None)

    def _cancel(self, number: Any) -> None:
        if not self._runner.interrupt(number) and isinstance(number, int) and number > self._handled:
            self._cancelled.add(number)

    def _leave_anyway(self) -> None:
        self._runner.close(WORK_GRACE)
        time.sleep(self._grace)
        os._exit(0)

    def undo(self) -> None:
        """Stop all work, and wait until it is undone."""
        self._runner.close(WORK_GRACE)

    def _handle(self, request: Message) -> bool:
        """Whether to go on after this request."""
        try:
            number = request.read("id", int)
        except ProtocolError as problem:
            self._channel.send("error", message=f"a request was skipped: {problem}")
            return True
        self._handled = number
        if number in self._cancelled:
            self._cancelled.discard(number)
            self._channel.send("reply", id=number, error="cancelled")
            return True
        if self._runner.knows(request.kind):
            self._runner.begin(number, request)
            return True
        handler = self._handlers.get(request.kind)
        try:
            if handler:
                handler(request)
            elif request.kind != "shutdown":
                raise ProtocolError(f"{request.kind} is not a request")
        except ValueError as problem:
            self._channel.send("reply", id=number, error=str(problem))
        except Exception as problem:
            self._channel.send("reply", id=number, error=f"{type(problem).__name__}: {problem}")
        else:
            self._channel.send("reply", id=number)
        return request.kind != "shutdown"

    def _start(self, request: Message) -> None:
        service = self._services.get(request.read("service", str))
        if service is None:
            raise ProtocolError(f"there is no service {request.body['service']}")
        observer = service(request.read("options", dict))
        self._stop(request)
        self._told = CONNECTED
        self._stream = StreamSender(request.read("id", int), observer, _seconds(request))

    def _refresh(self, request: Message) -> None:
        if self._stream:
            self._stream.restart()

    def _set_interval(self, request: Message) -> None:
        if self._stream:
            self._stream.set_interval(_seconds(request))

    def _stop(self, request: Message) -> None:
        stream, self._stream = self._stream, None
        if stream:
            stream.close()

    def _observe(self) -> None:
        if self._stream is None:
            return
        try:
            lines = [encode(Message("observation", body)) for body in self._stream.observe()]
            self._tell(self._stream.status)
        except NoObservation as nothing:
            self._tell(nothing.status)
            return
        except Exception as problem:
            # The stream continues: what failed now may be back at the next turn.
            self._channel.send("error", message=f"{type(problem).__name__}: {problem}")
            return
        for line in lines:
            self._channel.write(line)
        if self._stream.fresh:
            # A large cluster is a million objects that stay: the collector need not look at them again and again.
            gc.freeze()

    def _tell(self, status: Status) -> None:
        """Say how the observer's link is, if that is news."""
        if status != self._told:
            self._told = status
            self._channel.send("status", link=status.link, message=status.message, absent=status.absent)


def run(services: Services, grace: float = GRACE, jobs: Jobs | None = None) -> None:
    """Serve over the standard streams until told to go. Never returns."""
    requests, replies = os.dup(0), os.dup(1)
    # From here on nothing else can write into the pipe or read from it: what is printed goes to the log.
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    child = Child(Channel(replies), services, grace, jobs)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: child.leave())
    threading.Thread(target=child.read_requests, args=(requests,), name="requests", daemon=True).start()
    code = 0
    try:
        child.serve()
    except BrokenPipeError:
        pass
    except SystemExit as wish:
        # Somebody in it wants a new process, and says why.
        sys.stderr.write(f"{wish}\n")
        code = 1
    except BaseException as problem:
        sys.excepthook(type(problem), problem, problem.__traceback__)
        code = 1
    child.undo()
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    # Not through the interpreter's end, which would wait for threads that hang.
    os._exit(code)


def _seconds(request: Message) -> float | None:
    """Seconds between observations; None to rest."""
    if request.body.get("seconds") is None:
        return None
    seconds = request.read("seconds", float)
    if not 0.01 <= seconds <= 3600:
        raise ProtocolError(f"an interval of {seconds} s; it goes from 0.01 to 3600")
    return seconds


if __name__ == "__main__":
    run({"simulation": SimulatedObserver})

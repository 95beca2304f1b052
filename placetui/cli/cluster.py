"""What the commands that use a cluster share: the child process with Ray in it, addresses, and confirmations."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any

from placetui.bridge.child import WORK_GRACE
from placetui.bridge.client import Bridge
from placetui.bridge.operations import BridgeOperations
from placetui.bridge.process import child_command
from placetui.cli import exits
from placetui.cli.output import WaitingLine
from placetui.locations import logs_dir, make_private
from placetui.observe.operations import AUTO, LOCAL, Failure, NoAddress, split_address

RUNTIME = "placetui.runtime.child"

_POLL = 0.25
_KEEP_LOGS = 7 * 86_400.0
"""Seconds."""


class Failed(exits.Abort):
    """The cluster, or the child process, says no."""

    def __init__(self, failure: Failure, *, explained: bool = False) -> None:
        code = exits.INTERRUPTED if failure.interrupted else exits.CLUSTER
        quoted = failure.details.get("problems") or failure.details.get("traceback") or ()
        super().__init__(code, failure.message, failure.hint, quoted)
        self.interrupted = failure.interrupted
        self.details = failure.details
        self.explained = explained
        """Whether the child itself has reported what is wrong."""


class Runtime:
    """The child process with Ray in it."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self._operations = BridgeOperations(bridge)
        self.hurried = False
        """Whether the user does not want to wait until everything is undone."""

    def ask(
        self,
        kind: str,
        timeout: float,
        progress: Callable[[Mapping[str, Any]], Any] | None = None,
        *,
        undo: bool = False,
        **body: Any,
    ) -> Mapping[str, Any]:
        """Ask for something and wait for it, for so many seconds; `Failed` if there is no result.

        What `progress`, called with each step in this thread, returns unless None is sent to the child. With `undo`,
        Ctrl-C waits until everything is undone.
        """
        local = body.get("address") == LOCAL
        steps = _Progress("starting an embedded cluster" if local else "asking the cluster")
        operation = self._operations.begin(kind, steps, timeout=timeout, **body)
        explained = interrupted = False
        while True:
            try:
                event = steps.next()
                if event is None:
                    break
                explained = explained or event.get("step") == "failed"
                answer = progress(event) if progress else None
                if answer is not None:
                    operation.answer(answer)
            except KeyboardInterrupt:
                if interrupted or not undo:
                    self.hurried = interrupted
                    raise
                interrupted = True
                print("\nrolling back (Ctrl-C again: do not wait for it)", file=sys.stderr)
                operation.interrupt()
        if isinstance(steps.outcome, Failure):
            raise Failed(steps.outcome, explained=explained)
        return steps.outcome


class _Progress:
    """The steps of one request, for a thread that waits for them."""

    outcome: Mapping[str, Any] | Failure
    """Once it is over."""

    def __init__(self, waiting_for: str) -> None:
        self._steps: SimpleQueue[Mapping[str, Any] | None] = SimpleQueue()
        self._waiting: WaitingLine | None = WaitingLine(waiting_for)
        """Until something comes."""

    def told(self, step: Mapping[str, Any]) -> None:
        self._steps.put(step)

    def finished(self, outcome: Mapping[str, Any] | Failure) -> None:
        self.outcome = outcome
        self._steps.put(None)

    def next(self) -> Mapping[str, Any] | None:
        """The next step; None if it is over."""
        while True:
            if self._waiting:
                self._waiting.update()
            with suppress(Empty):
                step = self._steps.get(timeout=_POLL)
                if self._waiting:
                    self._waiting.clear()
                    self._waiting = None
                return step


@contextmanager
def runtime(patience: float = WORK_GRACE) -> Iterator[Runtime]:
    """A child process for one command, which has `patience` seconds to roll back when the command ends.

    Its log is kept for some days when something went wrong. Raises `Failed` if it cannot be started.
    """
    bridge = Bridge(logs_dir(), child_command(RUNTIME), patience=patience)
    try:
        make_private(logs_dir())
        bridge.start()
    except OSError as problem:
        raise Failed(Failure(f"cannot start a child process with a log: {problem}")) from None
    log = bridge.log
    child = Runtime(bridge)
    try:
        yield child
    except Failed as problem:
        if not problem.interrupted:
            if log and log.stat().st_size and not problem.explained:
                problem.hint = f"see its log: {log}"
            log = None
        raise
    finally:
        bridge.close(wait=not child.hurried)
        if log:
            log.unlink(missing_ok=True)
        remove_old_logs()


def remove_old_logs() -> None:
    """Logs of children that ended long ago."""
    oldest = time.time() - _KEEP_LOGS
    for path in logs_dir().glob("child-*.log"):
        with suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def add_address(parser: argparse.ArgumentParser, *, local: bool = False) -> None:
    """Add --address; `local` if the command can start an embedded cluster."""
    more = "; local starts one for as long as the command runs" if local else ""
    parser.add_argument(
        "--address",
        type=_address_or_local if local else _address,
        default=AUTO,
        metavar="auto|local|HOST:PORT" if local else "auto|HOST:PORT",
        help=f"the cluster; default: RAY_ADDRESS, else the one on this machine{more}",
    )


def _address_or_local(text: str) -> str:
    try:
        if text not in (AUTO, LOCAL):
            split_address(text)
    except NoAddress as problem:
        raise argparse.ArgumentTypeError(f"`{text}` is {problem}: {problem.hint}") from None
    return text


def _address(text: str) -> str:
    if text == LOCAL:
        raise argparse.ArgumentTypeError(
            "an embedded cluster has an address, which `placetui up` printed as it connected: use that"
        )
    return _address_or_local(text)


def add_timeout(parser: argparse.ArgumentParser, default: float, meaning: str) -> None:
    """Add --timeout, in seconds."""
    text = f"{meaning}; default {default:g}"
    parser.add_argument("--timeout", type=seconds, default=default, metavar="S", help=text)


def seconds(text: str) -> float:
    """The value of an option that is a time."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < 1e6:
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, not `{text}`")
    return found


def python_path() -> list[str]:
    """The caller's PYTHONPATH; ranks run elsewhere, where a relative entry means nothing."""
    return [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]


def confirm(question: str, word: str = "") -> bool:
    """Ask a person, who must have a terminal (`require_terminal`), for a yes or for this word."""
    print(f"{question} {'' if word else '[y/N] '}", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline().strip()
    return answer == word if word else answer.lower() in ("y", "yes")


def require_terminal(what: str) -> None:
    """Abort where nobody can be asked, because a part of the terminal is a file or a pipe."""
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        raise exits.Abort(exits.USAGE, f"cannot ask for confirmation to {what} without a terminal", "say --yes")

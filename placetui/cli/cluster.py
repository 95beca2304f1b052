"""What the commands that talk to a cluster share: the child process with Ray in it, and what to say when it fails."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any

from placetui.bridge.calls import BridgeError, BridgeLost
from placetui.bridge.child import WORK_GRACE
from placetui.bridge.client import Bridge
from placetui.bridge.messages import Message
from placetui.bridge.process import child_command
from placetui.locations import logs_dir, make_private

RUNTIME = "placetui.runtime.child"
LOCAL = "local"
_LOOK = 0.25
_KEEP_LOGS = 7 * 86_400.0
"""Seconds."""


class Failed(Exception):
    """The cluster, or the child process, says no."""

    def __init__(self, message: str, details: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        """What the child reported about it, such as `hint`, `interrupted`, `traceback`."""


class Runtime:
    """The child process with Ray in it."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def ask(
        self,
        kind: str,
        timeout: float,
        progress: Callable[[Mapping[str, Any]], Any] | None = None,
        *,
        undo: bool = False,
        **body: Any,
    ) -> Mapping[str, Any]:
        """Ask for something and wait for it.

        Args:
            kind: Of the request.
            timeout: Seconds.
            progress: Told each step, in this thread. Its answer, unless None, goes to the child.
            undo: After Ctrl-C wait until all is undone.
            body: Of the request.

        Raises:
            Failed: there is no result.
        """
        told: SimpleQueue[Message | None] = SimpleQueue()
        call = self._bridge.begin(kind, progress=told.put, timeout=timeout, **body)
        call.future.add_done_callback(lambda _: told.put(None))
        failure: Mapping[str, Any] = {}
        interrupted = False
        while True:
            try:
                with suppress(Empty):
                    message = told.get(timeout=_LOOK)
                    if message is None:
                        break
                    event = {name: value for name, value in message.body.items() if name != "request"}
                    if event.get("step") == "failed":
                        failure = event
                    if progress:
                        answer = progress(event)
                        if answer is not None:
                            call.answer(answer)
            except KeyboardInterrupt:
                if interrupted or not undo:
                    raise
                interrupted = True
                print("\ntaking down what was begun (Ctrl-C again: do not wait for it)", file=sys.stderr)
                call.interrupt()
        try:
            return call.future.result().body
        except (BridgeError, TimeoutError, CancelledError) as problem:
            message_text = str(failure.get("message") or problem)
            if isinstance(problem, BridgeLost):
                message_text = f"the process that talks to Ray ended: {problem}"
            elif isinstance(problem, TimeoutError):
                message_text = f"the process that talks to Ray did not answer within {timeout:g} s"
            raise Failed(message_text, failure) from None


@contextmanager
def runtime() -> Iterator[Runtime]:
    """A child process for one command. Its log stays for some days when something went wrong.

    Raises:
        Failed: there can be none.
    """
    bridge = Bridge(logs_dir(), child_command(RUNTIME), patience=WORK_GRACE)
    try:
        make_private(logs_dir())
        bridge.start()
    except OSError as problem:
        raise Failed(f"there can be no log: {problem}", {}) from None
    log = bridge.log
    try:
        yield Runtime(bridge)
    except Failed as problem:
        if not problem.details.get("interrupted"):
            if log and log.stat().st_size and not problem.details:
                problem.details = {"hint": f"its log is {log}"}
            log = None
        raise
    finally:
        bridge.close()
        if log:
            log.unlink(missing_ok=True)
        _remove_old_logs()


def _remove_old_logs() -> None:
    oldest = time.time() - _KEEP_LOGS
    for path in logs_dir().glob("child-*.log"):
        with suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def add_address(parser: argparse.ArgumentParser, *, local: bool) -> None:
    """Add --address."""
    choices = "auto|local|HOST:PORT" if local else "auto|HOST:PORT"
    more = "; `local` starts one that lives as long as the command" if local else ""
    parser.add_argument(
        "--address",
        default="auto",
        metavar=choices,
        help=f"the cluster; by default RAY_ADDRESS, or the one on this machine{more}",
    )


def refuse_local(parser: argparse.ArgumentParser, address: str) -> None:
    """An embedded cluster belongs to the command that started it."""
    if address == LOCAL:
        parser.error("an embedded cluster has an address, which `placetui up` printed as it connected: name that")


def print_failure(command: str, problem: Failed) -> None:
    """The sentence, the last lines of what went wrong on a rank, and what to do."""
    print(f"placetui {command}: {problem.message}", file=sys.stderr)
    for line in problem.details.get("problems") or problem.details.get("traceback") or ():
        print(f"  | {line}", file=sys.stderr)
    if hint := problem.details.get("hint"):
        print(f"  hint: {hint}", file=sys.stderr)


def confirm(question: str) -> bool:
    """Ask a person; only for those who have a terminal."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def has_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()

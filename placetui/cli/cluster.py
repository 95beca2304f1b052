"""What the commands that talk to a cluster share: the child process with Ray in it, and what to say when it fails."""

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
from placetui.cli.output import Patience
from placetui.locations import logs_dir, make_private
from placetui.observe.addresses import NoAddress, split_address
from placetui.observe.operations import AUTO, LOCAL, Failure

RUNTIME = "placetui.runtime.child"

_LOOK = 0.25
_KEEP_LOGS = 7 * 86_400.0
"""Seconds."""


class Failed(Exception):
    """The cluster, or the child process, says no."""

    def __init__(self, failure: Failure, *, explained: bool = False) -> None:
        super().__init__(failure.message)
        self.message = failure.message
        self.hint = failure.hint
        self.interrupted = failure.interrupted
        self.details = failure.details
        self.explained = explained
        """Whether the child itself told what is wrong."""


class Runtime:
    """The child process with Ray in it."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self._operations = BridgeOperations(bridge)
        self.hurried = False
        """Whether somebody does not want to wait until all is undone."""

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
        news = _News()
        operation = self._operations.begin(kind, news, timeout=timeout, **body)
        explained = interrupted = False
        while True:
            try:
                event = news.next()
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
                print("\ntaking down what was begun (Ctrl-C again: do not wait for it)", file=sys.stderr)
                operation.interrupt()
        if isinstance(news.outcome, Failure):
            raise Failed(news.outcome, explained=explained)
        return news.outcome


class _News:
    """What the child tells of one request, for a thread that waits for it."""

    outcome: Mapping[str, Any] | Failure
    """Once it is over."""

    def __init__(self) -> None:
        self._steps: SimpleQueue[Mapping[str, Any] | None] = SimpleQueue()
        self._patience: Patience | None = Patience("asking the cluster")
        """Until something comes."""

    def told(self, step: Mapping[str, Any]) -> None:
        self._steps.put(step)

    def finished(self, outcome: Mapping[str, Any] | Failure) -> None:
        self.outcome = outcome
        self._steps.put(None)

    def next(self) -> Mapping[str, Any] | None:
        """The next step; None if it is over."""
        while True:
            if self._patience:
                self._patience.look()
            with suppress(Empty):
                step = self._steps.get(timeout=_LOOK)
                if self._patience:
                    self._patience.end()
                    self._patience = None
                return step


@contextmanager
def runtime(patience: float = WORK_GRACE) -> Iterator[Runtime]:
    """A child process for one command. Its log stays for some days when something went wrong.

    Args:
        patience: Seconds that it has to undo what it does, when the command ends.

    Raises:
        Failed: there can be none.
    """
    bridge = Bridge(logs_dir(), child_command(RUNTIME), patience=patience)
    try:
        make_private(logs_dir())
        bridge.start()
    except OSError as problem:
        raise Failed(Failure(f"there can be no log: {problem}")) from None
    log = bridge.log
    child = Runtime(bridge)
    try:
        yield child
    except Failed as problem:
        if not problem.interrupted:
            if log and log.stat().st_size and not problem.explained:
                problem.hint = f"its log is {log}"
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


def add_address(parser: argparse.ArgumentParser, *, local: bool) -> None:
    """Add --address."""
    choices = "auto|local|HOST:PORT" if local else "auto|HOST:PORT"
    more = "; `local` starts one that lives as long as the command" if local else ""
    parser.add_argument(
        "--address",
        type=address,
        default=AUTO,
        metavar=choices,
        help=f"the cluster; by default RAY_ADDRESS, or the one on this machine{more}",
    )


def address(text: str) -> str:
    """The value of --address, as far as it can be judged without a cluster."""
    try:
        if text not in (AUTO, LOCAL):
            split_address(text)
    except NoAddress as problem:
        raise argparse.ArgumentTypeError(f"`{text}` is {problem}: {problem.hint}") from None
    return text


def seconds(text: str) -> float:
    """The value of an option that is a time."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < 1e6:
        raise argparse.ArgumentTypeError(f"a number of seconds above 0, not `{text}`")
    return found


def refuse_local(parser: argparse.ArgumentParser, address: str) -> None:
    """An embedded cluster belongs to the command that started it."""
    if address == LOCAL:
        parser.error("an embedded cluster has an address, which `placetui up` printed as it connected: name that")


def give_up(command: str, problem: Failed) -> int:
    """Say why there is no result, unless somebody wanted it to end; the exit code."""
    if problem.interrupted:
        return exits.INTERRUPTED
    print_failure(command, problem)
    return exits.CLUSTER


def print_failure(command: str, problem: Failed) -> None:
    """The sentence, the last lines of what went wrong on a rank, and what to do."""
    print(f"placetui {command}: {problem.message}", file=sys.stderr)
    for line in problem.details.get("problems") or problem.details.get("traceback") or ():
        print(f"  | {line}", file=sys.stderr)
    if problem.hint:
        print(f"  hint: {problem.hint}", file=sys.stderr)


def python_path() -> list[str]:
    """The caller's PYTHONPATH; ranks run elsewhere, where a relative entry means nothing."""
    return [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]


def confirm(question: str) -> bool:
    """Ask a person; only for those who have a terminal."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def has_terminal() -> bool:
    """Whether somebody can be asked: not where a part of the terminal is a file or a pipe."""
    return sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()

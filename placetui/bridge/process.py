"""The child process as its parent sees it: pipes that never block, a private log, and an end that is certain."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

CHILD = "placetui.bridge.child"

NVML_CHILD = "placetui.telemetry.child"
"""The one that reads this node's GPUs."""

_BOOT = "import sys; module, *sys.path = sys.argv[1:]; import runpy; runpy.run_module(module, run_name='__main__')"

_TERMINATE_GRACE = 0.3
"""Seconds between asking a process to end and ending it."""


def child_command(module: str = CHILD) -> list[str]:
    """How to run a module as the child.

    It finds the same modules that this process has, and nothing in the current directory that this one would not.
    """
    return [sys.executable, "-c", _BOOT, module, *(path or os.getcwd() for path in sys.path)]


class Log:
    """A file that only its owner can read, for what the child prints; gone at the end if there was nothing."""

    def __init__(self, directory: Path) -> None:
        # Not by `parents=True`, which would leave those open to others.
        for missing in [one for one in (*reversed(directory.parents), directory) if not one.exists()]:
            missing.mkdir(mode=0o700, exist_ok=True)
        self.descriptor, name = tempfile.mkstemp(prefix="child-", suffix=".log", dir=directory)
        self.path = Path(name)

    def size(self) -> int:
        return os.fstat(self.descriptor).st_size

    def write(self, text: str) -> None:
        os.write(self.descriptor, text.encode("utf-8", "replace"))

    def last_line(self, since: int) -> str:
        """The last line with something on it after the first `since` bytes."""
        size = self.size()
        tail = os.pread(self.descriptor, 4096, max(since, size - 4096)) if size > since else b""
        lines = [line.strip() for line in tail.decode("utf-8", "replace").splitlines()]
        return next((line for line in reversed(lines) if line), "")

    def close(self) -> None:
        if not self.size():
            self.path.unlink(missing_ok=True)
        os.close(self.descriptor)


class ChildProcess:
    """A running child: its own session, requests in, messages out, the rest to the log."""

    def __init__(self, command: Sequence[str], log: Log) -> None:
        """Start it.

        Raises:
            OSError: it cannot be started.
        """
        self._log = log
        self._log_start = log.size()
        self.started = time.monotonic()
        self._process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.descriptor,
            start_new_session=True,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self.requests = self._stdin.fileno()
        self.messages = self._stdout.fileno()
        # Only this end of each pipe: the child's own ends wait as usual.
        os.set_blocking(self.requests, False)
        os.set_blocking(self.messages, False)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def read(self) -> bytes | None:
        """What has arrived, empty at the end of the pipe; None if there is nothing now."""
        try:
            return os.read(self.messages, 2**18)
        except BlockingIOError:
            return None

    def write(self, data: bytes) -> int:
        """Write what fits into the pipe now; an OSError if the child reads no more."""
        try:
            return os.write(self.requests, data)
        except BlockingIOError:
            return 0

    def end(self, grace: float) -> str:
        """Close its pipe, wait up to `grace` seconds, then end it and its process group; why it ended."""
        self._stdin.close()
        by_itself = self._gone_within(grace)
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is None:
                # Not reaped yet, so the number still is its own.
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, number)
                self._gone_within(_TERMINATE_GRACE)
        # After SIGKILL the kernel needs a moment; a process stuck in a driver may keep it for long, and is left then.
        self._gone_within(_TERMINATE_GRACE)
        self._stdout.close()
        return self._why() if by_itself else "it did not answer and was ended"

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self._process.poll() is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            # It must not wait for us to read; what it still says is of no interest.
            while self.read():
                pass
            try:
                self._process.wait(min(left, 0.02))
            except subprocess.TimeoutExpired:
                continue
        return True

    def _why(self) -> str:
        code = self._process.returncode
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"signal {-code}"
            return f"killed by {name}"
        last = self._log.last_line(self._log_start)
        return f"exit code {code}: {last}" if code and last else f"exit code {code}"

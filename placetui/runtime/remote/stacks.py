"""Where a process is: its Python stacks, by py-spy, else by itself if it is one of ours."""

from __future__ import annotations

import faulthandler
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

from placetui.runtime.remote.internals import logs_directory

SIGNAL = signal.SIGUSR2
WAIT = 3.0
"""Seconds in which a process must have written its stacks."""

PY_SPY_TIMEOUT = 20.0


def answer_with_stacks() -> None:
    """From now on this process writes its stacks when it is sent a signal, whatever else it does."""
    if signal.getsignal(SIGNAL) is signal.SIG_DFL:
        file = open(_file(os.getpid()), "w")  # noqa: SIM115
        faulthandler.register(SIGNAL, file=file, all_threads=True)


def read_stacks(pid: int) -> dict[str, Any]:
    """In a task on the node of a process: `text` and `by`, or the `problem`."""
    if not os.path.isdir(f"/proc/{pid}"):
        return {"problem": "its process is gone"}
    spy = shutil.which("py-spy", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")]))
    said = "py-spy is not installed on its node"
    if spy:
        done = subprocess.run([spy, "dump", "--pid", str(pid)], capture_output=True, text=True, timeout=PY_SPY_TIMEOUT)
        if done.returncode == 0:
            return {"text": done.stdout, "by": "py-spy"}
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        said = f"py-spy cannot read it: {lines[-1] if lines else done.returncode}"
    text = _asked(pid)
    if text:
        return {"text": text, "by": "faulthandler"}
    return {"problem": f"{said}, and it does not write its stacks itself"}


def _asked(pid: int) -> str:
    """What one of our own processes writes when it is asked."""
    path = _file(pid)
    try:
        before = os.path.getsize(path)
        os.kill(pid, SIGNAL)
    except OSError:
        return ""
    end, size = time.monotonic() + WAIT, before
    while time.monotonic() < end:
        time.sleep(0.2)
        last, size = size, os.path.getsize(path)
        if size > before and size == last:
            break
    with suppress(OSError), open(path, errors="replace") as file:
        file.seek(before)
        return file.read()
    return ""


def _file(pid: int) -> str:
    return os.path.join(logs_directory(), f"placetui-stacks-{pid}.txt")

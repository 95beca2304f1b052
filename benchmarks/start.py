"""What starting costs: `placetui check` on a small file, and the dashboard until its first paint.

python benchmarks/start.py [--repeat N] [--no-dashboard]

Each is compared with the least that a program of its kind can cost: Python with the libraries that every command
needs, and a Textual app with a Static and a Footer. Both numbers are CPU seconds, the least of several runs that take
turns, so that a busy machine slows both down.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import resource
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from pathlib import Path

SMALL = "cluster:\n  num_nodes: 1\n  component_placement:\n    actor: 0-7\n    zebrafish: 0-3\n"
MARK = b"zebrafish"
"""Both screens show it once they are painted."""

BARE_PYTHON = "import yaml, argparse, dataclasses"
BARE_APP = f"""
from textual.app import App
from textual.widgets import Footer, Static

class Bare(App):
    BINDINGS = [("q", "quit", "Quit")]

    def compose(self):
        yield Static("{MARK.decode()}")
        yield Footer()

Bare().run()
"""

AIM = 2.5
TIMEOUT = 60.0


def environment(folder: Path) -> dict[str, str]:
    """Without the user's settings, and with bytecode of our own, as an installed program has it."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "RAY_ADDRESS")}
    own = {name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    return {**kept, **own, "PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "TERM": "xterm-256color"}


def cpu_of_command(arguments: list[str], env: dict[str, str]) -> float:
    """CPU seconds of a program that ends by itself."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], env=env, check=True, capture_output=True, timeout=TIMEOUT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cpu_until_painted(arguments: list[str], env: dict[str, str]) -> float:
    """CPU seconds that a program in a terminal has used by the time its screen shows the mark."""
    process, terminal = pty.fork()
    if process == 0:
        os.execve(sys.executable, [sys.executable, *arguments], env)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    seen = b""
    deadline = time.monotonic() + TIMEOUT
    try:
        while MARK not in seen:
            if time.monotonic() > deadline or not select.select([terminal], [], [], TIMEOUT)[0]:
                raise TimeoutError(f"{arguments}: nothing was painted: {seen[-500:]!r}")
            seen = seen[-2000:] + os.read(terminal, 65536)
        return cpu_so_far(process)
    finally:
        os.kill(process, 9)
        os.waitpid(process, 0)
        os.close(terminal)


def cpu_so_far(process: int) -> float:
    """CPU seconds of all threads of a running process."""
    tasks = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def compare(name: str, bare: Callable[[], float], ours: Callable[[], float], repeat: int) -> None:
    bare(), ours()  # writes bytecode
    rounds = [(bare(), ours()) for _ in range(repeat)]
    least, cost = (min(times) for times in zip(*rounds, strict=True))
    print(f"{name:<14} {least * 1e3:>9.0f} {cost * 1e3:>9.0f} {cost / least:>7.2f} {AIM:>6.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--no-dashboard", action="store_true", help="commands only")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "small.yaml"
        file.write_text(SMALL, encoding="utf-8")
        env = environment(folder)
        # Of placetui there is no bytecode, as in a checkout that was never run; of the libraries there is.
        from_source = {**env, "PYTHONDONTWRITEBYTECODE": "1"}
        del from_source["PYTHONPYCACHEPREFIX"]
        command = ["-m", "placetui"]
        print(f"{'':<14} {'bare ms':>9} {'ours ms':>9} {'ratio':>7} {'aim':>6}")
        compare(
            "check",
            lambda: cpu_of_command(["-c", BARE_PYTHON], env),
            lambda: cpu_of_command([*command, "check", str(file)], env),
            args.repeat,
        )
        compare(
            "check, source",
            lambda: cpu_of_command(["-c", BARE_PYTHON], from_source),
            lambda: cpu_of_command([*command, "check", str(file)], from_source),
            args.repeat,
        )
        if not args.no_dashboard:
            compare(
                "first paint",
                lambda: cpu_until_painted(["-c", BARE_APP], env),
                lambda: cpu_until_painted([*command, str(file)], env),
                args.repeat,
            )


if __name__ == "__main__":
    main()

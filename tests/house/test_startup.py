"""A command that prints starts at once: it loads what it needs, and no more."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT = 3.0
"""CPU time of `check`, in that of Python with the libraries that every command needs."""

LIMIT_FROM_SOURCE = 4.0
"""The same where placetui is compiled first. The aim is 2.5; the rest is for a busy machine."""

LEFT_OUT = frozenset("bridge grid observe runtime settings snapshot telemetry tui web".split())
"""Parts of placetui that `check` has no use for."""

SLOW = frozenset(
    "asyncio concurrent ctypes decimal difflib email hashlib http importlib.metadata json logging multiprocessing "
    "pathlib random socket ssl statistics subprocess tempfile unittest urllib uuid".split()
)
"""Modules of the standard library that cost milliseconds each."""

PRINT_MODULES = "\n".join(
    [
        "import atexit, sys",
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr))",
        "from placetui.cli import main",
        "sys.exit(main())",
    ]
)


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    file = tmp_path / "small.yaml"
    file.write_text("cluster:\n  num_nodes: 1\n  component_placement:\n    actor: 0-7\n", encoding="utf-8")
    return file


def cpu_seconds(arguments: list[str], environment: dict[str, str]) -> float:
    """CPU time of one run of Python, in user and system mode."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("compiled", [True, False])
def test_check_of_a_small_file_starts_at_once(tmp_path: Path, small_file: Path, compiled: bool) -> None:
    """Compiled as an installed placetui is, after the first run; and from source, as in a fresh checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if compiled:
        environment["PYTHONPYCACHEPREFIX"] = str(tmp_path / "bytecode")
    else:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    bare, ours = ["-c", "import yaml, argparse, dataclasses"], ["-m", "placetui", "check", str(small_file)]
    limit = LIMIT if compiled else LIMIT_FROM_SOURCE
    rounds: list[tuple[float, float]] = []
    ratio = limit
    while ratio >= limit and len(rounds) < 24:  # other work slows some of them down: the least of each counts
        rounds += [(cpu_seconds(bare, environment), cpu_seconds(ours, environment)) for _ in range(6)]
        least, cost = (min(times) for times in zip(*rounds, strict=True))
        ratio = cost / least
    assert ratio < limit


def test_check_loads_only_what_it_needs(small_file: Path) -> None:
    def modules(*arguments: str) -> set[str]:
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=True)
        return set(done.stderr.splitlines()[-1].split())

    found = modules("-c", PRINT_MODULES, "check", str(small_file))
    own = {name.split(".")[1] for name in found if name.startswith("placetui.")}
    assert own & LEFT_OUT == set()
    assert found & SLOW == set()

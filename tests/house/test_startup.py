"""A command that prints starts at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

AIM = 0.1
"""CPU seconds on a quiet machine."""

LIMIT = 3 * AIM
"""Wide, because machines that run tests are seldom quiet. Textual or Ray alone would exceed it."""


def cpu_seconds(command: list[str], environment: dict[str, str]) -> float:
    """CPU time of one run of `command`, in user and system mode."""
    before = os.times()
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def test_check_of_a_small_file_starts_at_once(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text("cluster:\n  num_nodes: 1\n  component_placement:\n    actor: 0-7\n", encoding="utf-8")
    # Bytecode of our own, written by the first run: an installed placetui has it, a fresh checkout does not.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "placetui", "check", str(file)]
    assert min(cpu_seconds(command, environment) for _ in range(5)) < LIMIT

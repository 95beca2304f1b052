"""What /proc tells of processes, their ancestors and their containers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from placetui.telemetry.processes import ProcessTable


def test_a_child_its_parent_and_the_leader_of_its_group() -> None:
    before = time.time()
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    try:
        table, deadline = ProcessTable(), time.monotonic() + 30
        # Just after it was started it has no command line yet.
        while "sleep" not in ((facts := table.look([child.pid, 4_000_001])).processes[child.pid].command or ""):
            assert time.monotonic() < deadline
    finally:
        child.kill()
        child.wait()
    one = facts.processes[child.pid]
    assert (one.parent, one.leader, one.inner_pid) == (os.getpid(), child.pid, None)
    assert "time.sleep(60)" in (one.command or "")
    assert one.started is not None
    # The kernel counts in hundredths, and knows the second in which it began.
    assert before - 2.0 <= one.started <= time.time() + 2.0
    assert os.getpid() in facts.processes
    assert 4_000_001 not in facts.processes


def fake(proc: Path, pid: int, *, parent: int, started: int, title: str, inner: str = "") -> None:
    directory = proc / str(pid)
    directory.mkdir(exist_ok=True)
    rest = " ".join(["0"] * 16)
    (directory / "stat").write_text(f"{pid} (odd) name) S {parent} {pid} {rest} {started} 0 0")
    (directory / "status").write_text(f"Name:\todd\nUid:\t0\t0\t0\t0\nNSpid:\t{pid}{inner}\n")
    (directory / "cmdline").write_text(f"{title}\0")


def machine(tmp_path: Path) -> Path:
    (tmp_path / "stat").write_text("cpu 1 2 3\nbtime 1000\n")
    fake(tmp_path, 50, parent=1, started=200, title="ray::Engine")
    fake(tmp_path, 60, parent=50, started=300, title="vllm worker", inner="\t7")
    return tmp_path


def test_numbers_inside_containers_are_translated_and_seconds_are_seconds(tmp_path: Path) -> None:
    facts = ProcessTable(str(machine(tmp_path))).look([60])
    tick = 1 / os.sysconf("SC_CLK_TCK")
    worker, engine = facts.processes[60], facts.processes[50]
    assert (worker.inner_pid, engine.inner_pid) == (7, None)
    assert (worker.started, worker.parent) == (round(1000 + 300 * tick, 2), 50)
    assert worker.user == "root"
    # Not the whole machine can be seen from there.
    assert not facts.complete


def test_who_did_not_change_is_the_same_and_a_new_process_with_an_old_number_is_not(tmp_path: Path) -> None:
    proc = machine(tmp_path)
    table = ProcessTable(str(proc))
    first = table.look([60])
    assert table.look([60]) is first
    fake(proc, 60, parent=50, started=999, title="somebody else")
    later = table.look([60])
    assert later.processes[60].command == "somebody else"
    assert later.processes[50] is first.processes[50]

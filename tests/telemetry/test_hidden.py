"""Machines that hide processes from one another, for real, and processes that end while they are looked at."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from placetui.observe.attribution import ActorFact, attribute
from placetui.observe.model import Claim
from placetui.telemetry.processes import ProcessTable
from tests.telemetry.container import hidden, need_hiding, surroundings
from tests.telemetry.standin import StandIn


@pytest.fixture
def public(standin_library: Callable[[int], Path]) -> Iterator[StandIn]:
    """A driver that everybody may use: the directories of tests are private."""
    directory = Path(tempfile.mkdtemp(prefix="pt-hidden-"))
    directory.chmod(0o777)
    library = directory / "library"
    shutil.copytree(standin_library(580), library)
    library.chmod(0o755)
    try:
        yield StandIn(lambda _: library, directory)
    finally:
        shutil.rmtree(directory)


@pytest.mark.parametrize("how", [1, 2])
def test_processes_of_others_that_are_hidden_are_not_called_gone(public: StandIn, how: int) -> None:
    need_hiding(how)
    other = subprocess.Popen(["sleep", "600"])
    try:
        with surroundings(public.environment, hidden(how)) as nobody:
            own = nobody.start("ray::Trainer.train")
            public.configure(f"count = 1\n[gpu 0]\nproc = {own} 5G\nproc = {other.pid} 3G\n")
            reading = nobody.read(lambda one: one.node.devices and len(one.node.devices[0].processes) == 2)
    finally:
        other.kill()
        other.wait()
    assert (own in reading.facts.processes, other.pid in reading.facts.processes) == (True, False)
    assert not reading.facts.complete
    actors = [ActorFact(0, Claim("a", "mine", own)), ActorFact(0, Claim("b", "other", other.pid))]
    found = {one.pid: one for one in attribute(reading.node, reading.facts, actors).devices[0].processes}
    # Numbers are what they are, though not everybody can be seen: there is no container.
    assert (found[own].kind, found[own].actor) == ("actor", "mine")
    unseen = found[other.pid]
    assert (unseen.kind, unseen.actor, unseen.user, unseen.command) == ("foreign", None, None, None)
    assert "is not visible here: it belongs to another container or user" in (unseen.note or "")


def test_processes_that_end_while_they_are_looked_at_are_nothing_to_stumble_over() -> None:
    table, processes = ProcessTable(), ProcessTable()
    seen = 0
    for _ in range(40):
        children = [subprocess.Popen(["true"]) for _ in range(5)]
        pids = [child.pid for child in children]
        for _ in range(10):
            facts, named = table.look(pids), processes.look(pids, ancestors=False).processes
            seen += len(facts.processes.keys() & set(pids))
            assert all(facts.processes[pid].pid == pid for pid in facts.processes)
            assert set(named) <= set(pids)
        for child in children:
            child.wait()
        # They are gone for good.
        assert not table.look(pids).processes.keys() & set(pids)
        assert processes.look(pids, ancestors=False).processes == {}
    assert seen


def test_a_proc_of_which_nothing_can_be_read_is_no_error(tmp_path: Path) -> None:
    table = ProcessTable(str(tmp_path / "none"))
    facts = table.look([1, 2, os.getpid()])
    assert (dict(facts.processes), facts.complete) == ({}, False)
    # One of which there is no more than a name, or half a line.
    half = tmp_path / "proc"
    for pid, stat in ((7, ""), (8, "8 (half) S 1"), (9, "9 (whole) S 1 9 " + "0 " * 16 + "5 0")):
        (half / str(pid)).mkdir(parents=True)
        (half / str(pid) / "stat").write_text(stat)
    facts = ProcessTable(str(half)).look([7, 8, 9])
    assert list(facts.processes) == [9]
    one = facts.processes[9]
    assert (one.started, one.user, one.command, one.inner_pid) == (None, None, None, None)

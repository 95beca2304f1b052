"""The real dashboard in a pseudo-terminal, with real Ray behind it."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.runtime.conftest import node, running_cluster
from tests.tui.test_program import Terminal, is_gone, needs_proc, terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.runtime.conftest import TestCluster

pytestmark = [pytest.mark.ray, pytest.mark.slow, needs_proc]

ESCAPE, CTRL_L, CTRL_T = "\x1b", "\x0c", "\x14"
SECONDS = 15.0
"""In which the loss of a head is said. It takes about two; the rest is for machines that are busy."""

TOPOLOGY = "placetui:\n  topology: {nodes: 1, gpus_per_node: 2}\n"


def type_slowly(desk: Terminal, *answers: tuple[str, str]) -> None:
    """What to wait for, and what to press then."""
    for words, keys in answers:
        desk.sees(words)
        desk.press(keys)


def launch_two(desk: Terminal) -> None:
    """Launch the job of two ranks, and see it run."""
    type_slowly(desk, ("A1", "L"), ("Name of the job", "\r"), ("launch 2 ranks", CTRL_L))
    desk.until(lambda: "job two" in desk.text and "live every 1 s" in desk.text and is_alive(desk), "the job runs")


def is_alive(desk: Terminal) -> bool:
    """Whether the rank under the cursor is shown as alive, with its pid."""
    return re.search(r"\balive\b.*\d\d", desk.text) is not None


@pytest.mark.soak
def test_a_job_on_an_embedded_cluster_from_launch_to_leaving(write: Callable[..., Path]) -> None:
    file = write("actor: 0-1", name="two.yaml", more=TOPOLOGY)
    with terminal(str(file), "--address", "local", "--write") as desk:
        type_slowly(desk, ("A1", "L"), ("Name of the job", "\r"), ("starting an embedded", ""), ("launch 2 ranks", ""))
        os.kill(desk.children()[0], signal.SIGKILL)
        type_slowly(desk, ("the process that talks to Ray ended: killed by SIGKILL", ""), ("list of jobs", ESCAPE))
        desk.until(lambda: "list of jobs" not in desk.text, "back at the grid")
        desk.press("L")
        type_slowly(desk, ("Name of the job", "\r"), ("launch 2 ranks", CTRL_L), ("job two", "J"), ("2/2", ESCAPE))
        desk.until(lambda: "alive  age" not in desk.text, "back at the grid")
        desk.until(lambda: "job two" in desk.text and is_alive(desk), "the job runs")
        children = desk.children()
        desk.press("q")
        type_slowly(desk, ("which ends with the dashboard", CTRL_T))
        assert desk.ends() == 0
        desk.is_clean()
        desk.until(lambda: all(map(is_gone, children)), "the processes ended")
    assert b"raylet" not in desk.output, "what Ray prints does not reach the screen"


def test_a_job_that_somebody_else_launched(one_node: TestCluster, write: Callable[..., Path]) -> None:
    theirs = write("actor: 0-1; env: 0-1", name="theirs.yaml")
    mine = write("solver: 0-1", name="mine.yaml")
    launched = one_node.up(theirs)
    assert launched.code == 0, launched.err
    with terminal(str(mine), "--address", one_node.address, "--write", "--no-sample", size=(200, 50)) as desk:
        # The nodes of the cluster take the place of the assumed ones: it has four GPUs, not eight.
        desk.sees("4 GPUs", "S1")
        type_slowly(desk, ("live every", "J"), ("4/4", "\r"), ("job theirs", ""))
        desk.until(lambda: is_alive(desk), "the rank is alive")
        desk.press("K")
        type_slowly(desk, ("Which rank?", "\r"), ("Type actor:0", "actor:0\r"), ("killed actor:0", ""))
        type_slowly(desk, ("A0✗", "X"), ("Type theirs", "theirs\r"), ("stopped theirs", "q"))
        assert desk.ends() == 0
        desk.is_clean()
    one_node.assert_clean()


def test_a_head_that_is_gone_is_said_and_editing_goes_on(
    start_cluster: Callable[..., TestCluster], write: Callable[..., Path]
) -> None:
    cluster = start_cluster({"gpus": 2})
    heads = cluster.processes[0]["gcs_server"]
    file = write("actor: 0-1", name="two.yaml", more=TOPOLOGY)
    with terminal(str(file), "--address", cluster.address, "--write", "--no-sample") as desk:
        desk.sees("live every 1 s")
        for pid in heads:
            os.kill(pid, signal.SIGSTOP)
        desk.sees("lost: ")
        type_slowly(desk, ("A1", "["), ("edited", "u"))
        for pid in heads:
            os.kill(pid, signal.SIGCONT)
        desk.sees("live every 1 s")
        type_slowly(desk, ("A1", "l"), ("node0 · GPU 1", "q"))
        assert desk.ends() == 0
        desk.is_clean()


@pytest.mark.soak
def test_a_head_that_is_killed_and_started_anew(write: Callable[..., Path]) -> None:
    """The picture stays, and the file can be edited; then all is as before, at the same address."""
    file = write("actor: 0-1", name="two.yaml")
    with ExitStack() as stack:
        first = stack.enter_context(ExitStack())
        cluster = first.enter_context(running_cluster([node(2)]))
        arguments = [str(file), "--address", cluster.address, "--write"]
        desk = stack.enter_context(terminal(*arguments, size=(200, 40)))
        # The nodes of the cluster take the place of the assumed ones.
        desk.sees("live every 1 s", "2 GPUs", "A1")
        launch_two(desk)
        for pid in cluster.processes[0]["gcs_server"]:
            os.kill(pid, signal.SIGKILL)
        begun = time.monotonic()
        desk.sees("lost: ")
        assert time.monotonic() - begun < SECONDS
        assert "2 GPUs" in desk.text, "the last picture stays"
        assert is_alive(desk)
        type_slowly(desk, ("A1", "["), ("edited", "u"))
        # What is left of it ends, as it does when somebody starts the head anew.
        first.close()
        desk.sees("lost: ", "2 GPUs")
        assert is_alive(desk)
        type_slowly(desk, ("A1", "["), ("edited", "u"))
        port = int(cluster.address.rpartition(":")[2])
        again = stack.enter_context(running_cluster([node(2, gcs_server_port=port)]))
        assert again.address == cluster.address
        desk.sees("job two", "live every 1 s", "2 GPUs", "A1")
        desk.until(lambda: not is_alive(desk), "the job went with its cluster")
        launch_two(desk)
        desk.press("q")
        assert desk.ends() == 0
        desk.is_clean()
        assert [(job["name"], job["state"]) for job in again.jobs()] == [("two", "running")]

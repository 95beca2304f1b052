"""Ranks that are killed under a job: seen at once by whoever looks, with the reason; the rest goes on."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from placetui.observe.model import Observation, RankState
from tests.runtime.watching import PATIENCE, watching

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

pytestmark = [pytest.mark.ray, pytest.mark.slow]

AT_ONCE = 2.0
"""Seconds from the kill to the news. Only the best of three kills has to meet them: the machine may be busy."""

LAUNCH = "placetui:\n  launch: {rollout: {max_restarts: -1}}\n"


class Listing:
    """`placetui ps --watch`, and when it printed what."""

    def __init__(self, cluster: TestCluster) -> None:
        self.lines: list[tuple[float, str]] = []
        self.process = cluster.start("ps", "--watch")
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line))

    def seen(self, words: str, after: float) -> float:
        """When it first said so after some moment."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found = [at for at, line in list(self.lines) if at > after and words in line]
            if found:
                return found[0]
            assert time.monotonic() < deadline, f"`{words}` is not in {self.lines[-6:]}"
            time.sleep(0.02)

    def close(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self._reader.join()


@contextmanager
def listing(cluster: TestCluster) -> Iterator[Listing]:
    opened = Listing(cluster)
    try:
        yield opened
    finally:
        opened.close()


def ranks(seen: Observation) -> dict[str, RankState]:
    return {f"{one.component}:{one.rank}": one for ones in seen.ranks.values() for one in ones}


def all_alive(seen: Observation) -> bool:
    return len(ranks(seen)) == 8 and all(one.state == "alive" for one in ranks(seen).values())


def is_in_state(name: str, state: str, seen: Observation) -> bool:
    return ranks(seen)[name].state == state


def is_another(name: str, pid: int, seen: Observation) -> bool:
    """Whether a rank restarts, or has done so."""
    return (ranks(seen)[name].state, ranks(seen)[name].pid) != ("alive", pid)


def test_a_killed_rank_is_seen_at_once_and_the_rest_goes_on(
    one_node: TestCluster, write: Callable[..., Path], tmp_path: Path
) -> None:
    """By the dashboard's own way of looking, and by `ps`."""
    launched = one_node.up(write("actor,rollout: 0-3", more=LAUNCH))
    assert launched.code == 0, launched.err
    pids = {f"{one['component']}:{one['rank']}": one["pid"] for one in launched.last["ranks"]}
    shown: list[float] = []
    listed: list[float] = []
    restarted: list[float] = []
    with watching(tmp_path, one_node.address, job="job") as watcher, listing(one_node) as ps:
        watcher.until(all_alive)
        ps.seen("running", 0.0)
        for number in (1, 2, 3):
            name, begun = f"actor:{number}", time.monotonic()
            os.kill(pids[name], signal.SIGKILL)
            seen = ranks(watcher.until(partial(is_in_state, name, "dead")))
            shown.append(time.monotonic() - begun)
            together = "1" if number == 1 else f"1-{number}"
            listed.append(ps.seen(f"  actor:{together} dead: the process died", begun) - begun)
            assert (seen[name].reason or "").startswith("the process died"), seen[name]
            assert (seen[name].node, seen[name].pid) == (0, pids[name])
            dead = [f"actor:{one}" for one in range(1, number + 1)]
            assert [one for one, state in seen.items() if state.state != "alive"] == dead
        for number in (1, 2, 3):
            name, begun = f"rollout:{number}", time.monotonic()
            os.kill(pids[name], signal.SIGKILL)
            watcher.until(partial(is_another, name, pids[name]))
            restarted.append(time.monotonic() - begun)
            back = ranks(watcher.until(partial(is_in_state, name, "alive")))[name]
            assert back.restarts == 1
            assert back.pid not in (None, pids[name])
    for seconds in (shown, listed, restarted):
        assert min(seconds) < AT_ONCE, (shown, listed, restarted)
    called = one_node.run("call", "job", "rollout", "save")
    assert called.code == 0, called.err
    left = one_node.run("call", "job", "actor", "save")
    assert (left.code, left.out) == (3, 'actor:0         "save"\n')
    assert one_node.down("job").code == 0
    one_node.assert_clean()

"""A job that a person stops while it is followed is gone, not dead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from placetui.observe.events import EventLog
from tests.runtime.conftest import TestCluster
from tests.runtime.watching import watching

pytestmark = [pytest.mark.ray, pytest.mark.slow]


def test_the_ranks_of_a_stopped_job_are_gone_and_never_dead(
    one_node: TestCluster, write: Callable[..., Path], tmp_path: Path
) -> None:
    assert one_node.up(write("actor: 0-1")).code == 0
    with watching(tmp_path, one_node.address, job="job") as watcher:
        seen = watcher.until(lambda seen: seen.ranks)
        assert [one.state for one in seen.all_ranks] == ["alive", "alive"]
        assert "@" in seen.owner
        assert one_node.down("job").code == 0
        last = watcher.until(lambda seen: not seen.ranks)
        assert (last.job, last.owner) == ("", "")
        log = EventLog()
        events = [event.kind for update in watcher.updates for event in log.update(update)]
        assert "job_ended" in events
        assert "rank_died" not in events
    one_node.assert_clean()

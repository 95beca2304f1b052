"""Nodes that are not like the others: some of their GPUs hidden, ranks in the environment; and ranks that restart."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

pytestmark = [pytest.mark.ray, pytest.mark.slow]

WORKER = """
import json, os
class Worker:
    def __init__(self, where):
        with open(f"{where}/{os.environ['RANK']}-{os.getpid()}.json", "w") as file:
            json.dump(dict(os.environ), file)
"""


@pytest.mark.soak
def test_ranks_in_the_environment_hidden_gpus_and_restarts(
    start_cluster: Callable[..., TestCluster], write: Callable[..., Path], tmp_path: Path
) -> None:
    cluster = start_cluster(
        {"gpus": 2, "env_vars": {"RLINF_NODE_RANK": "1"}},
        {"gpus": 2, "env_vars": {"RLINF_NODE_RANK": "0", "CUDA_VISIBLE_DEVICES": "11,9"}},
    )
    (tmp_path / "restarting.py").write_text(WORKER)
    launch = f"{{worker: 'restarting:Worker', kwargs: {{where: '{tmp_path}'}}, max_restarts: 1}}"
    groups = (
        "  node_groups:\n  - label: all_of_them\n    node_ranks: 0-1\n    env_configs:\n"
        "    - node_ranks: 0\n      env_vars: [{FROM_GROUP: zero}]\n"
        f"      python_interpreter_path: {sys.executable}\n"
    )
    more = f"{groups}placetui:\n  launch: {{actor: {launch}}}\n"
    file = write("actor: {node_group: all_of_them, placement: 0-3}", nodes=2, more=more)
    done = cluster.up(file, PYTHONPATH=str(tmp_path))
    assert done.code == 0, done.err
    match = next(event for event in done.events if event["step"] == "match")
    assert [one["node_id"] for one in match["nodes"]] == [cluster.nodes[1], cluster.nodes[0]]
    ranks = done.last["ranks"]
    assert [one["gpu_ids"] for one in ranks] == [["11"], ["9"], ["0"], ["1"]]
    seen = {one.stem.partition("-")[0]: json.loads(one.read_text()) for one in tmp_path.glob("*-*.json")}
    assert [seen[str(rank)]["CUDA_VISIBLE_DEVICES"] for rank in range(4)] == ["11", "9", "0", "1"]
    assert [seen[str(rank)]["LOCAL_HARDWARE_RANKS"] for rank in range(4)] == ["0", "1", "0", "1"]

    assert [seen[str(rank)].get("FROM_GROUP") for rank in range(4)] == ["zero", "zero", None, None]
    assert [seen[str(rank)]["NODE_GROUP_LABEL"] for rank in range(4)] == ["all_of_them"] * 4

    # A rank that is killed starts again by itself, with its worker.
    os.kill(ranks[1]["pid"], signal.SIGKILL)
    deadline = time.monotonic() + 30
    while len(list(tmp_path.glob("1-*.json"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    # Not a second time: it is dead then, and the job degraded.
    newest = max(tmp_path.glob("1-*.json"), key=lambda path: path.stat().st_mtime)
    os.kill(int(newest.stem.partition("-")[2]), signal.SIGKILL)
    while cluster.jobs()[0]["state"] != "degraded" or cluster.jobs()[0]["groups"]["actor"]["alive"] != 3:
        assert time.monotonic() < deadline
    assert cluster.down("job").code == 0

    # Who has no GPU of a node sees all of them, by the ids that they have there.
    launch = f"{{worker: 'restarting:Worker', kwargs: {{where: '{tmp_path}/seen'}}}}"
    (tmp_path / "seen").mkdir()
    file = write(
        "actor: 2-3; env: {node_group: node, placement: 0}",
        nodes=2,
        more=f"placetui:\n  launch: {{env: {launch}}}\n",
    )
    done = cluster.up(file, PYTHONPATH=str(tmp_path))
    assert done.code == 0, done.err
    [seen_by_env] = (tmp_path / "seen").iterdir()
    assert json.loads(seen_by_env.read_text())["VISIBLE_DEVICES"] == "11,9"
    assert cluster.down("job").code == 0
    cluster.assert_clean()

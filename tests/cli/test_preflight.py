"""What `placetui preflight` and `placetui pending` print, and how they end; without a cluster."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from placetui.cli import main
from placetui.cli.commands.cluster import pending


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "job.yaml"
    path.write_text("slime: {actor_num_nodes: 1, actor_num_gpus_per_node: 8, rollout_num_gpus: 8}\n")
    return str(path)


def test_it_fits(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preflight", file, "--cluster", "2x8"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "job.yaml: fits",
        "REQUEST         NEEDS                           VERDICT",
        "slime           PACK 16 × 1 GPU + 1 CPU         fits on node0 and node1",
    ]


def test_it_does_not(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preflight", file, "--cluster", "1x8", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"schema", "fits", "groups", "actors", "nodes", "problems", "notes"}
    assert (found["schema"], found["fits"]) == (1, False)
    (group,) = found["groups"]
    assert group["bundles"] == [{"resources": {"GPU": 1, "CPU": 1}, "count": 16}]
    assert (group["strategy"], group["fits"], group["verdict"]) == ("PACK", False, "waits")
    assert found["nodes"] == [
        {"name": "node0", "ip": "", "total": {"GPU": 8, "CPU": None}, "free": {"GPU": 8, "CPU": None}, "held_by": []}
    ]
    (problem,) = found["problems"]
    assert (problem["rule"], problem["severity"], problem["message"]) == ("does_not_schedule", "error", group["reason"])


def test_what_a_description_says_is_in_use_is_not_free(file: str, tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text("nodes: [{gpus: 8, cpus: 16}, {gpus: 8, cpus: 16, gpus_in_use: 1}]\n")
    assert main(["preflight", file, "--cluster", str(nodes)]) == 1


def test_a_file_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preflight", "nowhere.yaml", "--cluster", "1x8"]) == 2


def test_what_waits(capsys: pytest.CaptureFixture[str]) -> None:
    one = {"kind": "group", "id": "ab12", "name": "", "job": "train", "since": time.time() - 130, "needs": []}
    found = {"address": "h:1", "schema": 1, "waiting": [{**one, "reason": "why", "hint": "what to do", "nodes": []}]}
    pending.show(found)
    assert capsys.readouterr().out.splitlines() == [
        "KIND   NAME  JOB    WAITS",
        "group  ab12  train  2 min",
        "  why",
        "  hint: what to do",
    ]

"""`placetui top FILE`, `--record` and `--replay`: drift, recordings, and what is wrong usage."""

from __future__ import annotations

import json
import socket
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from placetui.cli import main
from placetui.cli.commands.cluster.top import Comparison, TextStyle, lines
from placetui.cli.exits import PROBLEMS, Abort
from placetui.document import Document, PlanRequest, plan_document
from placetui.observe.model import DeviceSample, NodeSample, Observation, ProcessSample
from placetui.observe.recording.reader import Recording
from placetui.observe.recording.writer import Recorder
from placetui.placement.topology import Node
from tests.telemetry.standin import StandIn

GIB = 2**30
COMMAND = [sys.executable, "-m", "placetui", "top", "--no-ray"]
PLAN = """
cluster:
  num_nodes: {nodes}
  component_placement: {{actor: all}}
placetui:
  topology: {{nodes: {topology}, gpus_per_node: 2}}
"""


def top(standin: StandIn, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**standin.environment, "PYTHONUTF8": "1"}
    return subprocess.run([*COMMAND, *arguments], env=environment, capture_output=True, text=True, timeout=60)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN.format(nodes=1, topology=1), encoding="utf-8")
    return path


def test_all_devices_of_the_plan_are_no_drift(standin: StandIn, file: Path) -> None:
    standin.configure("count = 2\n")
    done = top(standin, file, "--once")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"no drift from {file}"
    assert done.stderr.startswith("note: without Ray the owner of a process is unknown")


def test_drift_is_exit_1_in_text_and_json(standin: StandIn, file: Path) -> None:
    standin.configure("count = 1\n")
    done = top(standin, file, "--once")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "fewer_devices: node0 has 1 GPUs: GPU 1 of the plan does not exist"
    done = top(standin, file, "--once", "--json")
    assert done.returncode == 1
    (one,) = json.loads(done.stdout)["drift"]
    assert one.keys() == {"kind", "component", "rank", "node", "device", "message"}
    assert (one["kind"], one["node"], one["device"]) == ("fewer_devices", 0, 1)


def test_of_several_nodes_it_is_the_one_with_this_name(standin: StandIn, file: Path) -> None:
    standin.configure("count = 1\n")
    names = f"[{{name: other}}, {{name: {socket.gethostname()}}}]"
    file.write_text(PLAN.format(nodes=2, topology=names), encoding="utf-8")
    done = top(standin, file, "--once", "--json")
    assert done.returncode == 1, done.stderr
    seen = json.loads(done.stdout)
    assert [node["rank"] for node in seen["nodes"]] == [1]
    assert [(one["node"], one["device"]) for one in seen["drift"]] == [(1, 1)]


def test_a_machine_that_is_not_in_the_plan_is_wrong_usage() -> None:
    nodes = (Node(gpus=1, name="a", ip="10.0.0.1"), Node(gpus=1, name="b"))
    comparison = opened(PlanRequest(nodes=nodes))
    seen = Observation(0.0, "nvml", (NodeSample(0, "c", "10.0.0.1", devices=(DeviceSample(0),)),))
    assert [node.rank for node in comparison.compare(seen)[0].nodes] == [0]
    with pytest.raises(Abort, match="which node"):
        comparison.compare(replace(seen, nodes=(replace(seen.nodes[0], ip="10.0.0.9"),)))


def opened(plan_request: PlanRequest) -> Comparison:
    document = Document("cluster: {num_nodes: 2, component_placement: {actor: all}}", "two.yaml")
    return Comparison(document, plan_request, plan_document(document, plan_request))


def cluster_of(*gpus: int) -> Observation:
    return Observation(
        0.0,
        "ray",
        tuple(
            NodeSample(rank, f"n{rank}", devices=tuple(DeviceSample(index) for index in range(size)))
            for rank, size in enumerate(gpus)
        ),
        job="two",
    )


def test_a_file_without_a_topology_is_planned_on_the_nodes_that_are_there() -> None:
    comparison = opened(PlanRequest())
    drifts = comparison.compare(cluster_of(1, 2, 4))[1]
    assert comparison.plan.components["actor"].world_size == 3
    assert [one.kind for one in drifts] == ["missing_rank"] * 3
    # A node that is lost later is missed.
    assert "fewer_devices" in [one.kind for one in comparison.compare(cluster_of(1))[1]]


def test_a_cluster_that_is_too_small_for_a_file_is_a_problem_of_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Abort) as ended:
        opened(PlanRequest()).compare(cluster_of(4))
    assert ended.value.code == PROBLEMS
    assert "error[" in capsys.readouterr().err


def test_nobody_misses_a_job_that_is_not_watched() -> None:
    seen = replace(cluster_of(1, 1), job="")
    assert opened(PlanRequest()).compare(seen)[1] == ()


def test_a_file_that_is_missing_or_broken(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    assert main(["top", "nowhere.yaml", "--once"]) == 2
    file.write_text(file.read_text(encoding="utf-8").replace("actor: all", "actor: 0-99"), encoding="utf-8")
    assert main(["top", str(file), "--once"]) == 1
    assert capsys.readouterr().out == ""


def test_what_was_seen_is_recorded(standin: StandIn, tmp_path: Path) -> None:
    standin.configure("count = 2\n[gpu 0]\nproc = 4000001 40G\n")
    path = tmp_path / "seen"
    done = top(standin, "--once", "--json", "--record", path)
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    recording = Recording(path)
    played = list(recording)
    assert recording.problem is None
    assert json.loads(done.stdout)["nodes"] in [one.to_dict()["nodes"] for one in played]


def test_a_recording_is_not_overwritten(standin: StandIn, tmp_path: Path) -> None:
    path = tmp_path / "seen"
    path.write_text("mine")
    done = top(standin, "--once", "--record", path)
    assert (done.returncode, done.stdout, path.read_text()) == (2, "", "mine")
    assert done.stderr == f"placetui top: {path}: File exists\n"


def test_replay_needs_a_recording(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Recorder(tmp_path / "r").close()
    assert main(["--replay", str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert main([str(file), "--replay", str(file)]) == 2
    assert "not a recording" in capsys.readouterr().err
    assert main([str(file), "--replay", str(tmp_path / "nowhere")]) == 2
    assert "there is no file " in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main([str(file), "--demo", "--replay", str(tmp_path / "r")])
    assert ended.value.code == 2


def test_the_table_names_actors_and_says_what_is_gone() -> None:
    held = (
        ProcessSample(1, 2 * GIB, "actor", 0, "job", "job/actor:0", "rank"),
        ProcessSample(2, GIB, actor="Engine", kind="actor", user="ml", command="EngineCore"),
        ProcessSample(3, GIB, kind="gone", note="its process is gone, the memory is still in use"),
    )
    seen = Observation(0.0, "ray", (NodeSample(0, "a", devices=(DeviceSample(0, processes=held),)),))
    rows = [line.split(maxsplit=2) for line in list(lines(seen, TextStyle()))[-3:]]
    assert [row[2].strip() for row in rows] == [
        "2.0 GiB  job/actor:0",
        "ml    1.0 GiB  Engine  EngineCore",
        "?     1.0 GiB  its process is gone, the memory is still in use",
    ]

"""`placetui up` before it talks to anybody, and how it says what it is told."""

from __future__ import annotations

import argparse
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from placetui.cli import main
from placetui.cli.cluster import Failed, python_path
from placetui.cli.commands.cluster.up import Narrator
from placetui.observe.operations import Failure, job_name

GOOD = "cluster:\n  num_nodes: 1\n  component_placement:\n    actor: 0-3\nplacetui:\n  topology: {gpus_per_node: 4}\n"

STEPS: list[dict[str, Any]] = [
    {"step": "connect", "address": "10.0.0.1:6379", "ray": "2.60.0", "nodes": 2},
    {"step": "match", "by": "RLINF_NODE_RANK", "nodes": [{"rank": 0, "ip": "10.0.0.1", "gpus": 8}], "warnings": ["w"]},
    {
        "step": "check",
        "nodes": [{"resource": "GPU", "needed": 2.0}, {"resource": "GPU", "needed": 1.0}],
        "groups": {"actor": 2},
        "expected": [{"component": "actor", "rank": 0, "node": "10.0.0.1", "node_rank": 0, "gpu_ids": ["0"]}],
    },
    {"step": "reserve", "waiting_for": "node 0 needs 1 GPU"},
    {"step": "reserve", "bundles": 1},
    {"step": "probe", "seconds": 0.25, "devices": [{}], "moved": []},
    {"step": "launch", "component": "actor", "rank": 0, "state": "alive"},
    {
        "step": "ready",
        "job": "mine",
        "ranks": [
            {
                "component": "actor",
                "rank": 0,
                "node": "10.0.0.1",
                "node_rank": 0,
                "gpu_ids": ["0", "1"],
                "share": 0.8,
                "pid": 7,
                "actor_id": "a",
            }
        ],
    },
]


def narrator(*, as_json: bool = False, address: str = "auto", dry_run: bool = False) -> Narrator:
    return Narrator(argparse.Namespace(json=as_json, address=address, dry_run=dry_run), "mine")


def test_steps_are_narrated_and_ranks_are_data(capsys: pytest.CaptureFixture[str]) -> None:
    shown = narrator()
    for step in STEPS:
        shown.show(step)
    out, err = capsys.readouterr()
    assert out == "actor:0  node 0 10.0.0.1  GPU 0,1  0.8  pid 7\n"
    assert err.splitlines() == [
        "connect  10.0.0.1:6379, Ray 2.60.0, 2 nodes",
        "match    node 0 = 10.0.0.1 (8 GPUs), by RLINF_NODE_RANK",
        "warning: w",
        "check    3 GPUs needed: fits",
        "reserve  waiting: node 0 needs 1 GPU",
        "reserve  1 bundle",
        "probe    1 device in 0.25 s, as planned",
        "ready    job mine: 1 rank alive",
    ]


def test_json_is_a_line_for_each_step_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    shown = narrator(as_json=True)
    for step in STEPS:
        shown.show(step)
    out, err = capsys.readouterr()
    assert [json.loads(line) for line in out.splitlines()] == STEPS
    assert err == ""


def test_a_dry_run_lists_what_is_expected(capsys: pytest.CaptureFixture[str]) -> None:
    narrator(dry_run=True).show(STEPS[2])
    assert capsys.readouterr().out == "actor:0  node 0 10.0.0.1  GPU 0 (expected)\n"


def test_a_failure_has_its_exit_code_and_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    failed = Failed(Failure("actor:1 did not come up: E", "h", details={"traceback": ["File x", "E"]}), explained=True)
    narrator().failed(failed)
    assert (failed.code, list(failed.quoted)) == (3, ["File x", "E"])
    wrong = Failed(Failure("2 errors", details={"wrong_file": True}), explained=True)
    narrator().failed(wrong)
    assert wrong.code == 1
    assert Failed(Failure("interrupted", interrupted=True)).code == 130
    # What the child has reported already as a step is not reported twice.
    narrator(as_json=True).failed(failed)
    assert capsys.readouterr() == ("", "")


def test_an_embedded_cluster_says_how_to_stop_it(capsys: pytest.CaptureFixture[str]) -> None:
    shown = narrator(address="local")
    shown.show(STEPS[-1])
    assert shown.is_ready
    assert "Ctrl-C stops" in capsys.readouterr().err


def test_a_child_that_is_gone_is_reported_in_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    narrator(as_json=True).failed(Failed(Failure("it ended")))
    assert json.loads(capsys.readouterr().out) == {"step": "failed", "message": "it ended", "hint": ""}


def test_nobody_to_ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "good.yaml"
    file.write_text(GOOD)
    assert main(["up", str(file)]) == 2
    assert "say --yes" in capsys.readouterr().err


OWN_WORKER = f'{GOOD}  launch: {{actor: {{worker: "my_pkg.workers:Trainer"}}}}\n'


def test_code_that_a_file_names_needs_a_confirmation_on_an_embedded_cluster_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(OWN_WORKER)
    assert main(["up", str(file), "--address", "local"]) == 2
    assert "say --yes" in capsys.readouterr().err


def test_code_that_a_file_names_is_named_before_it_is_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(OWN_WORKER)
    for more in (["--dry-run"], ["--yes"]):
        assert main(["up", str(file), "--address", "127.0.0.1:1", *more]) == 3
        first, *others = capsys.readouterr().err.splitlines()
        assert first == "code     actor runs my_pkg.workers:Trainer"
        assert others
    monkeypatch.setattr("sys.stdin", io.StringIO("no\n"))
    options = argparse.Namespace(json=True, address="auto", dry_run=False)
    asking = Narrator(options, "mine", {"actor": "my_pkg.workers:Trainer", "critic": "my_pkg.workers:Trainer"})
    asking.show(STEPS[2])
    assert asking.show({"step": "check", "question": "launch"}) is False
    assert asking.is_declined
    expected = "start 2 ranks (actor 2), running my_pkg.workers:Trainer, as job mine? [y/N] "
    assert capsys.readouterr().err == expected


def test_files_that_cannot_be_launched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", str(tmp_path / "absent.yaml"), "--yes"]) == 2
    file = tmp_path / "bad.yaml"
    file.write_text(GOOD.replace("0-3", "0-9"))
    assert main(["up", str(file), "--yes"]) == 1
    out, err = capsys.readouterr()
    assert "bad.yaml:4:" in err
    assert out == ""


@pytest.mark.parametrize(
    ("file", "name"), [("a/my run.v2.yaml", "my-run"), ("x.yaml", "x"), ("-.yaml", "job"), ("süß.yaml", "s")]
)
def test_a_job_is_named_after_its_file(file: str, name: str) -> None:
    assert job_name(file) == name


def test_ranks_get_the_callers_python_path_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/abs", "", "rel"]))
    assert python_path() == ["/abs", str(tmp_path / "rel")]
    monkeypatch.delenv("PYTHONPATH")
    assert python_path() == []


def test_json_lines_of_a_wrong_file_end_in_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(GOOD.replace("0-3", "0-9"))
    assert main(["up", str(file), "--json", "--yes"]) == 1
    out, err = capsys.readouterr()
    (line,) = out.splitlines()
    told = json.loads(line)
    assert (told["step"], told["during"], told["wrong_file"]) == ("failed", "check", True)
    assert told["message"] == f"1 error in {file}"
    assert told["problems"][0] in err

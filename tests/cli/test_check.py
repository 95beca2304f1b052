"""`placetui check`: the words it prints, its JSON and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import placetui
from placetui.cli import main

FINE = "cluster:\n  num_nodes: 1\n  component_placement:\n    actor: 0-7\n"
BROKEN = "cluster:\n  num_nodes: 1\n  component_placement:\n    actor: 5-2\n    rollout: 0-3:x\n"
WARNED = "cluster:\n  num_nodes: 1\n  component_placement:\n    actor,: 0-7\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the commands run, so that files have short names."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("fine.yaml", FINE), ("broken.yaml", BROKEN), ("warned.yaml", WARNED)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


class Said:
    """Exit code and what was printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def problems(self) -> list[dict[str, Any]]:
        told = json.loads(self.out)
        assert list(told) == ["problems"]
        problems: list[dict[str, Any]] = told["problems"]
        return problems

    @property
    def rules(self) -> list[str]:
        return [problem["rule"] for problem in self.problems]


class Run:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Said:
        try:
            code = main(list(arguments))
        except SystemExit as leaving:  # argparse
            code = int(leaving.code or 0)
        out, err = self._capsys.readouterr()
        assert "Traceback" not in err
        return Said(code, out, err)


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(capsys)


def test_nothing_wrong(run: Run) -> None:
    said = run("check", "fine.yaml")
    assert (said.code, said.out) == (0, "")
    assert said.err.startswith("fine.yaml: fine: 1 component, 8 ranks on 1 node, 8 GPUs (assumed)")


def test_problems_to_the_letter(run: Run) -> None:
    said = run("check", "broken.yaml")
    assert said.code == 1
    assert said.err == ""
    first, first_hint, second, second_hint = said.out.splitlines()
    assert first == "broken.yaml:4:12: error[resource_range_reversed]: the range 5-2 ends before it starts"
    assert first_hint == "  hint: write 2-5"
    assert second == "broken.yaml:5:18: error[rank_format]: x is not a rank or a range"
    assert second_hint.startswith("  hint: ")


def test_problems_as_json(run: Run) -> None:
    said = run("check", "--json", "broken.yaml")
    assert said.code == 1
    assert said.problems[0] == {
        "severity": "error",
        "rule": "resource_range_reversed",
        "file": "broken.yaml",
        "line": 4,
        "column": 12,
        "path": "cluster.component_placement.actor",
        "component": "actor",
        "message": "the range `5-2` ends before it starts",
        "hint": "write `2-5`",
    }
    assert said.rules == ["resource_range_reversed", "rank_format"]


def test_nothing_wrong_as_json(run: Run) -> None:
    said = run("check", "--json", "fine.yaml")
    assert (said.code, said.problems, said.err) == (0, [], "")


def test_warnings_count_only_when_strict(run: Run) -> None:
    said = run("check", "warned.yaml")
    assert said.code == 0
    assert said.out.startswith("warned.yaml:4:5: warning[empty_component_name]: ")
    assert run("check", "--strict", "warned.yaml").code == 1
    assert run("check", "--strict", "fine.yaml").code == 0


def test_several_files(run: Run) -> None:
    said = run("check", "fine.yaml", "broken.yaml", "warned.yaml")
    assert said.code == 1
    assert [line.split(":")[0] for line in said.out.splitlines() if not line.startswith(" ")] == [
        "broken.yaml",
        "broken.yaml",
        "warned.yaml",
    ]
    assert said.err.startswith("fine.yaml: fine")


def test_a_file_that_cannot_be_read_is_worse_than_problems(run: Run, folder: Path) -> None:
    said = run("check", "--json", "broken.yaml", "missing.yaml", ".")
    assert said.code == 2
    assert said.rules == ["resource_range_reversed", "rank_format", "file_not_found", "file_unreadable"]
    assert [problem["file"] for problem in said.problems[2:]] == ["missing.yaml", "."]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(run: Run, folder: Path) -> None:
    (folder / "fine.yaml").chmod(0)
    said = run("check", "--json", "fine.yaml")
    assert (said.code, said.rules) == (2, ["file_unreadable"])


def test_what_the_system_refuses_to_open(run: Run, folder: Path) -> None:
    """A loop of links is refused to everybody, root too."""
    (folder / "loop.yaml").symlink_to("loop.yaml")
    said = run("check", "--json", "loop.yaml")
    assert (said.code, said.rules) == (2, ["file_unreadable"])


def test_a_cluster_in_numbers(run: Run) -> None:
    assert run("check", "--cluster", "1x8", "fine.yaml").err.endswith("on 1 node, 8 GPUs\n")
    said = run("check", "--json", "--cluster", "1x4", "fine.yaml")
    assert (said.code, said.rules) == (1, ["resource_out_of_range"])


def test_a_cluster_in_a_file(run: Run, folder: Path) -> None:
    (folder / "cluster.yaml").write_text("nodes: [{gpus: 16, name: big}]\n", encoding="utf-8")
    said = run("check", "--cluster", "cluster.yaml", "fine.yaml")
    assert (said.code, said.out) == (0, "")
    assert said.err.endswith("on 1 node, 16 GPUs\n")
    (folder / "cluster.yaml").write_text("nodes:\n  - gpus: many\n", encoding="utf-8")
    said = run("check", "--cluster", "cluster.yaml", "fine.yaml")
    assert said.code == 2
    assert said.err.startswith("cluster.yaml:2:11: error[topology_invalid]: ")


@pytest.mark.parametrize("cluster", ["nonsense", "8", "2x", "", "."])
def test_a_cluster_that_is_none(run: Run, cluster: str) -> None:
    said = run("check", "--cluster", cluster, "fine.yaml")
    assert (said.code, said.out) == (2, "")
    assert "error[" in said.err
    assert "hint: " in said.err


def test_a_mode(run: Run) -> None:
    assert run("check", "--mode", "component", "fine.yaml").code == 0
    said = run("check", "--json", "--mode", "model_parallel", "fine.yaml")
    assert said.code == 1
    assert "mp_missing_rollout" in said.rules
    assert run("check", "--mode", "nonsense", "fine.yaml").code == 2


def test_values_are_overridden_and_the_file_is_not(run: Run, folder: Path) -> None:
    assert run("check", "--set", "cluster.component_placement.actor=0-3", "fine.yaml").code == 0
    said = run(
        "check", "--json", "fine.yaml", "--set", "cluster.num_nodes=2", "--set", "cluster.component_placement.env=0-99"
    )
    assert (said.code, said.rules) == (1, ["resource_out_of_range"])
    assert (folder / "fine.yaml").read_text(encoding="utf-8") == FINE


@pytest.mark.parametrize("override", ["nonsense", "=3", "a..b=1", "cluster.num_nodes.x=1", "cluster=[1"])
def test_an_override_that_is_none(run: Run, override: str) -> None:
    said = run("check", "--set", override, "fine.yaml")
    assert said.code == 2
    assert "error[bad_override]" in said.out + said.err


def test_version(run: Run) -> None:
    first, *others = run("--version").out.splitlines()
    assert first == f"placetui {placetui.__version__}"
    assert [line.split()[0] for line in others] == ["python", "textual", "ray", "nvidia-ml-py", "pyyaml"]


def test_text_of_a_file_cannot_reach_the_terminal_as_commands(run: Run, folder: Path) -> None:
    (folder / "fine.yaml").write_text(
        FINE.replace("actor: 0-7", '"a\\e]0;x\\a\\nb": "0\\e[31m\\u202e\\nx"'), encoding="utf-8"
    )
    said = run("check", "fine.yaml")
    assert said.code == 1
    assert "\x1b" not in said.out
    assert "\u202e" not in said.out
    assert "\\x1b" in said.out
    assert len(said.out.splitlines()) == 2


# As a program of its own

PROGRAM = [sys.executable, "-m", "placetui", "check"]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs run elsewhere find this placetui, installed or not."""
    monkeypatch.setenv("PYTHONPATH", str(Path(placetui.__file__).parents[1]))


def test_a_reader_that_has_gone(folder: Path) -> None:
    (folder / "many.yaml").write_text(
        "cluster:\n  num_nodes: 1\n  component_placement:\n" + "".join(f"    c{i}: x\n" for i in range(2000)), "utf-8"
    )
    for file in ("broken.yaml", "many.yaml"):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [*PROGRAM, file], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
        os.close(writing)
        assert done.stderr == ""
        assert done.returncode in (0, 1)


def test_a_terminal_that_knows_ascii_only(folder: Path) -> None:
    (folder / "ascii.yaml").write_text(FINE.replace("actor: 0-7", "größe: " + "é" * 100), encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for options in ([], ["--json"]):
        done = subprocess.run(
            [*PROGRAM, *options, "ascii.yaml"], capture_output=True, env=environment, timeout=60, check=False
        )
        assert done.returncode == 1
        assert done.stderr == b""
        assert b"rank_format" in done.stdout
        if options:
            assert json.loads(done.stdout)["problems"][0]["component"] == "größe"

"""`placetui explain`: answers on stdout, problems on stderr, exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from placetui.cli import main

ROOT = Path(__file__).parents[2]

FILE = """\
cluster:
  num_nodes: 2
  component_placement:
    actor: 0-7
    rollout: 0-3:0-1,8-11:2-3
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "conf.yaml"
    path.write_text(FILE, encoding="utf-8")
    return str(path)


def test_a_rank_names_the_line_of_its_rule(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", file, "rollout:2"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == "rollout 2 is on node1/gpu0-1"
    assert lines[1] == f"  rule      rollout: 0-3:0-1,8-11:2-3 at {file}:5:14"
    assert lines[2] == "  segment   8-11:2-3: processes 2-3 over devices 8-11, 2 devices each"
    assert "    CUDA_VISIBLE_DEVICES=0,1" in lines


def test_json_has_a_schema_and_the_place_of_the_segment(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", file, "rollout:2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["kind"]) == (1, "rank")
    assert (found["rule"]["line"], found["rule"]["column"]) == (5, 14)
    assert (found["segment"]["line"], found["segment"]["column"]) == (5, 22)


@pytest.mark.parametrize(("what", "first"), [(["actor", "3"], "actor 3 is on"), (["node0/gpu5"], "node0/gpu5:")])
def test_a_question_may_have_several_words(
    file: str, what: list[str], first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", file, *what]) == 0
    assert capsys.readouterr().out.startswith(first)


def test_a_rule_given_on_the_command_line_has_no_line(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", file, "actor:0", "--json", "--set", "cluster.component_placement.actor=8-15"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rule"]["text"] == "8-15"
    assert found["rule"]["line"] is None
    assert found["node"] == 1


def test_what_is_not_there_is_wrong_usage(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", file, "actr:3"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "did you mean actor:3?" in err


def test_what_resolves_is_explained_in_spite_of_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(FILE.replace("actor: 0-7", "actor: 0-99"), encoding="utf-8")
    assert main(["explain", str(path), "rollout"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("rollout: 4 ranks on 2 nodes")
    assert "error[resource_out_of_range]" in err
    assert main(["explain", str(path), "actor:0"]) == 2
    assert "actor could not be placed" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["rollout:2", "node0/gpu5", "node0", "rollout"])
def test_every_field_is_documented(file: str, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", file, what, "--json"])
    documented = set(re.findall(r"\w+", (ROOT / "docs" / "json.md").read_text(encoding="utf-8")))
    assert set(json.loads(capsys.readouterr().out)) - documented == set()


def test_names_are_never_instructions_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "escape.yaml"
    path.write_text('cluster: {num_nodes: 1, component_placement: {"a\\e[31m\\nb": 0-3}}', encoding="utf-8")
    assert main(["explain", str(path), "node0/gpu0"]) == 0
    out = capsys.readouterr().out
    assert "a·[31m·b 0" in out
    assert "\x1b" not in out
    assert main(["diff", str(path), str(path), "--set", "cluster.num_nodes=1"]) == 0

"""`placetui diff`: exit 1 when the plans differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from placetui.cli import main


def write(folder: Path, name: str, rules: str) -> str:
    path = folder / name
    path.write_text(f"cluster: {{num_nodes: 2, component_placement: {{{rules}}}}}\n", encoding="utf-8")
    return str(path)


def test_what_moves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = write(tmp_path, "a.yaml", "rollout: 0-7"), write(tmp_path, "b.yaml", "rollout: 8-15")
    assert main(["diff", one, other]) == 1
    out, err = capsys.readouterr()
    assert out == "rollout 0-7: node0/gpu0-7 → node1/gpu0-7\n8 ranks move, 0 stay\n"
    assert err == ""


def test_files_that_say_the_same_in_other_words_do_not_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = write(tmp_path, "a.yaml", "rollout: all"), write(tmp_path, "b.yaml", "rollout: '0-7,8-15'")
    assert main(["diff", one, other]) == 0
    assert capsys.readouterr().out == "no difference: 16 ranks as before\n"


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = write(tmp_path, "a.yaml", "rollout: 0-7"), write(tmp_path, "b.yaml", "rollout: 0-3")
    assert main(["diff", one, other, "--json", "--cluster", "2x8"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["before"], found["after"], found["differ"]) == (1, one, other, True)
    assert found["counts"]["vanishes"] == 4


def test_what_resolves_is_compared_and_problems_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write(tmp_path, "a.yaml", "actor: 0-99, rollout: 0-7")
    assert main(["diff", one, one]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("no difference: 8 ranks")
    assert err.count("error[resource_out_of_range]") == 2

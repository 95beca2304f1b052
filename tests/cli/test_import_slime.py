"""`placetui import-slime`: from a command line to a file that means the same."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.cli import main
from placetui.document import Document
from placetui.frameworks.slime.arguments import KNOWN_ARGUMENTS
from placetui.frameworks.slime.command import read_command, to_yaml

LINE = "--actor-num-nodes 1 --actor-num-gpus-per-node=8 --colocate --rollout-num-gpus-per-engine 2 --lr 1e-6"


def test_the_file_is_one_that_check_accepts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import-slime", "--", *LINE.split()]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "  actor_num_nodes: 1  " in out
    assert "# nodes for training" in out
    assert "#   --lr 1e-6" in out
    file = tmp_path / "slime.yaml"
    file.write_text(out, encoding="utf-8")
    assert main(["check", str(file), "--strict"]) == 0


@pytest.mark.parametrize(
    "arguments",
    [["--", *LINE.split()], ["--", LINE], [f"python train.py {LINE}"], ["--", *f"python t.py {LINE}".split()]],
)
def test_words_and_one_text_give_the_same(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["import-slime", "--", *LINE.split()])
    expected = capsys.readouterr().out
    assert main(["import-slime", *arguments]) == 0
    assert capsys.readouterr().out == expected


def test_a_share_without_a_leading_zero_is_one_that_check_accepts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import-slime", "--", "--colocate", "--num-gpus-per-actor", ".5"]) == 0
    file = tmp_path / "slime.yaml"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["check", str(file), "--strict"]) == 0


def test_a_script_on_stdin(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"#!/bin/sh\n# it's a script\nray job submit --address=x \\\n  -- python3 train.py \\\n {LINE}"
    monkeypatch.setattr("sys.stdin", io.StringIO(script))
    assert main(["import-slime", "-"]) == 0
    assert "colocate: true" in capsys.readouterr().out


def test_a_variable_is_left_for_the_reader_to_fill_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import-slime", "--", "--actor-num-nodes", "$NODES", "--colocate"]) == 1
    out, err = capsys.readouterr()
    assert 'actor_num_nodes: "$NODES"' in out
    assert "note: --actor-num-nodes is a shell variable ($NODES)" in err
    assert "stdout:4:20: error[slime_not_a_number]" in err


def test_slimes_own_dashes_and_options_like_ours_belong_to_slime(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import-slime", "--", "ray", "job", "submit", "--help", "--", "python", "train.py", "--colocate"]) == 0
    assert "colocate: true" in capsys.readouterr().out


def test_a_quote_that_is_not_closed_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import-slime", "--", "--load 'x --colocate"]) == 2
    assert "quote is not closed" in capsys.readouterr().err


def test_no_placement_in_it_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    main(["import-slime", "--", "--lr", "1e-6"])
    out, err = capsys.readouterr()
    assert "slime: {}" in out
    assert "slime's defaults apply" in err


NUMBERS = sorted(name for name, argument in KNOWN_ARGUMENTS.items() if argument.kind == "int")
FLAGS = sorted(name for name, argument in KNOWN_ARGUMENTS.items() if argument.kind == "flag")
TEXTS = sorted(name for name, argument in KNOWN_ARGUMENTS.items() if argument.kind == "text")

printable = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co", "Zl", "Zp"]), min_size=1).filter(
    lambda text: not text.startswith("--")
)


@given(
    st.dictionaries(st.sampled_from(NUMBERS), st.integers(0, 4096)),
    st.sets(st.sampled_from(FLAGS)),
    st.dictionaries(st.sampled_from(TEXTS), printable),
    st.booleans(),
)
def test_the_file_says_what_the_command_line_said(
    numbers: dict[str, int], flags: set[str], texts: dict[str, str], joined: bool
) -> None:
    words: list[str] = []
    for name, value in {**numbers, **texts}.items():
        option = f"--{name.replace('_', '-')}"
        words += [f"{option}={value}"] if joined else [option, str(value)]
    words += [f"--{name}" for name in sorted(flags)]
    config = Document(to_yaml(read_command([*words, "--bf16"]))).config
    assert config["slime"] == {**numbers, **texts, **dict.fromkeys(flags, True)}

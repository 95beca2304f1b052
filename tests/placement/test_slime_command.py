"""Reading slime command lines and launch scripts."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from placetui.placement.shell import UnbalancedQuotes, commands
from placetui.placement.slime_args import KNOWN_ARGUMENTS
from placetui.placement.slime_command import SlimeCommand, read_command, to_yaml


def given_of(command: SlimeCommand) -> dict[str, tuple[str, ...]]:
    return {one.name: one.values for one in command.given}


def others_of(command: SlimeCommand) -> dict[str, tuple[str, ...]]:
    return {one.option: one.values for one in command.others}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", [["a", "b"]]),
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a \\\n  b \\\r\n  c", [["a", "b", "c"]]),
        ("a ''", [["a", ""]]),
        ("a # comment's end\nb", [["a"], ["b"]]),
        ("a b#c", [["a", "b#c"]]),
        ("a && b; c | d &", [["a"], ["b"], ["c"], ["d"]]),
        ("a 2>&1 > log b", [["a", "b"]]),
        ("a $HOME ${X} '$Y'", [["a", "$HOME", "${X}", "$Y"]]),
        ("N=3\na $N ${N}x '$N' \\$N", [["a", "3", "3x", "$N", "$N"]]),
        ("export N=3 M=4\na $N$M", [["export"], ["a", "34"]]),
        ("A=(x 'y z' # no\n  w)\nrun ${A[@]} \"${A[@]}\"", [["run", "x", "y z", "w", "x", "y z", "w"]]),
        ("A=(x)\nA+=(y)\nrun ${A[@]}", [["run", "x", "y"]]),
        ('D="$(cd "$(dirname "$0")" && pwd)"\nrun $D', [["run", "$D"]]),
        ("a ${X:-a b} $(b c)", [["a", "${X:-a b}", "$(b c)"]]),
        ('a "b\\"c\\n"', [["a", 'b"c\\n']]),
    ],
)
def test_words_as_a_shell_sees_them(text: str, expected: list[list[str]]) -> None:
    assert commands(text) == expected


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"])), min_size=1))
def test_what_is_quoted_comes_back(words: list[str]) -> None:
    assert commands(shlex.join(["run", *words])) == [["run", *words]]


@pytest.mark.parametrize("text", ["a 'b", 'a "b', "it's"])
def test_a_quote_that_is_not_closed_is_an_error(text: str) -> None:
    with pytest.raises(UnbalancedQuotes):
        commands(text)


@given(st.text())
@example("A=(")
@example("${")
@example("$(")
@example("\\")
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        found = commands(text)
    except UnbalancedQuotes:
        return
    to_yaml(read_command(found[0] if found else []))


@pytest.mark.parametrize(
    "before",
    [
        "",
        "python train.py ",
        "python3 -u /root/slime/train.py ",
        "CUDA_VISIBLE_DEVICES=0 python train.py ",
        "ray job submit --address=http://x:8265 --runtime-env-json='{\"a\": 1}' -- python3 train.py ",
        "ray job submit --num-gpus 3 -- ./my_launcher ",
    ],
)
def test_what_stands_before_the_arguments_is_passed_over(before: str) -> None:
    arguments = "--actor-num-nodes 2 --actor-num-gpus-per-node=4 --colocate"
    expected = {"actor_num_nodes": ("2",), "actor_num_gpus_per_node": ("4",), "colocate": ()}
    text = read_command([before + arguments])
    words = read_command(shlex.split(before + arguments))
    for command in (text, words):
        assert given_of(command) == expected
        assert command.others == ()


def test_train_async_is_noticed() -> None:
    assert "train_async" in given_of(read_command(["python train_async.py --rollout-num-gpus 4"]))


def test_a_flag_takes_no_value() -> None:
    command = read_command(["--colocate", "4", "--rollout-num-gpus", "4"])
    assert given_of(command) == {"colocate": (), "rollout_num_gpus": ("4",)}
    assert command.stray == ("4",)
    assert command.notes == ("4 belongs to no argument",)


def test_the_last_of_two_counts() -> None:
    command = read_command(["--actor-num-nodes", "1", "--actor_num_nodes=2"])
    assert given_of(command) == {"actor_num_nodes": ("2",)}
    assert "twice" in command.notes[0]


def test_unknown_arguments_are_kept_with_all_their_values() -> None:
    command = read_command(["--rope", "1", "-2", "x y", "--bf16", "--colocate"])
    assert others_of(command) == {"--rope": ("1", "-2", "x y"), "--bf16": ()}
    text = to_yaml(command)
    assert "#   --rope 1 -2 'x y'\n" in text
    assert "#   --bf16\n" in text


def test_slips_are_noticed() -> None:
    command = read_command(["--actor-num-gpu-per-node", "8", "--lr", "1e-6"])
    assert command.notes == ("--actor-num-gpu-per-node is not known; did you mean --actor-num-gpus-per-node?",)


def test_variables_stay_and_are_noted() -> None:
    command = read_command(["--actor-num-nodes $NODES --colocate ${MORE_ARGS[@]}"])
    assert given_of(command)["actor_num_nodes"] == ("$NODES",)
    assert 'actor_num_nodes: "$NODES"' in to_yaml(command)
    variable, array = command.notes
    assert "--actor-num-nodes is a shell variable ($NODES)" in variable
    assert "${MORE_ARGS[@]}" in array


def test_a_script_fills_in_what_it_sets() -> None:
    script = """
        #!/bin/bash
        set -ex
        source "$(dirname "$0")/models/small.sh"   # it's there
        GPUS=8
        ENGINE_ARGS=(
           --rollout-num-gpus-per-engine 2
           # --rollout-num-gpus 999
           --sglang-mem-fraction-static 0.7
        )
        ray start --head --num-gpus 8
        ray job submit --address="http://127.0.0.1:8265" \\
           -- python3 train.py \\
           --actor-num-nodes 1 \\
           --actor-num-gpus-per-node ${GPUS} --colocate \\
           ${MODEL_ARGS[@]} "${ENGINE_ARGS[@]}" 2>&1 | tee log.txt
    """
    command = read_command([script])
    assert given_of(command) == {
        "actor_num_nodes": ("1",),
        "actor_num_gpus_per_node": ("8",),
        "rollout_num_gpus_per_engine": ("2",),
        "colocate": (),
    }
    assert command.stray == ("${MODEL_ARGS[@]}",)


def test_secrets_stay_out_of_the_file() -> None:
    text = to_yaml(read_command(["--wandb-key", "hunter2", "--reward-key", "score", "--hf-token=hunter2"]))
    assert "hunter2" not in text
    assert "--reward-key score" in text


def test_nothing_leaves_its_comment() -> None:
    text = to_yaml(read_command(["--note", "a\nslime: {}\rb\u2028c", "--colocate"]))
    assert len(text.splitlines()) == 7
    assert all(line.startswith(("#", "slime:", "  colocate:")) for line in text.splitlines() if line)


def test_the_order_is_that_of_the_arguments_not_of_the_command() -> None:
    command = read_command(["--colocate", "--rollout-num-gpus", "4", "--actor-num-nodes", "1"])
    names = list(given_of(command))
    assert names == sorted(names, key=list(KNOWN_ARGUMENTS).index)

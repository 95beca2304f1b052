"""Reading slime command lines and launch scripts."""

from __future__ import annotations

import shlex
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from placetui.frameworks.shell import ShellSyntaxError
from placetui.frameworks.slime.arguments import KNOWN_ARGUMENTS
from placetui.frameworks.slime.command import SlimeCommand, import_command, read_command, to_yaml


def given_of(command: SlimeCommand) -> dict[str, tuple[str, ...]]:
    return {one.name: one.values for one in command.given}


def others_of(command: SlimeCommand) -> dict[str, tuple[str, ...]]:
    return {one.option: one.values for one in command.others}


@given(st.text())
@example("A=(")
@example("--colocate $(x) --actor-num-nodes `y`")
def test_no_text_breaks_the_reader(text: str) -> None:
    with suppress(ShellSyntaxError):
        to_yaml(read_command([f"{text}\n"]))


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
    assert command.notes == (
        "--actor-num-gpu-per-node is not known to slime, which ignores it silently; "
        "did you mean --actor-num-gpus-per-node?",
    )


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
    text = import_command(["--wandb-key", "hunter2 hunter2", "--reward-key", "score", "--hf-token=hunter2"]).text
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


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("A=(--colocate)\nA=(--rollout-num-gpus 8)", {"rollout_num_gpus": ("8",)}),
        ("A=(--colocate)\nA=()", {}),
        ("N=2\nN=\nA=(--actor-num-nodes ${N:-3})", {"actor_num_nodes": ("3",)}),
        ("GPUS=4\nA=(--rollout-num-gpus $((GPUS * 2)))\nA+=(--colocate)", {"rollout_num_gpus": ("8",), "colocate": ()}),
    ],
)
def test_an_array_holds_what_was_assigned_last(script: str, expected: dict[str, tuple[str, ...]]) -> None:
    assert given_of(read_command([f"{script}\npython train.py ${{A[@]}}"])) == expected


def test_a_branch_that_cannot_be_decided_is_left_to_the_reader() -> None:
    script = """
        case "$MODEL" in
            small) NODES=6 ;;
            *) NODES=16 ;;
        esac
        python train.py --actor-num-nodes $NODES --colocate
    """
    command = read_command([script])
    assert given_of(command)["actor_num_nodes"] == ("$NODES",)
    assert any("6 or 16" in note and "line 2" in note for note in command.notes), command.notes


def test_several_starts_of_training_are_noted() -> None:
    command = read_command(["if $LARGE; then\n python train.py --colocate\nelse\n python train.py\nfi"])
    assert command.questions == (
        "training is started in lines 2 and 4, and which one follows only from running the script; "
        "line 2 if $LARGE: --colocate; line 4 if otherwise: nothing else; give --set LARGE=…",
    )
    assert read_command(["python train.py --colocate\npython train.py\n"]).notes == (
        "training is started in lines 1 and 2: the first is read",
    )


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--num-gpus-per-actor", ".5"], "num_gpus_per_actor: 0.5 "),
        (["--num-gpus-per-actor=1."], "num_gpus_per_actor: 1 "),
        (["--num-gpus-per-engine", "2e-1"], "num_gpus_per_engine: 0.2 "),
        (["--num-gpus-per-engine", "x"], "num_gpus_per_engine: x "),
        (["--actor-num-nodes", "010"], "actor_num_nodes: 10 "),
        (["--actor-num-nodes", "+2"], "actor_num_nodes: 2 "),
        (["--actor-num-nodes", "2.5"], 'actor_num_nodes: "2.5" '),
    ],
)
def test_numbers_are_written_as_yaml_reads_them(words: list[str], line: str) -> None:
    assert f"  {line}" in to_yaml(read_command(words))

"""Launch scripts of verl: what decides a key, and which line."""

from __future__ import annotations

from pathlib import Path

import pytest

from placetui.cli.main import main
from placetui.document import Document
from placetui.frameworks.new_job import ScriptContext
from placetui.frameworks.planner import make_plan
from placetui.frameworks.verl.framework import FRAMEWORK

SCRIPT = """\
NNODES=${NNODES:-2}
if [ "$BIG" = 1 ]; then GPUS=16; else GPUS=8; fi
COMMON=(
  algorithm.adv_estimator=grpo
  actor_rollout_ref.rollout.name=vllm
)
python3 -m verl.trainer.main_ppo --config-name='ppo_megatron_trainer.yaml' \\
  "${COMMON[@]}" \\
  data.train_files=$HOME/x.parquet +trainer.wandb_api_key=0123456789abcdef0123 \\
  actor_rollout_ref.rollout.tensor_model_parallel_size=4 \\
  trainer.n_gpus_per_node=$GPUS trainer.nnodes=$NNODES "$@"
"""


def test_a_branch_is_named_with_its_line_and_the_way_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "run.sh"
    script.write_text(SCRIPT)
    assert main(["import", str(script)]) == 1
    printed = capsys.readouterr()
    assert "n_gpus_per_node: ???" in printed.out
    assert "line 11: trainer.n_gpus_per_node is a shell variable ($GPUS)" in printed.err
    assert "line 2, " in printed.err
    assert "bash run.sh --cfg job --resolve" in printed.err
    assert "0123456789abcdef0123" not in printed.out


def test_a_script_that_is_settled_has_lines_and_no_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "run.sh"
    script.write_text(SCRIPT)
    assert main(["import", str(script), "--set", "BIG=0"]) == 0
    printed = capsys.readouterr()
    assert "nnodes: 2                                       # run.sh:11, NNODES from line 1" in printed.out
    plan = make_plan(Document(printed.out).config)
    assert plan.components["actor_rollout"].world_size == 16
    assert plan.components["rollout"].world_size == 4


@pytest.mark.parametrize(
    ("words", "components"),
    [
        ("trainer.nnodes=4 ~trainer.nnodes", {"actor_rollout": 8, "rollout": 4}),
        ("trainer.nnodes=4 ++trainer.nnodes='2'", {"actor_rollout": 16, "rollout": 8}),
        ("critic.enable=null actor_rollout_ref.model.lora_rank=8", {"actor_rollout": 8, "rollout": 4}),
    ],
)
def test_overrides_are_read_from_left_to_right(words: str, components: dict[str, int]) -> None:
    found = FRAMEWORK.from_command([f"uv run --isolated python3 -m verl.trainer.main_ppo {words}"], None)
    plan = make_plan(Document(found.text).config)
    assert {name: one.world_size for name, one in plan.components.items()} == components
    assert any("vllm is assumed" in note for note in found.notes)


def test_a_configuration_of_ones_own_is_a_question() -> None:
    text = "python3 -m verl.trainer.main_ppo --config-path=/etc/mine --config-name=mine trainer.nnodes=1\n"
    found = FRAMEWORK.from_command([text], ScriptContext())
    assert any("--config-path /etc/mine" in question for question in found.questions)

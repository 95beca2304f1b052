"""`placetui import`: from a launch script to a file, without running anything."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import yaml

from placetui.cli import main

SCRIPT = """#!/bin/bash
set -ex
source "$(dirname "$0")/sizes.sh"
MODEL=${MODEL:-small}
case "$MODEL" in
  small) NODES=1 ;;
  large) NODES=${LARGE_NODES} ;;
esac
ROLLOUT_ARGS=(
  # --rollout-num-gpus 999
  --rollout-num-gpus $((NODES * GPUS))
)
if [ "$DEBUG" = 1 ]; then
  ROLLOUT_ARGS+=(--debug-rollout-only)
fi
cat > /tmp/groups.yaml <<END
sglang:
- name: actor
  server_groups:
  - {worker_type: regular, num_gpus: $((NODES * GPUS)), num_gpus_per_engine: 4}
END
ray job submit --runtime-env-json='{"env_vars": {"A": "1"}}' -- python3 train.py \\
  --actor-num-nodes ${NODES} --actor-num-gpus-per-node $GPUS --sglang-config /tmp/groups.yaml ${ROLLOUT_ARGS[@]}
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "sizes.sh").write_text("GPUS=8\n")
    file = tmp_path / "run-slime.sh"
    file.write_text(SCRIPT)
    return file


def test_a_script_gives_a_file_that_check_accepts(
    script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "job.yaml"
    assert main(["import", "--set", "DEBUG=0", "-o", str(output), str(script)]) == 0
    assert capsys.readouterr() == ("", "")
    config = yaml.safe_load(output.read_text())
    groups = config["slime"].pop("sglang_config")
    assert groups["sglang"][0]["server_groups"][0] == {
        "worker_type": "regular",
        "num_gpus": 8,
        "num_gpus_per_engine": 4,
    }
    assert config["slime"] == {"actor_num_nodes": 1, "actor_num_gpus_per_node": 8, "rollout_num_gpus": 8}
    assert config["placetui"] == {"slime_version": "head"}
    assert main(["check", str(output)]) == 0
    assert main(["import", "--set", "DEBUG=0", "-o", str(output), str(script)]) == 2, "nothing is overwritten"


def test_what_only_running_would_tell_is_asked_for(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--set", "DEBUG=0", "--set", "MODEL=large", str(script)]) == 1
    out, err = capsys.readouterr()
    assert 'actor_num_nodes: "${NODES}"' in out
    assert "NODES follows only from running the script (line 7, ${LARGE_NODES})" in err
    assert "--set NAME=VALUE" in err
    settings = ["--set", "DEBUG=0", "--set", "MODEL=large", "--set", "LARGE_NODES=4"]
    assert main(["import", *settings, str(script)]) == 0
    assert "actor_num_nodes: 4 " in capsys.readouterr().out


def test_the_file_says_where_each_value_comes_from(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--set", "DEBUG=0", str(script)]) == 0
    lines = capsys.readouterr().out.splitlines()
    (nodes,) = [line for line in lines if "actor_num_nodes:" in line]
    (gpus,) = [line for line in lines if "actor_num_gpus_per_node:" in line]
    (rollout,) = [line for line in lines if " rollout_num_gpus:" in line]
    assert nodes.endswith("; run-slime.sh:23, NODES from line 6")
    assert gpus.endswith("; run-slime.sh:23, GPUS from sizes.sh:1")
    assert rollout.endswith("; run-slime.sh:11, NODES from line 6, GPUS from sizes.sh:1")


def test_an_undecided_condition_lists_both_branches(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(script)]) == 1
    out, err = capsys.readouterr()
    question = 'line 13, [ "$DEBUG" = 1 ] decides whether ${ROLLOUT_ARGS[@]} holds --debug-rollout-only or (nothing)'
    assert f"note: {question}; give --set DEBUG=…" in err
    assert f"#   {question}" in out


def test_a_checkpoint_is_no_secret_and_a_variable_in_a_path_no_key(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--colocate", "--hf-checkpoint", "/m/glm", "--save", "/runs/${STAMP:-x}/$RUN"]
    assert main(["import", "--framework", "slime", "--", "train.py", *words]) == 0
    out = capsys.readouterr().out
    assert "  hf_checkpoint: /m/glm " in out
    assert "${" not in out


def test_a_script_that_ends_before_it_starts_anything_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "run.sh"
    guard = 'if [ -z "${BASE:-}" ]; then\n  echo "BASE is not set."\n  exit 1\nfi\n'
    script.write_text(f"{guard}python3 train.py --colocate --save $BASE\n")
    assert main(["import", "--framework", "slime", str(script)]) == 1
    assert "the script ends in line 3, before it starts training: BASE is not set." in capsys.readouterr().err
    assert main(["import", "--framework", "slime", "--set", "BASE=/b", str(script)]) == 0


def test_arguments_that_slime_drops_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "--", "python3", "train.py", "--colocate", "--rollout-num-gpu", "8"]) == 0
    assert "--rollout-num-gpu is not known to slime, which ignores it silently" in capsys.readouterr().err


def test_a_script_is_not_executed(tmp_path: Path) -> None:
    file = tmp_path / "run.sh"
    file.write_text(f"touch {tmp_path}/ran\nX=$(touch {tmp_path}/ran)\npython train.py --colocate $X\n")
    main(["import", str(file)])
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        ("cd /root/miles && python3 train.py --colocate", "miles"),
        ("cd /root/slime && python3 train.py --colocate", None),
        ("python3 train.py --colocate", None),
    ],
)
def test_the_framework_is_recognised_by_its_name(
    text: str, framework: str | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["import", "-"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["placetui"].get("framework") == framework


def test_a_command_line_after_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["python3", "train.py", "--rollout-num-gpus", "8", "--eval-num-gpus", "4", "--eval-interval", "5"]
    assert main(["import", "--framework", "miles", "--", *words, "--save-hf", "/x"]) == 0
    assert "eval_num_gpus: 4" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["import"], ["import", "no-such-script.sh"], ["import", "--set", "X", "-"], ["import", "--", ""]]
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code: object = main(arguments)
    except SystemExit as stopped:
        code = stopped.code
    assert code == 2
    assert "hint:" in capsys.readouterr().err

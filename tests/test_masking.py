"""Secrets in command lines and scripts are masked; all else stays as it is."""

from __future__ import annotations

import pytest

from placetui.masking import is_secret, mask_secrets, mask_words

S = "s3cr3tXYZ-0123456789abcdef"
"""What must never be seen again."""


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        # options
        (f"train.py --wandb-key {S} --lr 1e-6", "train.py --wandb-key *** --lr 1e-6"),
        (f"train.py --hf-token={S} x", "train.py --hf-token=*** x"),
        (f"--wandb_key '{S} {S}' --seed 1", "--wandb_key '***' --seed 1"),
        (f'--password "{S}"', '--password "***"'),
        (f"--api-key\t{S}", "--api-key\t***"),
        (f"--wandb-key \\\n  {S} \\\n  --x 1", None),
        ("--password hunter2", "--password ***"),
        ("--password a,b;c&d", "--password ***"),
        ('--password a\\"b', "--password ***"),
        (f"-token {S}", "-token ***"),
        (f"--reward-model-key {S}", "--reward-model-key ***"),
        # variables
        (f"WANDB_API_KEY={S} python train.py", "WANDB_API_KEY=*** python train.py"),
        (f"export HF_TOKEN='{S}'", "export HF_TOKEN='***'"),
        (f'PASSWORD="{S} and more"', 'PASSWORD="***"'),
        (f"PGPASSWORD={S}", "PGPASSWORD=***"),
        (f"AWS_SECRET_ACCESS_KEY={S};", None),
        (f"HF_TOKEN_2={S}", "HF_TOKEN_2=***"),
        (f"WANDB_API_KEY=${{WANDB_API_KEY:-{S}}}", "WANDB_API_KEY=***"),
        # Hydra, JSON, YAML, headers
        (f"+runner.logger.wandb_api_key={S}", "+runner.logger.wandb_api_key=***"),
        (f"++actor.apiKey='{S}'", "++actor.apiKey='***'"),
        (f'{{"env_vars": {{"WANDB_API_KEY": "{S}", "A": "1"}}}}', '{"env_vars": {"WANDB_API_KEY": "***", "A": "1"}}'),
        (f'"{{\\"HF_TOKEN\\": \\"{S}\\", \\"A\\": 1}}"', '"{\\"HF_TOKEN\\": \\"***\\", \\"A\\": 1}"'),
        (f"{{'password': '{S}'}}", "{'password': '***'}"),
        (f"wandb_key: {S}\nlr: 1", 'wandb_key: "***"\nlr: 1'),
        (f"curl -H 'Authorization: Bearer {S}' x", None),
        # addresses
        (f"https://me:{S}@example.org/x.git", "https://me:***@example.org/x.git"),
        (f"https://{S}@example.org/x.git", "https://***@example.org/x.git"),
        (f"postgres://u:{S}@db:5432/x", "postgres://u:***@db:5432/x"),
        (f"https://x.org/?a=1&token={S}&b=2", "https://x.org/?a=1&token=***&b=2"),
        (f"https://x.org/?access_token={S}", "https://x.org/?access_token=***"),
        # forms that are known wherever they stand
        ("login hf_abcdefghijklmnop", "login ***"),
        ("x ghp_0123456789abcdefghij y", "x *** y"),
        ("x sk-proj-0123456789abcdef", "x ***"),
        ("bash -c 'train.py --wandb-key abc'", "bash -c 'train.py --wandb-key ***'"),
    ],
)
def test_secrets_are_masked(text: str, masked: str | None) -> None:
    found = mask_secrets(text)
    assert S not in found
    assert found != text
    if masked is not None:
        assert found == masked
    assert mask_secrets(found) == found


@pytest.mark.parametrize(
    "text",
    [
        "python3 train.py --actor-num-nodes 1 --input-key prompt --label-key label --rollout-max-response-len 8192",
        "--tokenizer-path /m --max-tokens 100 --eos-token 2 --rollout-stop-token-ids 1 2 --max-new-token 5",
        "--wandb-key ${WANDB_KEY} --hf-token $HF_TOKEN --use-token --lr 1",
        "--wandb-key --lr 1",
        "WANDB_API_KEY=${WANDB_API_KEY} HF_TOKEN=",
        "--password-file /run/x --token-env HF_TOKEN",
        "runner.logger.wandb_api_key=null actor.model.num_action_chunks=8",
        "${oc.env:EMBODIED_PATH}/config env.train.init_params.id=x ~algorithm.key",
        "git clone git@github.com:a/b.git https://github.com/a/b http://10.0.0.1:8265",
        "ray::ActorGroup(rank=0) sglang::scheduler_TP0 /opt/keys/token.txt",
        "RAY_AUTH_MODE=token MASTER_PORT=1 WORLD_SIZE=8",
        "hf_checkpoint: /m/x\nhf_checkpoint_path=/m hf_tokenizer_revision",
        "",
    ],
)
def test_all_else_stays(text: str) -> None:
    assert mask_secrets(text) == text


def test_some_names_are_secret_by_their_value_only() -> None:
    assert is_secret("--foo-key", S)
    assert not is_secret("--foo-key", "prompt")


def test_words_are_values_as_a_whole() -> None:
    words = ["python", "train.py", "--password", f"{S} {S}", f"HF_TOKEN={S} x", "--lr", "1", f"https://u:{S}@h/"]
    assert mask_words(words) == [
        "python",
        "train.py",
        "--password",
        "***",
        "HF_TOKEN=***",
        "--lr",
        "1",
        "https://u:***@h/",
    ]

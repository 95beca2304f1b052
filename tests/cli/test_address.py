"""`--address` that is written wrong: said by the command itself, before it starts anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from placetui.cli import main

COMMANDS = {
    "app": [],
    "app with a file": ["sample_configs/collocated.yaml"],
    "up": ["up", "sample_configs/collocated.yaml", "--yes"],
    "dry run": ["up", "sample_configs/collocated.yaml", "--dry-run"],
    "ps": ["ps"],
    "down": ["down", "mine", "--yes"],
    "call": ["call", "mine", "actor", "save"],
    "logs": ["logs", "mine", "actor:0"],
    "stack": ["stack", "mine", "actor:0"],
    "top": ["top", "--once"],
    "doctor": ["doctor"],
    "serve": ["serve"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("foo", "foo is not HOST:PORT: write for example 10.0.0.1:6379"),
        ("10.0.0.1:99999", "10.0.0.1:99999 is not HOST:PORT"),
        ("ray://10.0.0.1:10001", "is an address of Ray's client server"),
    ],
)
def test_wrong_usage(
    command: str,
    address: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(SystemExit) as done:
        main([*COMMANDS[command], "--address", address])
    out, err = capsys.readouterr()
    assert (done.value.code, out) == (2, "")
    assert f"--address: {address}" in err
    assert says in err
    # A child process begins with its log.
    assert not list(tmp_path.iterdir())

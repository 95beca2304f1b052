"""`placetui down` before it talks to anybody."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from placetui.cli import main


def test_nobody_to_ask(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["down", "mine"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "say --yes" in err


def test_nobody_is_asked_while_the_output_goes_elsewhere() -> None:
    terminal, here = os.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "placetui", "down", "mine"],
            stdin=here,
            stdout=subprocess.PIPE,
            stderr=here,
            timeout=60,
        )
        said = os.read(terminal, 4096).decode()
    finally:
        os.close(terminal)
        os.close(here)
    assert (done.returncode, done.stdout) == (2, b"")
    assert "say --yes" in said


@pytest.mark.parametrize("arguments", [[], ["mine", "--yes", "--address", "local"], ["mine", "--force"]])
def test_wrong_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["down", *arguments])
    assert done.value.code == 2

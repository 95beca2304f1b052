"""`placetui down` before it talks to anybody."""

from __future__ import annotations

import io
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


@pytest.mark.parametrize(
    ("job", "question", "answer", "code"),
    [
        ("mine", "stop mine (running; ranks alive: actor 2)? [y/N] ", "n\n", 1),
        ("mine", "stop mine (running; ranks alive: actor 2)? [y/N] ", "", 1),
        ("mine", "stop mine (running; ranks alive: actor 2)? [y/N] ", "y\n", 0),
        ("hers", "stop hers (running; ranks alive: actor 2), which belongs to eve@gpu-1? Type its name: ", "y\n", 1),
        ("hers", "stop hers (running; ranks alive: actor 2), which belongs to eve@gpu-1? Type its name: ", "hers\n", 0),
    ],
)
def test_a_job_is_stopped_only_if_that_is_confirmed(
    job: str, question: str, answer: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("placetui.cli.cluster.RUNTIME", "tests.cli.two_jobs")
    monkeypatch.setattr("placetui.cli.commands.cluster.down.require_terminal", lambda what: None)
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    assert main(["down", job]) == code
    assert capsys.readouterr().err == question + ("" if code else f"{job} stopped: 2 actors ended\n")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["mine"], 0), (["hers"], 2), (["hers", "--owner", "bob"], 2), (["hers", "--owner", "eve"], 0)],
)
def test_yes_alone_does_not_stop_the_job_of_somebody_else(
    arguments: list[str], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("placetui.cli.cluster.RUNTIME", "tests.cli.two_jobs")
    assert main(["down", *arguments, "--yes"]) == code
    refusal = "placetui down: hers belongs to eve@gpu-1, and --yes alone does not stop it\n  hint: add --owner eve\n"
    assert capsys.readouterr().err == (refusal if code else f"{arguments[0]} stopped: 2 actors ended\n")

"""`placetui doctor`: what it sees, what it advises, and what it keeps to itself."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from placetui import locations
from placetui.cli import main
from placetui.cli.commands.doctor import terminal
from tests.telemetry.standin import StandIn

SECRET = "hunter2"


@pytest.fixture
def gpus(standin: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    for name, value in standin.variables.items():
        monkeypatch.setenv(name, value)
    return standin


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any], str]:
    code = main(["doctor", "--json", *arguments])
    out, err = capsys.readouterr()
    return code, json.loads(out), out + err


def about(found: dict[str, Any], topic: str) -> list[tuple[str, str]]:
    return [(one["state"], one["text"]) for one in found["findings"] if one["topic"] == topic]


def test_a_healthy_machine(gpus: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    code, found, _ = report(capsys)
    assert code == 0
    assert found["schema"] == 1
    assert {"placetui", "python", "ray", "textual"} <= set(found["versions"])
    assert {one["topic"] for one in found["findings"]} == {"python", "terminal", "config", "themes", "ray", "gpus"}
    assert all(one["hint"] for one in found["findings"] if one["state"] != "fine")
    [(state, text)] = about(found, "gpus")
    assert state == "fine"
    assert "8 × NVIDIA H100" in text
    assert "driver 580" in text
    assert stat.S_IMODE(locations.state_dir().stat().st_mode) == 0o700
    assert not list(locations.logs_dir().iterdir())


def test_the_text_has_a_line_for_each_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--address", "127.0.0.1:1"]) == 1
    out, err = capsys.readouterr()
    assert "problem: nothing listens at 127.0.0.1:1\n" in out
    assert "\n            hint: check --address" in out
    assert err.startswith("1 problem, ")


def test_a_driver_that_hangs_or_crashes_is_a_warning(
    gpus: StandIn, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus.configure("hang = nvmlInit*\n")
    monkeypatch.setattr("placetui.cli.commands.doctor.NVML_PATIENCE", 1.0)
    code, found, _ = report(capsys)
    assert code == 0
    assert about(found, "gpus") == [("warning", "no answer in time")]
    gpus.configure("crash = nvmlInit*\n")
    code, found, _ = report(capsys)
    assert code == 0
    [(state, text)] = about(found, "gpus")
    assert state == "warning"
    assert "SIGSEGV" in text or text == "no answer in time"


def test_settings_and_themes_that_are_wrong_are_problems(capsys: pytest.CaptureFixture[str]) -> None:
    locations.themes_dir().mkdir(parents=True)
    locations.config_file().write_text("interval: never\n", encoding="utf-8")
    (locations.themes_dir() / "mine.yaml").write_text("name: mine\n", encoding="utf-8")
    code, found, _ = report(capsys)
    assert code == 1
    assert about(found, "config")[0][0] == "problem"
    [(state, text)] = about(found, "themes")
    assert (state, "1 problem" in text) == ("problem", True)


def test_state_that_others_can_read_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    locations.state_dir().mkdir(parents=True)
    locations.state_dir().chmod(0o755)
    _, found, _ = report(capsys)
    assert ("warning", f"~/{locations.state_dir().relative_to(Path.home())} is accessible to others") in about(
        found, "config"
    )


def test_a_state_directory_that_cannot_be_made_is_a_problem_and_no_crash(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    code, found, _ = report(capsys)
    assert code == 1
    assert any(state == "problem" for state, _ in about(found, "config"))


def test_nothing_of_the_environment_is_in_the_report(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "TOKEN", "TERM_PROGRAM", "COLORTERM"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("RAY_ADDRESS", f"ray://me:{SECRET}@head:10001")
    code, found, everything = report(capsys)
    assert code == 1
    assert SECRET not in everything
    assert os.environ["HOME"] not in everything
    assert ("problem", "RAY_ADDRESS is not HOST:PORT") in about(found, "ray")


class OnTerminal:
    """A standard output that is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError


@pytest.mark.parametrize(
    ("environment", "state", "says"),
    [
        ({"TERM": "xterm-256color"}, "fine", "256 colours"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "fine", "16 million colours"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "fine", "no colours, because NO_COLOR is set"),
        ({"TERM": "vt100"}, "warning", "few colours"),
        ({}, "problem", "TERM is not set to a terminal"),
        ({"TERM": "xterm-kitty"}, "fine", "copying (OSC 52) works"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, "warning", "copying (OSC 52) does not work"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7400"}, "warning", "copying (OSC 52) does not work"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7802"}, "fine", "copying (OSC 52) works"),
        ({"TERM": "screen-256color", "TMUX": "/tmp/x"}, "fine", "goes through tmux"),
        ({"TERM": "xterm-256color"}, "fine", "untested in this terminal"),
    ],
)
def test_terminals(environment: dict[str, str], state: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", OnTerminal())
    assert [one.state for one in terminal(environment) if says in one.text] == [state]


def test_a_small_terminal_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", OnTerminal())
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("LINES", "24")
    assert next(terminal({})).state == "warning"
    monkeypatch.setenv("COLUMNS", "80")
    assert next(terminal({})).state == "fine"

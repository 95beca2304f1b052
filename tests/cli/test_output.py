"""Whatever a name holds, no command lets it steer the terminal."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from placetui.cli import main
from placetui.cli.output import SafeStream, WaitingLine, complain, harmless, raw, safe_streams
from placetui.grid.look.text import table

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202ex\rhidden"
QUOTED = json.dumps(EVIL)
CONFIG = f"""\
cluster:
  num_nodes: 1
  component_placement:
    {QUOTED}: 0-3
    actor: {QUOTED}
placetui:
  topology:
    nodes:
      - {{name: {QUOTED}, ip: {QUOTED}, gpus: 8, accelerator: {QUOTED}}}
"""
STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\tand tabbed\n", "plain\n\tand tabbed\n"),
        ("größer 節点 █░\n", "größer 節点 █░\n"),
        ("a\x1b[31mb\n", "a·[31mb\n"),
        ("a\rb\x07\x9bc", "a·b··c"),
        ("\u202egpj.exe", "·gpj.exe"),
        ("", ""),
    ],
)
def test_text_is_made_harmless(text: str, shown: str) -> None:
    assert harmless(text) == shown


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_missed_by_nobody(closed: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text("cluster: {num_nodes: 1, component_placement: {actor: 0-7}}")
    for command, code in ((f"show {file}", 0), ("down job", 2)):
        line = f"exec '{sys.executable}' -m placetui {command} {closed}"
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


def test_a_safe_stream_is_the_stream_otherwise() -> None:
    inner = io.StringIO()
    stream = SafeStream(inner)
    assert stream.write("\x1bx") == 2
    assert inner.getvalue() == "·x"
    assert stream.isatty() is False
    with safe_streams():
        assert not isinstance(raw(sys.stdout), SafeStream)


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    file = tmp_path / "evil\x1b[2J\u202e.yaml"
    file.write_text(CONFIG, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "FILE"],
        ["check", "FILE", "--json"],
        ["show", "FILE", "--color", "never"],
        ["show", "FILE", "--ascii", "--color", "never"],
        ["show", "FILE", "--format", "svg"],
        ["show", "FILE", "--format", "json"],
        ["show", "FILE", "--snapshot", "GRID"],
        ["explain", "FILE", "node0/gpu1"],
        ["explain", "FILE", "node0"],
        ["explain", "FILE", EVIL],
        ["explain", "FILE", f"{EVIL}:0", "--json"],
        ["diff", "FILE", "OTHER"],
        ["diff", "FILE", "OTHER", "--json"],
        ["top", "FILE", "--no-ray", "--once"],
        ["up", "FILE", "--yes", "--address", f"127.0.0.1:{EVIL}"],
        ["up", "FILE", "--job", EVIL],
        ["import-slime", "--", "--actor-num-nodes", EVIL, f"--{EVIL}"],
        ["config", EVIL],
        ["check", "FILE", f"--{EVIL}"],
        ["check", "FILE", "--set", EVIL],
        [f"{EVIL}.yaml"],
        ["ps", "--address", EVIL],
        ["down", EVIL, "--yes", "--address", "127.0.0.1:1"],
        ["call", EVIL, EVIL, EVIL, "--address", "127.0.0.1:1"],
        ["logs", EVIL, f"{EVIL}:0", "--address", "127.0.0.1:1"],
        ["logs", EVIL, EVIL, "--grep", EVIL, "--address", "127.0.0.1:1"],
        ["stack", EVIL, f"{EVIL}:0", "--address", "127.0.0.1:1"],
        ["doctor", "--address", EVIL],
    ],
    ids=lambda arguments: " ".join(arguments).replace(EVIL, "EVIL"),
)
def test_no_command_passes_on_what_a_name_holds(
    arguments: list[str], evil: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(CONFIG.replace("0-3", "0-4"), encoding="utf-8")
    grid = tmp_path / "grid.txt"
    grid.write_text(f"{EVIL}\n", encoding="utf-8")
    names = {"FILE": str(evil), "OTHER": str(other), "GRID": str(grid)}
    with suppress(SystemExit):
        main([names.get(word, word) for word in arguments])
    out, err = capsysbinary.readouterr()
    assert out + err
    for text in (out.decode(), err.decode()):
        assert not STEERING.search(text), ascii(text)


def test_the_names_of_jobs_are_harmless_too(capsys: pytest.CaptureFixture[str]) -> None:
    from placetui.cli.commands.cluster.ps import show

    job: dict[str, Any] = {"name": EVIL, "file": EVIL, "state": EVIL, "created": time.time(), "groups": {}}
    with safe_streams():
        show({"address": "h:1", "jobs": [job]})
    assert not STEERING.search(capsys.readouterr().out)


def test_a_complaint_has_its_lines_and_its_hint(capsys: pytest.CaptureFixture[str]) -> None:
    complain("placetui up", "actor:1 did not come up: E", "h", ["File x", "E"])
    assert capsys.readouterr().err == "placetui up: actor:1 did not come up: E\n  | File x\n  | E\n  hint: h\n"


def test_tables_are_aligned_by_what_a_terminal_shows() -> None:
    rows = [("JOB", "GPU", "FILE"), ("節点", "10", "a.yaml"), ("x", "2", "")]
    assert table(rows, right={1}) == ["JOB   GPU  FILE", "節点   10  a.yaml", "x       2"]
    assert table([("a\x1b[2Jb", "c"), ("ä", "d")], ascii=True) == ["a.[2Jb  c", "a       d"]


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Tty(), io.StringIO()], ids=["terminal", "pipe"])
def test_a_long_wait_is_explained_on_a_terminal_only(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr("placetui.cli.output.SLOW", 0.0)
    waiting = WaitingLine("asking \x1b[2J")
    waiting.update()
    waiting.update()
    waiting.clear()
    assert stream.getvalue() == ("\rasking ·[2J ...\r\x1b[K" if stream.isatty() else "")

"""Wrong usage of any command: one sentence that quotes what was written, one hint, exit code 2."""

from __future__ import annotations

import pytest

from placetui.cli import main
from placetui.cli.main import COMMANDS

MODES = "component, hybrid, model_parallel, model_parallel_eval, multi_agent and multi_agent_eval"


@pytest.mark.parametrize(
    ("typed", "sentence", "hint"),
    [
        ("check", "placetui check: FILE is missing", "usage: placetui check [options] FILE [FILE ...]"),
        ("diff a", "placetui diff: B is missing", "usage: placetui diff [options] A B"),
        ("call", "placetui call: JOB, COMPONENT and METHOD are missing", "JOB COMPONENT METHOD"),
        ("check f --mode hybird", f"placetui check: --mode: `hybird` is none of {MODES}", "did you mean `hybrid`?"),
        ("show f --density zz", "placetui show: --density: `zz` is none of full, compact and heat", "usage: "),
        ("config foo", "placetui config: `foo` is none of path, print and validate", "path|print|validate"),
        ("completion tcsh", "placetui completion: `tcsh` is none of bash, zsh and fish", "bash|zsh|fish"),
        ("f.yaml --themes x", "placetui: there is no option `--themes`; did you mean `--theme`?", "--help lists"),
        ("check f --zz", "placetui check: there is no option `--zz`", "--help lists the options"),
        ("ps zz", "placetui ps: `zz` is one argument too many", "usage: placetui ps [options]"),
        ("check f --cluster", "placetui check: --cluster needs a value", "usage: "),
        ("check f --json=3", "placetui check: --json takes no value", "usage: "),
        ("f.yaml --demo --replay x", "placetui: --replay does not go with --demo", "usage: placetui [options] [FILE]"),
        ("serve f --port abc", "placetui serve: --port: a number, not `abc`", "usage: "),
        ("show f --width 3", "placetui show: --width: a number of columns from 20 on, not `3`", "usage: "),
        ("logs job actor", "placetui logs: a rank such as actor:3, not `actor`", "JOB COMPONENT:RANK"),
        ("import-slime", "placetui import-slime: give slime's arguments after --", "usage: placetui import-slime -- "),
        ("ps --address zz", "placetui ps: --address: `zz` is not HOST:PORT", "usage: "),
        ("up f --address h:0", "placetui up: --address: `h:0` is not HOST:PORT", "usage: "),
        (
            "top --address ray://h:1",
            "placetui top: --address: `ray://h:1` is an address of Ray's client server",
            "usage: ",
        ),
    ],
)
def test_wrong_usage(typed: str, sentence: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(typed.split())
    out, err = capsys.readouterr()
    assert ended.value.code == 2
    assert out == ""
    said, below = err.splitlines()
    assert said.startswith(sentence)
    assert below.startswith("  hint: ")
    assert hint in below


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_an_option_that_does_not_exist_is_named(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--no-such-option"])
    assert ended.value.code == 2
    said, below = capsys.readouterr().err.splitlines()
    assert said.startswith(f"placetui {command}".rstrip() + ": ")
    assert "`--no-such-option`" in said or "missing" in said
    assert below.startswith("  hint: ")

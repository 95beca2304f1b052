"""Completion, tried in the shells themselves, and the man page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from placetui.cli import main
from placetui.cli.manual import page
from placetui.cli.parser import COMMANDS, command_parser

CASES = [
    # what is typed, some of what is offered, some of what is not
    ("", {"check", "doctor", "import-slime"}, {"--json"}),
    ("do", {"down", "doctor"}, {"check"}),
    ("check --", {"--json", "--strict", "--cluster", "--help"}, {"--dry-run"}),
    ("up --dr", {"--dry-run"}, {"--json"}),
    ("show --format ", {"text", "json", "svg"}, {"--width"}),
    ("show --density h", {"heat"}, {"full"}),
    ("config ", {"path", "print", "validate"}, {"check"}),
    ("--th", {"--theme"}, {"--strict"}),
    ("check s", {"some file.yaml"}, {"show"}),
    ("show --snapshot s", {"some file.yaml"}, {"text"}),
]

ASK_BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_shtab_placetui
printf '%s\\n' "${COMPREPLY[@]}"
"""


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"there is no {shell} here")


@pytest.fixture
def script(request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    shell = str(request.param)
    assert main(["completion", shell]) == 0
    file = tmp_path / f"_{shell}" / "_placetui"
    file.parent.mkdir()
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk" / "some file.yaml").write_text("")
    return file


def ask(command: list[str], desk: Path) -> set[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(desk.parent), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=desk, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return {line.split("\t")[0].strip() for line in done.stdout.splitlines()}


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(
    ("typed", "offered", "hidden"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_bash(script: Path, typed: str, offered: set[str], hidden: set[str]) -> None:
    words = ["placetui", *typed.split(" ")]
    found = ask(["bash", "--norc", "-uc", ASK_BASH, "bash", str(script), *words], script.parents[1] / "desk")
    assert offered <= found
    assert not hidden & found


@needs("fish")
@pytest.mark.parametrize("script", ["fish"], indirect=True)
@pytest.mark.parametrize(
    ("typed", "offered", "hidden"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_fish(script: Path, typed: str, offered: set[str], hidden: set[str]) -> None:
    code = "source $argv[1]; complete -C $argv[2]"
    desk = script.parents[1] / "desk"
    found = ask(["fish", "--no-config", "-c", code, str(script), f"placetui {typed}"], desk)
    # fish escapes what is to be pasted.
    assert offered <= {one.replace("\\", "") for one in found}
    assert not hidden & found


ASK_ZSH = r"""
import os, pty, re, select, subprocess, sys, time
typed, directory = sys.argv[1:]
master, slave = pty.openpty()
environment = {**os.environ, "TERM": "dumb", "PS1": "", "ZDOTDIR": directory, "COLUMNS": "400"}
streams = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
shell = subprocess.Popen(["zsh", "-fi"], **streams, env=environment, start_new_session=True)
def read_until(mark, seconds=30):
    seen, end = b"", time.monotonic() + seconds
    while mark not in seen:
        if time.monotonic() > end:
            sys.exit(f"zsh: no {mark!r} in {seen!r}")
        if select.select([master], [], [], 0.1)[0]:
            seen += os.read(master, 65536)
    return seen
# What would be offered is printed by replacing zsh's own function that takes it.
os.write(master, (
    f"stty -echo; fpath=({directory} $fpath); autoload -Uz compinit; compinit -u -D\n"
    "compadd() { local -a hits; builtin compadd -O hits \"$@\"; print -rl -- $hits >> " + directory + "/hits\n"
    "builtin compadd \"$@\" }\n"
    "ask() { zle complete-word; print -r -- rea''dy }; zle -N ask; bindkey '^T' ask; print set''up\n"
).encode())
read_until(b"setup")
os.write(master, f"placetui {typed}\x14".encode())
read_until(b"ready")
shell.kill()
print(open(directory + "/hits").read())
"""


@needs("zsh")
@pytest.mark.parametrize("script", ["zsh"], indirect=True)
@pytest.mark.parametrize(
    ("typed", "offered", "hidden"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_zsh(script: Path, typed: str, offered: set[str], hidden: set[str]) -> None:
    found = ask([sys.executable, "-c", ASK_ZSH, typed, str(script.parent)], script.parents[1] / "desk")
    assert offered <= found
    assert not hidden & found


def test_the_man_page_names_everything() -> None:
    text = page()
    for name in ("", *COMMANDS):
        assert f'.SS "{name}"' in text or not name
        for action in command_parser(name)._actions:
            assert ", ".join(action.option_strings).replace("-", "\\-") in text


@needs("mandoc")
def test_the_man_page_is_well_formed(tmp_path: Path) -> None:
    file = tmp_path / "placetui.1"
    file.write_text(page(), encoding="utf-8")
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "error", str(file)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout + done.stderr == ""
    shown = subprocess.run(["mandoc", "-T", "ascii", str(file)], capture_output=True, text=True, timeout=60).stdout
    assert "EXIT STATUS" in re.sub(".\x08", "", shown)

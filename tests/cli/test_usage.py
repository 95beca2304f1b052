"""Wrong usage of any command: one sentence that quotes what was written, one hint, exit code 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from placetui.cli import main
from placetui.cli.parser import COMMANDS

MODES = "component, hybrid, model_parallel, model_parallel_eval, multi_agent, multi_agent_eval"


@pytest.mark.parametrize(
    ("typed", "sentence", "hint"),
    [
        ("check", "placetui check: missing FILE", "usage: placetui check [options] FILE [FILE ...]"),
        ("diff a", "placetui diff: missing B", "usage: placetui diff [options] A B"),
        ("call", "placetui call: missing JOB, COMPONENT, METHOD", "JOB COMPONENT METHOD"),
        (
            "check f --mode hybird",
            f"placetui check: --mode: invalid value hybird, choose from {MODES}",
            "did you mean hybrid?",
        ),
        (
            "show f --density zz",
            "placetui show: --density: invalid value zz, choose from card, tile, small, letters, heat, full, compact",
            "usage: ",
        ),
        (
            "config foo",
            "placetui config: invalid value foo, choose from path, print, validate",
            "path|print|validate",
        ),
        ("completion tcsh", "placetui completion: invalid value tcsh, choose from bash, zsh, fish", "bash|zsh|fish"),
        ("f.yaml --themes x", "placetui: unknown option --themes; did you mean --theme?", "--help lists"),
        ("check f --zz", "placetui check: unknown option --zz", "--help lists the options"),
        ("ps zz", "placetui ps: unexpected argument zz", "usage: placetui ps [options]"),
        ("check f --cluster", "placetui check: --cluster needs a value", "usage: "),
        ("check f --json=3", "placetui check: --json takes no value", "usage: "),
        (
            "f.yaml --demo --replay x",
            "placetui: --replay cannot be used with --demo",
            "usage: placetui [options] [FILE]",
        ),
        ("serve f --port abc", "placetui serve: --port: expected a number, not abc", "usage: "),
        ("show f --width 3", "placetui show: --width: expected a number of columns, at least 20, not 3", "usage: "),
        ("stack job actor", "placetui stack: expected a rank such as actor:3, not actor", "JOB COMPONENT:RANK"),
        ("import-slime", "placetui import-slime: give slime's arguments after --", "usage: placetui import-slime -- "),
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


@pytest.mark.parametrize(
    "typed",
    [
        *(f"{command} --no-such-option" for command in ("f.yaml", *COMMANDS)),
        *(
            f"{command} --address local"
            for command in ("ps", "down j", "top", "call j c m", "logs j c:0", "stack j c:0", "doctor")
        ),
        *("check", "check f --js", "show f --update", "diff a"),
        *("call j c", "call j c m --args {", "call j c m --args 3", "call j c m --timeout 0"),
        *(
            "logs",
            "logs j actor:x",
            "logs j :3",
            "logs j actor:3 -n -1",
            "logs j actor --grep (",
            "stack j",
            "down",
            "down j --force",
        ),
        *("top --record", "top --interval 0", "top --interval soon", "top -x", "top --no-ray --address a:1"),
        *("top --once --events", "up f --timeout 0", "up f --timeout x", "up f --job a/b", "up f --wait-for-nodes 0"),
        *("config", "config show", "config path --json", "import-slime", "import-slime --", "completion"),
    ],
)
def test_exit_code_2_with_one_sentence_and_a_hint(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(typed.split())
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    said, below = err.splitlines()
    prog = "placetui" if typed.startswith("f.yaml ") else f"placetui {typed.split()[0]}"
    assert (out, said.startswith(f"{prog}: ")) == ("", True)
    assert below.startswith("  hint: ")


@pytest.mark.parametrize(
    "typed",
    ["FILE", "check FILE", "show FILE", "explain FILE actor", "diff f FILE", "up FILE --yes", "top FILE", "serve FILE"],
)
def test_a_file_that_does_not_exist(typed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f").write_text("cluster: {num_nodes: 1, component_placement: {actor: 0}}")
    names = {"FILE": str(tmp_path / "none.yaml"), "f": str(tmp_path / "f")}
    assert main([names.get(word, word) for word in typed.split()]) == 2
    out, err = capsys.readouterr()
    assert "none.yaml:" in out + err
    assert "error[file_not_found]" in out + err


def test_help_names_the_commands_and_the_options_of_the_dashboard(capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for typed in (["--help"], ["conf.yaml", "-h"]):
        with pytest.raises(SystemExit) as ended:
            main(typed)
        assert ended.value.code == 0
        texts.append(capsys.readouterr().out)
    assert main(["help"]) == 0
    texts.append(capsys.readouterr().out)
    assert len(set(texts)) == 1
    assert all(f"\n  {name} " in texts[0] for name in COMMANDS)
    assert all(option in texts[0] for option in ("FILE", "--theme NAME", "--demo", "--version"))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_for_a_command_is_its_own(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", command]) == 0
    shown = capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == shown
    assert shown.startswith(f"usage: placetui {command}")


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("chekc conf.yaml", "placetui: unknown command chekc; did you mean check?"),
        ("help chekc", "placetui help: unknown command chekc; did you mean check?"),
        ("zzz", "placetui: unknown command zzz"),
    ],
)
def test_a_mistyped_command(typed: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed.split()) == 2
    said, below = capsys.readouterr().err.splitlines()
    assert said == sentence
    assert below.startswith("  hint: the commands are check, show")


def test_a_command_imports_nothing_of_the_others() -> None:
    code = "import sys; from placetui.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, "check", "sample_configs/collocated.yaml"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parents[2],
    )
    loaded = set(done.stderr.split())
    assert {name for name in loaded if name.startswith("placetui.cli.commands.")} == {"placetui.cli.commands.check"}
    assert not loaded & {"placetui.cli.cluster", "placetui.bridge", "placetui.grid", "shtab"}

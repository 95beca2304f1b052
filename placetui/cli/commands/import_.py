"""`placetui import`: convert a launch script or a command line into a file. Nothing is executed."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from placetui.cli import exits
from placetui.cli.options import has_errors, print_problems
from placetui.document import Document, plan_document
from placetui.frameworks.base import Framework
from placetui.frameworks.launch_command import read_launch, started_program
from placetui.frameworks.new_job import ScriptContext
from placetui.frameworks.registry import framework, frameworks
from placetui.frameworks.shell import ShellSyntaxError

_STDIN = "-"
_MOST_CHARACTERS = 1_000_000
"""Of a script: nobody writes longer ones."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Convert a launch script or a command line into a commented placement file. The script is interpreted as a "
        "shell would, but nothing is executed. Pass values that only running it would give with --set."
    )
    parser.usage = "placetui import [OPTIONS] SCRIPT.sh | - | -- COMMAND..."
    names = [one.name for one in _importable()]
    parser.add_argument("--framework", choices=names, help="the framework that the script starts; default: detected")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a variable of the script, or of its N-th argument as N=VALUE; repeatable",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE, which must not exist, instead of stdout")
    parser.add_argument(
        "words", nargs="*", metavar="SCRIPT", help="the script, - for stdin, or a command line after --"
    )


def run(args: argparse.Namespace) -> int:
    words, script = _read(args.words, after_dashes="--" in args.typed)
    folder = Path() if script is None else script.parent
    path = "" if script is None else str(script.absolute())
    context = ScriptContext(_variables(args.set), lambda name: _sourced(name, folder), path)
    chosen = framework(args.framework) if args.framework else _recognise(words, context)
    return convert(chosen, words, context, args.output)


def convert(
    chosen: Framework, words: Sequence[str], context: ScriptContext | None = None, output: str | None = None
) -> int:
    """Print or write the file; notes and problems go to stderr."""
    assert chosen.from_command is not None
    try:
        found = chosen.from_command(words, context)
    except ValueError as error:
        raise exits.Abort(exits.USAGE, str(error), "quote the whole command line once more") from None
    if output is None:
        print(found.text, end="")
    else:
        try:
            with open(output, "x", encoding="utf-8") as file:
                file.write(found.text)
        except OSError as error:
            raise exits.Abort(
                exits.USAGE, f"{output} cannot be written: {error.strerror}", "choose another FILE"
            ) from None
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    if context is not None and found.questions:
        print("note: --set NAME=VALUE gives a variable of the script its value", file=sys.stderr)
    problems = plan_document(Document(found.text, output or "stdout")).problems
    print_problems(problems)
    return exits.PROBLEMS if found.questions or has_errors(problems) else exits.FINE


def _importable() -> list[Framework]:
    return [one for one in frameworks() if one.from_command is not None]


def _read(words: list[str], after_dashes: bool) -> tuple[list[str], Path | None]:
    """The words of a command line, or the text of a script and its path, if it has one."""
    script: Path | None = None
    if not any(word.strip() for word in words):
        raise exits.UsageError("give a script, - to read one from stdin, or a command line after --")
    if after_dashes or len(words) > 1:
        return words, None
    try:
        if words == [_STDIN]:
            text = sys.stdin.read(_MOST_CHARACTERS + 1)
        else:
            script = Path(words[0])
            with open(words[0], encoding="utf-8", errors="replace") as file:
                text = file.read(_MOST_CHARACTERS + 1)
    except OSError as error:
        hint = "give the path of a launch script, or a command line after --"
        raise exits.Abort(exits.USAGE, f"{words[0]} cannot be read: {error.strerror}", hint) from None
    if len(text) > _MOST_CHARACTERS:
        raise exits.Abort(exits.USAGE, f"{words[0]} is too long for a launch script", "give the script itself")
    # With a line break it counts as one text, however short it is.
    return [f"{text}\n"], script


def _variables(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not (name.isidentifier() or re.fullmatch(r"[1-9]\d?", name)):
            raise exits.UsageError(f"--set takes NAME=VALUE, not {one}")
        found[name] = value
    return found


def _recognise(words: Sequence[str], context: ScriptContext) -> Framework:
    """The framework whose program is started; of several, the one that the text names most often."""
    try:
        commands = read_launch(words, context).commands
    except ShellSyntaxError:
        commands = ()  # converting says what is wrong
    candidates = [
        one
        for one in _importable()
        if any(started_program(command.words, one.programs) is not None for command in commands)
    ]
    text = " ".join(words).lower()

    def mentions(one: Framework) -> int:
        return len(re.findall(rf"(?<![a-z]){re.escape(one.name)}(?![a-z])", text))

    return max(candidates or _importable(), key=mentions)


def _sourced(name: str, folder: Path) -> str | None:
    """A file that the script sources; of a path that is not all known, the end counts from the script's folder."""
    known = re.split(r"[})]/", name)[-1]
    path = folder / known
    try:
        if "$" in known or not path.is_file() or path.stat().st_size > _MOST_CHARACTERS:
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return None

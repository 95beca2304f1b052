"""`placetui import-slime`: turn a slime command line into a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from placetui.cli import exits
from placetui.cli.options import command_parser, print_problems
from placetui.document import Document, plan_document
from placetui.placement.shell import UnbalancedQuotes
from placetui.placement.slime_command import read_command, to_yaml

_STDIN = "-"


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    own, command = _split(list(arguments))
    parser = command_parser("import-slime", "Turn a slime command line into a commented file on stdout.")
    parser.usage = "placetui import-slime -- SLIME_ARGS…\n       placetui import-slime - < run.sh"
    parser.add_argument(
        "command",
        nargs="*",
        metavar="SLIME_ARGS",
        help="the arguments after --, the whole command line as one text, or - to read it (or a script) from stdin",
    )
    command += parser.parse_args(own).command
    if command == [_STDIN]:
        # With a line break it counts as one text, however short it is.
        command = [f"{sys.stdin.read()}\n"]
    if not any(word.strip() for word in command):
        parser.error("give slime's arguments after --, or - to read them from stdin")
    try:
        found = read_command(command)
    except UnbalancedQuotes as error:
        print(f"placetui import-slime: {error}\n  hint: quote the whole command line once more", file=sys.stderr)
        return exits.USAGE
    text = to_yaml(found)
    print(text, end="")
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    if not found.given:
        print("note: nothing in it decides a placement: slime's defaults apply", file=sys.stderr)
    problems = plan_document(Document(text, "stdout")).problems
    print_problems(problems)
    return exits.PROBLEMS if any(problem.severity == "error" for problem in problems) else exits.FINE


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Our own words and, from the first `--` on, slime's: those may look like ours."""
    if "--" in arguments:
        index = arguments.index("--")
        return arguments[:index], arguments[index + 1 :]
    return arguments, []

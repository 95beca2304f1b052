"""Finds the command and runs it; turns what may go wrong into exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper

from placetui.cli import exits
from placetui.cli.output import open_missing_streams, safe_streams

COMMANDS = {
    "check": "say what is wrong in placement files",
    "show": "draw which rank is on which device: text, SVG or JSON",
    "explain": "say why a rank is where it is, or who is on a device",
    "diff": "say which ranks move, appear or vanish between two files",
    "top": "show the memory, load and processes of the GPUs, live or once",
    "up": "launch a plan on a Ray cluster",
    "ps": "list the jobs of a Ray cluster",
    "down": "end a job",
    "call": "call a method on all ranks of a component of a job",
    "logs": "print what a rank of a job writes",
    "serve": "open the dashboard in a browser",
    "import-slime": "turn a slime command line into a file",
    "config": "show where the settings are, print them, or say what is wrong with them",
    "doctor": "say whether Python, Ray, the GPUs, the terminal and the settings are as they should be",
    "completion": "print a script with which a shell completes commands and options",
}
"""Name and what it does; each lives in a module of its name with `run(arguments) -> exit code`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `placetui` with these arguments, by default the program's own."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that knows fewer characters gets escapes
            stream.reconfigure(errors="backslashreplace")
    try:
        with safe_streams():
            code = _dispatch(arguments)
            print(end="", flush=True)  # or a reader that has gone is noticed too late
        return code
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; Python must not complain about it at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.FINE


def _dispatch(arguments: list[str]) -> int:
    first = arguments[0] if arguments else ""
    if first in COMMANDS:
        run = import_module(f"placetui.cli.{first.replace('-', '_')}").run
        return int(run(arguments[1:]))
    if first in ("-V", "--version"):
        from placetui.cli.versions import lines

        print("\n".join(lines()))
        return exits.FINE
    if first in ("-h", "--help"):
        print(_usage())
        return exits.FINE
    # With --write, which is the dashboard's, a file that is not there is made.
    if _looks_like_a_command(first) and "--write" not in arguments:
        return _unknown(first)
    from placetui.cli import app

    return app.run(arguments)


def _looks_like_a_command(word: str) -> bool:
    """A bare word that is no file: rather a mistyped command than a file that is not there."""
    return word.replace("-", "").replace("_", "").isalnum() and not word.startswith("-") and not os.path.exists(word)


def _usage() -> str:
    lines = ["usage: placetui [FILE] [options]   open the dashboard", "       placetui COMMAND …", "", "commands:"]
    lines += [f"  {name:<14}{summary}" for name, summary in COMMANDS.items()]
    return "\n".join(
        [*lines, "", "placetui COMMAND --help says more, and so does placetui FILE --help; placetui --version"]
    )


def _unknown(word: str) -> int:
    from difflib import get_close_matches

    near = get_close_matches(word, COMMANDS, 1)
    meant = f"; did you mean `{near[0]}`?" if near else ""
    print(f"placetui: there is no command `{word}`{meant}", file=sys.stderr)
    print(f"  hint: the commands are {', '.join(COMMANDS)}", file=sys.stderr)
    return exits.USAGE

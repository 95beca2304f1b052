"""The command line: one parser, with a subcommand for each command.

A command adds its arguments when somebody uses it, so that starting `check` does not import what `up` needs.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

from placetui.cli import exits
from placetui.cli.output import complain
from placetui.placement.wording import did_you_mean

COMMANDS = {
    "check": "report problems in placement files",
    "show": "draw which rank is on which device: text, SVG or JSON",
    "shot": "draw the whole dashboard as an SVG picture",
    "explain": "explain why a rank is where it is, or who is on a device",
    "diff": "show which ranks move, are added or are removed between two files",
    "top": "show memory, load and processes of the GPUs, live or once",
    "preflight": "report whether Ray can place a job, and if not, why",
    "up": "launch a plan on a Ray cluster",
    "submit": "run your own command through Ray Jobs, once it fits",
    "ps": "list the jobs of a Ray cluster",
    "down": "stop a job",
    "call": "call a method on all ranks of a component of a job",
    "logs": "print the output of ranks of a job",
    "stack": "print where a rank of a job hangs",
    "pending": "list placement groups and actors that wait, and why",
    "serve": "open the dashboard in a browser",
    "import": "convert a launch script or command line into a placement file",
    "import-slime": "convert a slime command line into a placement file",
    "config": "locate, print or validate your settings",
    "doctor": "check Python, Ray, the GPUs, the terminal and your settings",
    "completion": "print a completion script for your shell",
    "help": "show help for a command",
}
"""Name and summary. Each is a module of `placetui.cli.commands` with `add_arguments(parser)` and `run(args)`."""

ON_A_CLUSTER = frozenset({"top", "preflight", "up", "submit", "ps", "down", "call", "logs", "stack", "pending"})
"""Commands whose modules are in `placetui.cli.commands.cluster`."""


class _Formatter(argparse.HelpFormatter):
    """As wide as the terminal. By itself argparse asks `shutil`, which is slow to load, for every argument."""

    def __init__(self, prog: str) -> None:
        columns = os.environ.get("COLUMNS", "")
        try:
            width = int(columns) if columns.isdecimal() else os.get_terminal_size().columns
        except OSError:
            width = 0
        super().__init__(prog, width=(width or 80) - 2)


class _AsWritten(_Formatter, argparse.RawDescriptionHelpFormatter):
    """With the line breaks of descriptions."""


class CommandParser(argparse.ArgumentParser):
    """A parser in the house style: no abbreviations, so that new options never change what old calls mean."""

    def __init__(self, prog: str, summary: str, fill: Callable[[CommandParser], None] | None = None) -> None:
        """The summary is that of the list of commands; `fill` adds the arguments when they are first needed."""
        description = f"{summary[:1].upper()}{summary[1:]}."
        super().__init__(prog, description=description, allow_abbrev=False, add_help=False, formatter_class=_Formatter)
        self._fill = fill
        self.add_argument("-h", "--help", action="help", help="show this help")

    def complete(self) -> CommandParser:
        """Itself, with all of its arguments."""
        fill, self._fill = self._fill, None
        if fill is not None:
            fill(self)
        return self

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.complete()
        namespace, unknown = super().parse_known_args(args, namespace)
        if unknown:
            # Here, where the command is known, and not in the parser above.
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        if not hasattr(namespace, "typed"):  # else it is that of the subcommand
            namespace.typed = args
        return namespace, unknown

    def error(self, message: str) -> NoReturn:
        """Wrong usage: a sentence and a hint, as everywhere."""
        from placetui.cli.usage_errors import in_our_words

        sentence, hint = in_our_words(message, self)
        complain(self.prog, sentence, hint)
        sys.exit(exits.USAGE)

    @property
    def synopsis(self) -> str:
        """The command in one line, its options left out."""
        if self.usage:
            return self.usage.splitlines()[0]
        words = [self.prog, "[options]"]
        for action in self._get_positional_actions():
            name = str(action.metavar or "|".join(map(str, action.choices or (action.dest,))))
            many = {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} [{name} ...]"}
            words.append(many.get(str(action.nargs), name))
        return " ".join(words)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; aborts if there is no such command.

    `args.run(args)` runs the command; `args.parser` is its parser, and `args.typed` are its words.
    """
    first = arguments[0] if arguments else ""
    # With --write, which is the dashboard's, a missing file is created.
    if first not in COMMANDS and _looks_like_a_command(first) and "--write" not in arguments:
        raise unknown_command(first)
    return program_parser(first).parse_args(arguments)


def program_parser(first: str = "") -> CommandParser:
    """The parser of a command line that begins with this word.

    FILE and COMMAND stand in the same place, which argparse cannot express: with a command it has the subcommands,
    else the dashboard's arguments.
    """
    parser = CommandParser("placetui", "show which process runs on which GPU")
    parser.add_argument("-V", "--version", action=_Version, help="show the versions of placetui and what it uses")
    if first in COMMANDS:
        add_commands(parser, [first])
        return parser
    _fill("dashboard", parser)
    parser.formatter_class = _AsWritten
    parser.usage = "placetui [options] [FILE]    open the dashboard\n       placetui COMMAND ..."
    commands = "\n".join(f"  {name:<14}{summary}" for name, summary in COMMANDS.items())
    parser.description = f"{parser.description}\n\ncommands:\n{commands}"
    parser.epilog = "For the options of a command: placetui help COMMAND"
    return parser


def add_commands(parser: CommandParser, names: Iterable[str] = COMMANDS) -> dict[str, CommandParser]:
    """Add subcommands, by default all; each adds its arguments when it is used."""
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=CommandParser)
    for name in names:
        summary = COMMANDS[name]
        commands.add_parser(
            name, help=summary, prog=f"{parser.prog} {name}", summary=summary, fill=partial(_fill, name)
        )
    return dict(commands.choices)


def command_parser(name: str) -> CommandParser:
    """The parser of one command with all its arguments; the dashboard is the command without a name."""
    return add_commands(CommandParser("placetui", ""), [name])[name].complete() if name else program_parser()


def unknown_command(word: str) -> exits.Abort:
    """What to say of a command that does not exist."""
    meant = f"; {near}" if (near := did_you_mean(word, COMMANDS)) else ""
    return exits.Abort(exits.USAGE, f"unknown command `{word}`{meant}", f"the commands are {', '.join(COMMANDS)}")


class _Version(argparse.Action):
    """Prints the versions that matter."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from placetui.cli.versions import versions

        print("\n".join(f"{name} {version}" for name, version in versions().items()))
        parser.exit()


def _fill(name: str, parser: CommandParser) -> None:
    with without_collecting():
        room = "commands.cluster" if name in ON_A_CLUSTER else "commands"
        module = import_module(f"placetui.cli.{room}.{'import_' if name == 'import' else name.replace('-', '_')}")
    module.add_arguments(parser)
    parser.set_defaults(run=module.run, parser=parser)


def _looks_like_a_command(word: str) -> bool:
    """A bare word that is no file: rather a mistyped command than a file that does not exist."""
    return word.replace("-", "").replace("_", "").isalnum() and not word.startswith("-") and not os.path.exists(word)


@contextmanager
def without_collecting() -> Iterator[None]:
    """Without Python's garbage collector: nothing that modules define is garbage, and looking through it again and
    again takes a tenth of the start.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()

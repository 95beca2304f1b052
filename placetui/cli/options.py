"""Options that several commands share, and how they become a plan."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from placetui.cli import exits
from placetui.document import Document, DocumentError, Wishes, parse_override, plan_document, read_cluster_option
from placetui.placement.plan import Plan
from placetui.placement.problems import Problem
from placetui.placement.settings import MODES


class _Question(str):
    """An argument that no user can type."""


DESCRIBE = _Question("--describe")
"""As the only argument of a command: do nothing but hand over the complete parser (`Described`)."""


class Described(Exception):
    """What a command understands."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__(parser.prog)
        self.parser = parser


class CommandParser(argparse.ArgumentParser):
    """A parser in the house style: no abbreviations, so that new options never change old calls."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(prog, description=description, allow_abbrev=False, add_help=False)
        self.add_argument("-h", "--help", action="help", help="print this")

    def error(self, message: str) -> NoReturn:
        """Wrong usage: one sentence and a hint, as everywhere."""
        from placetui.cli.usage import explain

        sentence, hint = explain(message, self)
        print(f"{self.prog}: {sentence}", f"  hint: {hint}", sep="\n", file=sys.stderr)
        sys.exit(exits.USAGE)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if args and isinstance(args[0], _Question):
            raise Described(self)
        return super().parse_known_args(args, namespace)


def command_parser(name: str, description: str) -> argparse.ArgumentParser:
    """The parser of a command; `parser_of` finds it again."""
    return CommandParser(f"placetui {name}", description)


def parser_of(run: Callable[[Sequence[str]], int]) -> argparse.ArgumentParser:
    """What a command understands, from its own parser at the moment it would parse."""
    try:
        run([DESCRIBE])
    except Described as found:
        return found.parser
    raise TypeError(f"{run.__module__} parses nothing")


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Add --cluster, --mode and --set."""
    parser.add_argument("--cluster", metavar="NxG|FILE", help="nodes x GPUs per node, or a file with a topology")
    parser.add_argument(
        "--mode",
        choices=MODES,
        metavar="MODE",
        help=f"how the file is read, instead of what the file says: {', '.join(MODES)}",
    )
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides", help="override a value of the file"
    )


def wishes_of(args: argparse.Namespace) -> Wishes:
    """What the options ask for.

    Raises:
        DocumentError: an option is not written as it should be.
    """
    nodes = None if args.cluster is None else tuple(read_cluster_option(args.cluster))
    return Wishes(nodes=nodes, mode=args.mode, overrides=tuple(parse_override(text) for text in args.overrides))


def open_plan(file: str, wishes: Wishes) -> tuple[Document, Plan]:
    """Read and resolve a file.

    Raises:
        DocumentError: the file cannot be read.
    """
    document = Document.from_file(file)
    return document, plan_document(document, wishes)


def print_problems(problems: Iterable[Problem], *, to_stdout: bool = False) -> None:
    """Print problems to stderr, or to stdout where they are what was asked for."""
    for problem in problems:
        print(problem.format(), file=sys.stdout if to_stdout else sys.stderr)


__all__ = [
    "CommandParser",
    "DocumentError",
    "add_plan_options",
    "command_parser",
    "open_plan",
    "parser_of",
    "print_problems",
    "wishes_of",
]

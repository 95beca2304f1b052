"""`placetui import-slime`: convert a slime command line into a file."""

from __future__ import annotations

import argparse
import sys

from placetui.cli import exits
from placetui.cli.commands.import_ import convert
from placetui.frameworks.registry import framework

_STDIN = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Convert a slime command line into a commented placement file, on stdout."
    parser.usage = "placetui import-slime -- SLIME_ARGS...\n       placetui import-slime - < run.sh"
    parser.add_argument(
        "words",
        nargs="*",
        metavar="SLIME_ARGS",
        help="the arguments after --, the whole command line as one text, or - to read it (or a script) from stdin",
    )


def run(args: argparse.Namespace) -> int:
    words = args.words
    if words == [_STDIN]:
        # With a line break it counts as one text, however short it is.
        words = [f"{sys.stdin.read()}\n"]
    if not any(word.strip() for word in words):
        raise exits.UsageError("give slime's arguments after --, or - to read them from stdin")
    return convert(framework("slime"), words)

"""Runs a command line, and turns what may go wrong into exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from placetui.cli import exits
from placetui.cli.output import complain, open_missing_streams, safe_streams
from placetui.cli.parser import CommandParser, parse


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `placetui` with these arguments, by default the program's own."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal that knows fewer characters gets escapes
            stream.reconfigure(errors="backslashreplace")
    try:
        with safe_streams():
            code = _run(arguments)
            print(end="", flush=True)  # or a reader that has gone is noticed too late
        return code
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone; Python must not complain about it at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.FINE


def execute(args: argparse.Namespace) -> int:
    """Run a parsed command line; the exit code."""
    parser: CommandParser = args.parser
    try:
        return int(args.run(args))
    except exits.UsageError as wrong:
        parser.error(str(wrong))
    except exits.Abort as abort:
        return _give_up(parser.prog, abort)


def _run(arguments: Sequence[str]) -> int:
    try:
        return execute(parse(arguments))
    except exits.Abort as abort:
        return _give_up("placetui", abort)


def _give_up(prog: str, abort: exits.Abort) -> int:
    if abort.message and abort.code != exits.INTERRUPTED:
        complain(prog, abort.message, abort.hint, abort.quoted)
    return abort.code

"""`placetui help`: help for a command, or for the whole program."""

from __future__ import annotations

import argparse

from placetui.cli import exits
from placetui.cli.parser import COMMANDS, command_parser, unknown_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Show help for a command; without COMMAND, for the dashboard and the list of commands."
    parser.add_argument("name", nargs="?", default="", metavar="COMMAND", help="such as check or top")


def run(args: argparse.Namespace) -> int:
    if args.name and args.name not in COMMANDS:
        raise unknown_command(args.name)
    command_parser(args.name).print_help()
    return exits.FINE

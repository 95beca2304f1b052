"""`placetui completion`: a script with which a shell completes commands and options, made by shtab."""

from __future__ import annotations

import argparse

from placetui.cli import exits
from placetui.cli.parser import CommandParser, add_commands

SHELLS = ("bash", "zsh", "fish")

_FILES = ("FILE", "NxG|FILE", "GRID.txt", "F", "A", "B")
"""What stands in the help for a file."""

_ZSH_FILES = """
functions[_placetui_commands_alone]=$functions[_shtab_placetui_commands]
_shtab_placetui_commands() { _placetui_commands_alone; _files }
"""
"""In zsh, the first word may be a file too."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Print a script that makes your shell complete commands, options and files."
    parser.add_argument(
        "shell", metavar="|".join(SHELLS), choices=SHELLS, help="for example: source <(placetui completion bash)"
    )


def run(args: argparse.Namespace) -> int:
    print(script(args.shell))
    return exits.FINE


def script(shell: str) -> str:
    """The script for a shell. It is complete in itself: pressing tab never starts Python."""
    import shtab

    from placetui.cli.commands import dashboard

    parser = CommandParser("placetui", "open the dashboard")
    dashboard.add_options(parser)
    for command in (parser, *(command.complete() for command in add_commands(parser).values())):
        for action in command._actions:
            if action.metavar in _FILES:
                vars(action)["complete"] = shtab.FILE
    text: str = shtab.complete(parser, shell, preamble=_ZSH_FILES if shell == "zsh" else "")
    # In bash, the first word is a file where it begins no command.
    return text.replace("complete -o bashdefault ", "complete -o bashdefault -o default ")

"""What all commands understand, read from their own parsers: for completion and for the man page."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from placetui.cli import app
from placetui.cli.main import COMMANDS
from placetui.cli.options import parser_of

FILE_METAVARS = ("FILE", "NxG|FILE", "GRID.txt", "F", "A", "B")
"""Those that stand for a file."""


@dataclass(frozen=True, slots=True)
class Word:
    """An option, or an argument by its place."""

    names: tuple[str, ...]
    """`--json`, or nothing for an argument by its place."""

    value: str
    """What stands for its value; empty if it takes none."""

    choices: tuple[str, ...]
    help: str
    many: bool
    """Whether it may be given several times."""

    @property
    def is_file(self) -> bool:
        return self.value in FILE_METAVARS


@dataclass(frozen=True, slots=True)
class Command:
    """One command; the dashboard has no name."""

    name: str
    summary: str
    description: str
    usage: str
    options: tuple[Word, ...]
    places: tuple[Word, ...]

    @property
    def takes_files(self) -> bool:
        return any(word.is_file for word in self.places)


def grammar() -> Mapping[str, Command]:
    """By name; the dashboard first, under the empty name."""
    commands = {"": _command("", "open the dashboard", parser_of(app.run))}
    for name, summary in COMMANDS.items():
        run = import_module(f"placetui.cli.{name.replace('-', '_')}").run
        commands[name] = _command(name, summary, parser_of(run))
    return commands


def _command(name: str, summary: str, parser: argparse.ArgumentParser) -> Command:
    words = [_word(action) for action in parser._actions if action.help != argparse.SUPPRESS]
    # Several lines only where there are several ways to call it.
    lines = parser.usage.splitlines() if parser.usage else [parser.format_usage().removeprefix("usage: ")]
    usage = "\n".join(" ".join(line.split()) for line in lines)
    return Command(
        name,
        summary,
        parser.description or "",
        usage,
        tuple(word for word in words if word.names),
        tuple(word for word in words if not word.names),
    )


def _word(action: Any) -> Word:
    choices = tuple(map(str, action.choices or ()))
    takes_value = action.nargs != 0
    named = action.metavar or ("|".join(choices) if choices else str(action.dest).upper())
    return Word(
        names=tuple(action.option_strings),
        value=str(named) if takes_value else "",
        choices=choices,
        help=str(action.help or "") % {"default": action.default, "prog": ""},
        many=type(action).__name__ == "_AppendAction" or action.nargs in ("*", "+"),
    )

"""The man page, from the parsers of all commands: `make man`, or `python -m placetui.cli.manual`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

from placetui import __version__
from placetui.cli.parser import COMMANDS, command_parser

EXITS = (
    ("0", "success"),
    ("1", "problems found, or differences, or drift; or you answered no"),
    ("2", "wrong usage, or a file that cannot be read; or a confirmation is needed and there is no terminal"),
    ("3", "the cluster or its hardware failed"),
    ("130", "interrupted"),
)

ENVIRONMENT = (
    ("RAY_ADDRESS", "the cluster, without --address; local: use none"),
    ("NO_COLOR", "if set, nothing is coloured"),
    ("PYTHONPATH", "also where ranks started by up look for worker classes"),
    ("XDG_CONFIG_HOME, XDG_STATE_HOME", "where the files below are, if not in your home directory"),
)

FILES = (
    ("~/.config/placetui/config.yaml", "your settings; create one with placetui config print"),
    ("~/.config/placetui/themes/", "your own themes"),
    ("~/.local/state/placetui/", "remembered state, recovery files, and logs of child processes"),
)


def page() -> str:
    """In the language of man."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    parsers = {name: command_parser(name) for name in ("", *COMMANDS)}
    yield f'.TH PLACETUI 1 "" "placetui {__version__}" "User Commands"'
    yield from (
        ".SH NAME",
        "placetui \\- see, check and launch the placement of processes on GPUs of a Ray cluster",
    )
    yield ".SH SYNOPSIS"
    yield "\n.PP\n".join("\n.br\n".join(map(_text, _usages(parser))) for parser in parsers.values())
    yield ".SH DASHBOARD"
    yield from _command(parsers.pop(""))
    yield ".SH COMMANDS"
    for name, parser in parsers.items():
        yield f'.SS "{name}"'
        yield from _command(parser)
    yield ".SH EXIT STATUS"
    yield from _table(EXITS)
    yield ".SH ENVIRONMENT"
    yield from _table(ENVIRONMENT)
    yield ".SH FILES"
    yield from _table(FILES)


def _usages(parser: argparse.ArgumentParser) -> list[str]:
    """A line for each way to call it."""
    lines = parser.usage.splitlines() if parser.usage else [parser.format_usage().removeprefix("usage: ")]
    return [" ".join(line.split()) for line in lines]


def _command(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield _text((parser.description or "").partition("\n")[0])
    yield from _table([(_heading(action), str(action.help or "")) for action in parser._actions])


def _heading(action: argparse.Action) -> str:
    """`--json`, `-n, --lines N`, `FILE`."""
    choices = "|".join(map(str, action.choices or ()))
    value = "" if action.nargs == 0 else str(action.metavar or choices or action.dest.upper())
    return f"{', '.join(action.option_strings)} {value}".strip()


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, text in rows:
        yield from (".TP", f"\\fB{_text(name)}\\fR", _text(text) or "\\&")


def _text(text: str) -> str:
    """Escaped: a backslash, a dash that is one, and a line that would begin with a command."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("`", "\\(ga")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


if __name__ == "__main__":
    print(page(), end="")

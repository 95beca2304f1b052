"""`placetui config`: locate, print and validate the settings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from placetui import locations
from placetui.cli import exits
from placetui.cli.options import print_problems, print_result
from placetui.placement.problems import Problem
from placetui.settings import AppSettings, commented, read_settings

UNREADABLE = frozenset({"file_unreadable", "file_not_text", "file_too_large"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        metavar="path|print|validate",
        choices=("path", "print", "validate"),
        help="path: where the file is; print: a complete file with your values and explanations; "
        "validate: problems in it and in your themes",
    )
    parser.add_argument("--json", action="store_true", help="with validate: print problems as JSON")


def run(args: argparse.Namespace) -> int:
    if args.json and args.what != "validate":
        raise exits.UsageError("--json goes with validate")
    if args.what == "path":
        return _path()
    return _print() if args.what == "print" else _validate(args.json)


def _path() -> int:
    file = locations.config_file()
    print(file)
    if not file.exists():
        print("this file does not exist yet; create one with: placetui config print", file=sys.stderr)
    return exits.FINE


def _print() -> int:
    settings, problems = _read()
    from placetui.tui.actions import ACTIONS

    print(commented(settings, {action.id: (action.keys, action.help) for action in ACTIONS}), end="")
    print_problems(problems)
    return _code(problems)


def _validate(as_json: bool) -> int:
    from placetui.tui.themes import load_themes, theme_names

    themes, problems = load_themes(locations.themes_dir())
    _, found = _read(theme_names(themes))
    problems = [*found, *problems]
    print_result(problems, as_json=as_json)
    if not problems and not as_json:
        file = locations.config_file()
        print(f"{file}: fine" if file.exists() else f"there is no {file}: the defaults are used", file=sys.stderr)
    return _code(problems)


def _read(themes: Sequence[str] | None = None) -> tuple[AppSettings, list[Problem]]:
    from placetui.tui.actions import ACTIONS

    return read_settings(locations.config_file(), actions=[action.id for action in ACTIONS], themes=themes)


def _code(problems: Sequence[Problem]) -> int:
    if any(problem.rule in UNREADABLE and problem.file == str(locations.config_file()) for problem in problems):
        return exits.USAGE
    return exits.PROBLEMS if problems else exits.FINE

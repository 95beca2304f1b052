"""Wrong usage in the words of the house: what argparse says comes with a page of usage, and without a hint."""

from __future__ import annotations

import argparse
import re
from difflib import get_close_matches

from placetui.placement.problems import listing

_REQUIRED = re.compile(r"the following arguments are required: (.*)")
_UNKNOWN = re.compile(r"unrecognized arguments: (.*)")
_ARGUMENT = re.compile(r"argument ([^:]*(?::[A-Z]+)?): (.*)", re.DOTALL)
_CHOICE = re.compile(r"invalid choice: '?(.*?)'? \(choose from (.*)\)")
_EXCLUDED = re.compile(r"not allowed with argument (.*)")
_VALUE = re.compile(r"invalid (?:int|float) value: '(.*)'")


def explain(message: str, parser: argparse.ArgumentParser) -> tuple[str, str]:
    """The sentence for what argparse says, and a hint."""
    synopsis = f"usage: {_synopsis(parser)}"
    if found := _REQUIRED.fullmatch(message):
        names = found[1].split(", ")
        return f"{listing(names)} {'is' if len(names) == 1 else 'are'} missing", synopsis
    if found := _UNKNOWN.fullmatch(message):
        word = found[1].split(" ")[0]
        if not word.startswith("-"):
            return f"`{word}` is one argument too many", synopsis
        known = [name for action in parser._actions for name in action.option_strings]
        near = get_close_matches(word.partition("=")[0], known, 1)
        meant = f"; did you mean `{near[0]}`?" if near else ""
        return f"there is no option `{word}`{meant}", f"{synopsis}; --help lists the options"
    if found := _ARGUMENT.fullmatch(message):
        return _argument(found[1], found[2], parser, synopsis)
    return message, synopsis


def _argument(name: str, message: str, parser: argparse.ArgumentParser, synopsis: str) -> tuple[str, str]:
    """What is wrong with the value of an option, or of an argument by its place."""
    before = f"{name}: " if name.startswith("-") else ""
    if found := _CHOICE.fullmatch(message):
        choices = [choice.strip(" '") for choice in found[2].split(",")]
        near = get_close_matches(found[1], choices, 1)
        return f"{before}`{found[1]}` is none of {listing(choices, len(choices))}", (
            f"did you mean `{near[0]}`?" if near else synopsis
        )
    if found := _EXCLUDED.fullmatch(message):
        return f"{name} does not go with {found[1]}", synopsis
    if found := _VALUE.fullmatch(message):
        return f"{before}a number, not `{found[1]}`", synopsis
    if message == "expected one argument":
        return f"{name} needs a value", synopsis
    if message.startswith("ignored explicit argument"):
        return f"{name} takes no value", synopsis
    return f"{before}{message}", synopsis


def _synopsis(parser: argparse.ArgumentParser) -> str:
    """The command in one line, its options left out."""
    if parser.usage:
        return parser.usage.splitlines()[0]
    words = [parser.prog, "[options]"]
    for action in parser._get_positional_actions():
        name = str(action.metavar or "|".join(map(str, action.choices or (action.dest,))))
        words.append({"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} [{name} ...]"}.get(str(action.nargs), name))
    return " ".join(words)

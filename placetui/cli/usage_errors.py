"""Wrong usage in plain words: what argparse says, and a hint."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from placetui.placement.wording import did_you_mean

if TYPE_CHECKING:
    from placetui.cli.parser import CommandParser

_REQUIRED = re.compile(r"the following arguments are required: (.*)")
_UNKNOWN = re.compile(r"unrecognized arguments: (.*)", re.DOTALL)
_ARGUMENT = re.compile(r"argument ([^:]*(?::[A-Z]+)?): (.*)", re.DOTALL)
_CHOICE = re.compile(r"invalid choice: '?(.*?)'? \(choose from (.*)\)")
_EXCLUDED = re.compile(r"not allowed with argument (.*)")
_VALUE = re.compile(r"invalid (?:int|float) value: '(.*)'")


def in_our_words(message: str, parser: CommandParser) -> tuple[str, str]:
    """The sentence for what argparse says, and a hint."""
    usage = f"usage: {parser.synopsis}"
    if found := _REQUIRED.fullmatch(message):
        names = found[1].split(", ")
        return f"missing {', '.join(names)}", usage
    if found := _UNKNOWN.fullmatch(message):
        word = found[1].split(" ")[0]
        if not word.startswith("-"):
            return f"unexpected argument `{word}`", usage
        known = [name for action in parser._actions for name in action.option_strings]
        meant = f"; {near}" if (near := did_you_mean(word.partition("=")[0], known)) else ""
        return f"unknown option `{word}`{meant}", f"{usage}; --help lists the options"
    if found := _ARGUMENT.fullmatch(message):
        return _about_a_value(found[1], found[2], usage)
    return message, usage


def _about_a_value(name: str, message: str, usage: str) -> tuple[str, str]:
    """What is wrong with the value of an option or of a positional argument."""
    before = f"{name}: " if name.startswith("-") else ""
    if found := _CHOICE.fullmatch(message):
        choices = [choice.strip(" '") for choice in found[2].split(",")]
        sentence = f"{before}invalid value `{found[1]}`, choose from {', '.join(choices)}"
        return sentence, did_you_mean(found[1], choices) or usage
    if found := _EXCLUDED.fullmatch(message):
        return f"{name} cannot be used with {found[1]}", usage
    if found := _VALUE.fullmatch(message):
        return f"{before}expected a number, not `{found[1]}`", usage
    if message == "expected one argument":
        return f"{name} needs a value", usage
    if message.startswith("ignored explicit argument"):
        return f"{name} takes no value", usage
    return f"{before}{message}", usage

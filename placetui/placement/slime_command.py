"""From a slime command line to a file: what decides the placement, and the rest as a comment."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from placetui.placement.shell import commands
from placetui.placement.slime_args import (
    KNOWN_ARGUMENTS,
    OTHER_ARGUMENTS,
    OTHER_PREFIXES,
    SECTION,
    Argument,
    argument_name,
)
from placetui.placement.wording import one_line

_SCRIPTS = ("train.py", "train_async.py")
_SECRET = re.compile(r"(^|_)(wandb_key|api_key|secret|password|passwd|token)$")
_PLAIN = re.compile(r"[A-Za-z/][\w/.@%+-]*")
_NOT_TEXT = frozenset("true false yes no on off y n null nan inf".split())
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")
_ARRAY = re.compile(r"\$\{\w+\[[@*]\]\}")
_COMMENT_COLUMN = 40


@dataclass(frozen=True, slots=True)
class Given:
    """One argument of a command line."""

    option: str
    """As written, without a value: `--actor-num-nodes`."""

    values: tuple[str, ...]

    @property
    def name(self) -> str:
        return argument_name(self.option)

    @property
    def argument(self) -> Argument | None:
        """What placement makes of it; None if nothing."""
        return KNOWN_ARGUMENTS.get(self.name)


@dataclass(frozen=True, slots=True)
class SlimeCommand:
    """A command line, sorted."""

    given: tuple[Given, ...]
    """Arguments that placement reads, each once."""

    others: tuple[Given, ...]
    stray: tuple[str, ...]
    """Words that belong to no argument."""

    notes: tuple[str, ...]
    """What a person should look at."""


def read_command(arguments: Sequence[str]) -> SlimeCommand:
    """Sort a command line that a shell has already split, or one text that holds it all.

    What stands before the arguments is passed over: `python train.py`, `ray job submit … --`. Of a whole script, the
    command that starts the training is read.

    Raises:
        UnbalancedQuotes: the text cannot be split into words.
    """
    if len(arguments) == 1 and any(character.isspace() for character in arguments[0].strip()):
        words = _training_command(commands(arguments[0]))
    else:
        words = list(arguments)
    return _sort(words)


def _training_command(found: list[list[str]]) -> list[str]:
    """The command that runs one of slime's scripts; else the one with most arguments of placement."""
    if not found:
        return []
    for words in found:
        if any(_is_script(word) for word in words):
            return words
    return max(found, key=lambda words: sum(argument_name(word.partition("=")[0]) in KNOWN_ARGUMENTS for word in words))


def _is_script(word: str) -> bool:
    return word.rpartition("/")[2] in _SCRIPTS


def _sort(words: list[str]) -> SlimeCommand:
    script = next((index for index, word in enumerate(words) if _is_script(word)), None)
    asynchronous = script is not None and words[script].endswith("train_async.py")
    words = words[_start(words, script) :]
    notes: list[str] = []
    given: dict[str, Given] = {}
    others: list[Given] = []
    stray: list[str] = []
    for one in _arguments(words, stray):
        if one.argument is None:
            others.append(one)
            notes += _look_alike(one)
            continue
        if one.name in given:
            notes.append(f"{one.option} is given twice: the last one counts, as for slime")
        given[one.name] = one
        notes += _variables(one)
    if asynchronous:
        given.setdefault("train_async", Given("--train-async", ()))
    for word in stray:
        if "$" in word:
            notes.append(f"what {word} holds is not known here: add its arguments if they decide a placement")
        else:
            notes.append(f"{word} belongs to no argument")
    order = {name: index for index, name in enumerate(KNOWN_ARGUMENTS)}
    return SlimeCommand(
        tuple(sorted(given.values(), key=lambda one: order[one.name])), tuple(others), tuple(stray), tuple(notes)
    )


def _start(words: list[str], script: int | None) -> int:
    """Index of the first word after the script, after the last bare `--`, or of the first option."""
    if script is not None:
        return script + 1
    if "--" in words:
        return len(words) - words[::-1].index("--")
    return next((index for index, word in enumerate(words) if word.startswith("--")), len(words))


def _arguments(words: Iterable[str], stray: list[str]) -> Iterable[Given]:
    """Options with their values; what belongs to none goes to `stray`."""
    option, values = "", [""]
    for word in words:
        if word.startswith("--") and len(word) > 2:
            if option:
                yield Given(option, tuple(values))
            option, equals, value = word.partition("=")
            values = [value] if equals else []
        elif option and _takes(option, len(values)) and not _ARRAY.fullmatch(word):
            values.append(word)
        else:
            stray.append(word)
    if option:
        yield Given(option, tuple(values))


def _takes(option: str, held: int) -> bool:
    """Whether an option takes one more value."""
    argument = KNOWN_ARGUMENTS.get(argument_name(option))
    if argument is None or argument.kind == "any":
        return True
    return argument.kind != "flag" and not held


def _look_alike(one: Given) -> list[str]:
    if one.name in OTHER_ARGUMENTS or one.name.startswith(OTHER_PREFIXES):
        return []
    near = get_close_matches(one.name[:100], KNOWN_ARGUMENTS, 1, 0.85)
    return [f"{one.option} is not known; did you mean --{near[0].replace('_', '-')}?"] if near else []


def _variables(one: Given) -> list[str]:
    if any("$" in value or "`" in value for value in one.values):
        return [f"{one.option} is a shell variable ({' '.join(one.values)}): write its value into the file"]
    return []


def to_yaml(command: SlimeCommand) -> str:
    """The command as a commented file."""
    head = f"{SECTION}:" if command.given else f"{SECTION}: {{}}"
    lines = ["# From a slime command line, by `placetui import-slime`.", "", head]
    for one in command.given:
        assert one.argument is not None
        entry = f"  {one.name}: {_value(one)}"
        lines.append(f"{entry:<{_COMMENT_COLUMN}}  # {one.argument.help}")
    if command.others or command.stray:
        lines += ["", "# Of no effect on the placement:"]
        lines += [f"#   {_as_comment(one)}" for one in command.others]
        lines += [f"#   {one_line(_quoted(word))}" for word in command.stray]
    return "\n".join(lines) + "\n"


def _value(one: Given) -> str:
    if one.argument is not None and one.argument.kind == "flag":
        return "true" if not one.values else _scalar(one.values[0])
    if not one.values:
        return "null"
    if len(one.values) > 1:
        return f"[{', '.join(map(_scalar, one.values))}]"
    return _scalar(one.values[0], numeric=one.argument is not None and one.argument.kind in ("int", "share"))


def _scalar(value: str, *, numeric: bool = False) -> str:
    if numeric and _NUMBER.fullmatch(value):
        # Without leading zeros: YAML would read 010 as eight.
        return re.sub(r"^(-?)0+(?=\d)", r"\1", value)
    if value.lower() in ("true", "false") or (_PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT):
        return value
    return json.dumps(value, ensure_ascii=False)


def _as_comment(one: Given) -> str:
    if _SECRET.search(one.name) and one.values and not one.values[0].startswith("$"):
        return f"{one_line(one.option)} (a secret, left out)"
    return one_line(" ".join([one.option, *map(_quoted, one.values)]))


def _quoted(value: str) -> str:
    """For reading, not for running: a variable stays plain."""
    return value if re.fullmatch(r"[\w$@%+=:,./{}\[\]-]+", value) else shlex.quote(value)

"""From a slime command line or launch script to a file: what decides the placement, and the rest as a comment."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from placetui.frameworks.launch_command import LaunchCommand, find_launch, where
from placetui.frameworks.new_job import ImportedFile, ScriptContext
from placetui.frameworks.shell import Unknown
from placetui.frameworks.slime.arguments import SECTION, SLIME_ARGUMENTS, Argument, ArgumentTable, argument_name
from placetui.placement.wording import clean, listing
from placetui.placement.yaml_text import written

_BRACED = re.compile(r"\$\{(\w+)[^{}]*\}")
_ARRAY = re.compile(r"\$\{\w+\[[@*]\]\}")
_VARIABLE = re.compile(r"\$\w+|\$\{\w+\}")
_COMMENT_COLUMN = 40


@dataclass(frozen=True, slots=True)
class Given:
    """One argument of a command line."""

    option: str
    """As written, without a value: `--actor-num-nodes`."""

    values: tuple[str, ...]

    argument: Argument | None
    """What placement makes of it; None if nothing."""

    origin: str = ""
    """Where it comes from, in a script."""

    @property
    def name(self) -> str:
        return argument_name(self.option)


@dataclass(frozen=True, slots=True)
class SlimeCommand:
    """A command line, sorted."""

    given: tuple[Given, ...]
    """Arguments that placement reads, each once."""

    others: tuple[Given, ...]
    refused: tuple[Given, ...]
    """Those of the others that the framework does not have, and does not start with."""

    stray: tuple[str, ...]
    """Words that belong to no argument."""

    notes: tuple[str, ...]
    questions: tuple[str, ...]
    """Those of the notes without an answer to which the placement is not known."""

    launch: LaunchCommand


def import_command(
    words: Sequence[str],
    table: ArgumentTable = SLIME_ARGUMENTS,
    context: ScriptContext | None = None,
    settings: Mapping[str, str] | None = None,
) -> ImportedFile:
    """A file that says the same as a command line; `words` as for `read_command`.

    Args:
        words: of the command line, or one text.
        table: the arguments of the framework.
        context: what is known around a script.
        settings: for the file's `placetui:` section.
    """
    command = read_command(words, table, context)
    nothing = (
        ()
        if command.given or command.questions
        else (f"nothing in it decides a placement: {table.framework}'s defaults apply",)
    )
    section = "".join(f"  {key}: {value}\n" for key, value in (settings or {}).items())
    text = to_yaml(command, table.framework) + (f"\nplacetui:\n{section}" if section else "")
    return ImportedFile(text, (*command.notes, *nothing), command.questions)


def read_command(
    words: Sequence[str], table: ArgumentTable = SLIME_ARGUMENTS, context: ScriptContext | None = None
) -> SlimeCommand:
    """Sort a command line that a shell has already split, or one text that holds it all.

    What stands before the arguments is passed over: `python train.py`, `ray job submit … --`. Of a whole script, the
    command that starts the training is read.

    Raises:
        ShellSyntaxError: the text cannot be split into words.
    """
    launch = find_launch(
        words, table.programs, lambda word: argument_name(word.partition("=")[0]) in table.known, context
    )
    given: dict[str, Given] = {}
    others: list[Given] = []
    stray: list[str] = []
    notes, questions = list(launch.notes), list(launch.questions)
    for one in _arguments(launch, stray, table):
        if one.argument is None:
            others.append(one)
            continue
        if one.name in given:
            notes.append(f"{one.option} is given twice: the last one counts, as for {table.framework}")
        given[one.name] = one
    for one in given.values():
        names_file = one.argument is not None and one.argument.kind == "path"
        if not names_file or (one.name in table.files and not launch.script.files.keys() & set(one.values)):
            questions += launch.unknown(one.option, one.values)
    for name, argument in table.known.items():
        if argument.implied_by is not None and argument.implied_by(launch.program, launch.environment):
            given.setdefault(name, Given(f"--{name.replace('_', '-')}", (), argument))
    unknown = [one for one in others if not table.has(one.name)]
    notes += (_dropped(one, table) for one in unknown)
    for word in stray:
        if isinstance(word, Unknown):
            asked, text = _unknown_words(word, launch, table)
            (questions if asked else notes).append(text)
        else:
            notes.append(f"{word} belongs to no argument")
    ordered = tuple(given[name] for name in table.known if name in given)
    refused = tuple(unknown) if table.refuses_unknown else ()
    return SlimeCommand(ordered, tuple(others), refused, tuple(stray), (*questions, *notes), tuple(questions), launch)


def _arguments(launch: LaunchCommand, stray: list[str], table: ArgumentTable) -> Iterator[Given]:
    """Options with their values; what belongs to none goes to `stray`."""
    found: Given | None = None
    for word in launch.arguments:
        if word.startswith("--") and len(word) > 2:
            if found is not None:
                yield found
            option, equals, value = word.partition("=")
            if isinstance(word, Unknown):
                value = Unknown(value, word.variables, word.reason, word.place, word.origins)
            argument = None if argument_name(option) in table.absent else table.known.get(argument_name(option))
            turned_off = table.known.get(argument_name(option).removeprefix("no_"))
            found = Given(option, (value,) if equals else (), argument, launch.origin(word))
            if argument is None and turned_off is not None and turned_off.kind == "flag" and not equals:
                option = f"--{turned_off.name.replace('_', '-')}"
                found = replace(found, option=option, values=("false",), argument=turned_off)
        elif found is not None and _takes(found, word):
            origin = launch.origin(word) if found.argument is not None else ""
            found = replace(found, values=(*found.values, word), origin=_together(found.origin, origin))
        else:
            stray.append(word)
    if found is not None:
        yield found


def _together(option: str, value: str) -> str:
    """Where an option and its value come from: the value's own line only if it is another one."""
    place, _, rest = value.partition(", ")
    return ", ".join(filter(None, (option, rest if place == option else value)))


def _takes(one: Given, word: str) -> bool:
    """Whether an option takes one more value."""
    if _ARRAY.fullmatch(word):
        return False
    if one.argument is None:
        return not (one.values and isinstance(word, Unknown) and _VARIABLE.fullmatch(word))
    return one.argument.kind == "any" or (one.argument.kind != "flag" and not one.values)


def _dropped(one: Given, table: ArgumentTable) -> str:
    near = get_close_matches(one.name[:100], [*table.known, *sorted(table.others)], 1, 0.75)
    meant = f"; did you mean --{near[0].replace('_', '-')}?" if near else ""
    fate = "does not start with it" if table.refuses_unknown else "ignores it silently"
    line = f"{one.origin}: " if one.origin else ""
    return f"{line}{one.option} is not known to {table.framework}, which {fate}{meant}"


def _unknown_words(word: Unknown, launch: LaunchCommand, table: ArgumentTable) -> tuple[bool, str]:
    """Whether words that are not known decide the placement, and a sentence about them."""
    reason = launch.reason(word)
    if reason is None or not reason.choices:
        source = f" ({where(reason)})" if reason is not None else ""
        missing = listing((f"{name} (line {place.line})" for name, place in launch.script.missing), most=3)
        lack = f"; not read: {missing}" if launch.script.missing else ""
        return False, f"what {word} holds is unknown here{source}{lack}: add its arguments if they decide a placement"
    options = (part.partition("=")[0] for choice in reason.choices for part in choice.split() if part.startswith("--"))
    decides = filter(None, map(table.reads, options))
    asked = any(one.kind != "path" or one.name in table.files for one in decides)
    ask = listing(f"--set {name}=…" for name in reason.settle)
    return asked, (
        f"{where(reason)} decides whether {word} holds {' or '.join(reason.choices)}"
        + (f"; give {ask}" if asked and ask else "")
    )


def to_yaml(command: SlimeCommand, framework: str = "slime") -> str:
    """The command as a commented file; with the lines of a script, where it comes from one."""
    head = f"{SECTION}:" if command.given or command.refused else f"{SECTION}: {{}}"
    script = command.launch.is_script
    source = (command.launch.name or "a script") if script else "a command line"
    first = f"# From {clean(source)} for {framework}, by `placetui import`."
    lines = [first if script else f"# From a {framework} command line, by `placetui import`.", "", head]
    if command.questions and script:
        lines[1:1] = ["# Not known without running it:", *(f"#   {clean(one)}" for one in command.questions)]
    for one in command.given:
        assert one.argument is not None
        content = command.launch.script.files.get(one.values[0]) if one.argument.kind == "path" and one.values else None
        entry = f"  {one.name}: {'' if content else _value(one, one.argument)}"
        comment = "; ".join(filter(None, (one.argument.help, one.origin)))
        lines.append(f"{entry:<{_COMMENT_COLUMN}}  # {comment}")
        lines += [f"    {line}" for line in (content or "").splitlines()]
    lines += [f"  {clean(one.name)}: null  # {framework} has no such argument" for one in command.refused if one.name]
    if command.others or command.stray:
        lines += ["", "# Of no effect on the placement:"]
        lines += [f"#   {clean(' '.join([one.option, *map(_quoted, one.values)]))}" for one in command.others]
        lines += [f"#   {clean(_quoted(word))}" for word in command.stray]
    return "\n".join(lines) + "\n"


def _value(one: Given, argument: Argument) -> str:
    # In a path, where it does not matter, a variable must not be taken for a key of the file.
    texts = [_BRACED.sub(r"$\1", value) if argument.kind == "path" else value for value in one.values]
    values: list[object] = [_typed(value, argument) for value in texts]
    if not values:
        return "true" if argument.kind == "flag" else "null"
    if len(values) > 1:
        return written(values, typed=True)
    return written(values[0], style='"' if "$" in one.values[0] else "", typed=True)


def _typed(value: str, argument: Argument) -> object:
    try:
        if argument.kind == "int":
            return int(value)
        if argument.kind == "share":
            return float(value)
    except (ValueError, OverflowError):
        pass  # as it is: checking the file says what is wrong with it
    return value.lower() == "true" if argument.kind == "flag" and value.lower() in ("true", "false") else str(value)


def _quoted(value: str) -> str:
    """For reading, not for running: a variable stays plain."""
    return value if re.fullmatch(r"[\w$@%+=:,./{}\[\]-]+", value) else shlex.quote(value)

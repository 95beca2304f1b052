"""The command of a launch script, or of a command line, that starts a job; and where each of its words comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from placetui.frameworks.new_job import ScriptContext
from placetui.frameworks.shell import SETTING, Command, Script, ScriptLine, Traced, Undecided, Unknown, read_script
from placetui.placement.wording import clean, listing

_NOT_STARTED = frozenset(
    "cat chmod cp diff echo git grep head kill ls mv pgrep pkill printf ps rm sed tail test".split()
)
"""Commands that may name a program without starting it."""

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """A command that starts a job."""

    program: str
    """What it starts, without its folder; empty if that is not known, and all words are arguments."""

    arguments: tuple[str, ...]
    """Words behind the program; those of a script are `Traced`."""

    environment: Mapping[str, str]
    """Of the program: variables that are exported, and those of Ray's runtime environment."""

    notes: tuple[str, ...]
    questions: tuple[str, ...]
    """What must be known first."""

    script: Script
    is_script: bool
    """Whether it comes from a script: then its words have lines."""

    name: str = ""

    def origin(self, word: str) -> str:
        """Where a word comes from: `run.sh:40, NODES from line 5`; empty for a command line."""
        if not self.is_script or not isinstance(word, Traced):
            return ""
        parts = [self._place(word.place, of_script=True)] if word.place.line else []
        parts += [f"{name} from {self._place(place)}" for name, place in word.origins if name != "BASH_SOURCE"]
        return clean(", ".join(dict.fromkeys(filter(None, parts))))

    def _place(self, place: ScriptLine, *, of_script: bool = False) -> str:
        if place.file == SETTING:
            return SETTING
        if place.file:
            return f"{re.split(r'[})]/', place.file)[-1].rpartition('/')[2]}:{place.line}"
        return f"{self.name}:{place.line}" if of_script and self.name else f"line {place.line}"

    def unknown(self, option: str, values: Iterable[str]) -> list[str]:
        """Questions about an option whose values are not all known."""
        found: list[str] = []
        for value in values:
            if isinstance(value, Unknown):
                line = f"line {value.place.line}: " if self.is_script and value.place.line else ""
                found.append(f"{line}{option} is a shell variable ({value})" + self._why(value))
        return found

    def reason(self, value: Unknown) -> Undecided | None:
        """Why a value is not known: its own reason, or that of a variable in it."""
        undecided = self.script.undecided
        return value.reason or next((undecided[name] for name in value.variables if name in undecided), None)

    def _why(self, value: Unknown) -> str:
        reason = self.reason(value)
        names = [name for name in value.variables if not name.isdecimal()]
        ask = listing(
            f"--set {name}=…" for name in dict.fromkeys([*(reason.settle if reason else ()), *value.variables])
        )
        if reason is None:
            return f"; give {ask}" if value.variables else ": write its value into the file"
        subject = f"{names[0]} " if names else ""
        choices = f": {' or '.join(reason.choices)}" if reason.choices else ""
        return f"; {subject}follows only from running the script ({where(reason)}){choices}; give {ask}"


def where(reason: Undecided) -> str:
    """Where something became unknown: `line 7, $(nproc)`."""
    file = f"{reason.file.rpartition('/')[2]}:" if reason.file else "line "
    return f"{file}{reason.line}, {clean(reason.source)}"


def read_launch(words: Sequence[str], context: ScriptContext | None = None) -> Script:
    """What a script does, or a command line that a shell has already split; raises `ShellSyntaxError`."""
    context = context or ScriptContext()
    return read_script(
        words[0] if is_text(words) else words,
        fixed=context.variables,
        parameters=context.parameters,
        load=context.load,
        path=context.path,
    )


def is_text(words: Sequence[str]) -> bool:
    """Whether it is one text to be split, rather than words."""
    return len(words) == 1 and any(character.isspace() for character in words[0].strip())


def started_program(words: Sequence[str], programs: Sequence[str]) -> int | None:
    """Index of the word of a command that is one of the programs: a file, or a module behind `-m`."""
    if not words or words[0].rpartition("/")[2] in _NOT_STARTED:
        return None
    found = (index for index, word in enumerate(words) if word in programs or word.rpartition("/")[2] in programs)
    return next(found, None)


def find_launch(
    words: Sequence[str],
    programs: Sequence[str],
    is_argument: Callable[[str], bool],
    context: ScriptContext | None = None,
) -> LaunchCommand:
    """The command that starts one of the programs; else the one with most arguments. Raises `ShellSyntaxError`.

    `words` may be one text that holds it all: a command line or a script.
    """
    context = context or ScriptContext()
    script = read_launch(words, context)
    starts = [one for one in script.commands if started_program(one.words, programs) is not None]
    notes: list[str] = []
    questions: list[str] = []
    if starts:
        chosen = starts[0]
        notes, questions = _several(starts, programs)
    else:
        questions = _ended(script)
        chosen = max(script.commands, key=lambda one: sum(map(is_argument, one.words)), default=Command((), 0))
    place = started_program(chosen.words, programs)
    behind = _behind(chosen.words, place)
    return LaunchCommand(
        "" if place is None else chosen.words[place].rpartition("/")[2],
        chosen.words[behind:],
        {
            **chosen.environment,
            **{name: value for one in script.commands for name, value in _environment(one.words, ray=True).items()},
            **_environment(chosen.words[: behind if place is None else place]),
        },
        tuple(notes),
        tuple(questions),
        script,
        is_text(words) and ("\n" in words[0].strip() or bool(context.path)),
        context.path.rpartition("/")[2],
    )


def _ended(script: Script) -> list[str]:
    """Why a script starts nothing, where it says so and ends."""
    if not script.ended:
        return []
    before = script.commands[-1].words if script.commands else ("",)
    why = f": {clean(' '.join(before[1:]))}" if before[0] == "echo" else ""
    return [f"the script ends in line {script.ended}, before it starts training{why}"]


def _behind(words: Sequence[str], place: int | None) -> int:
    """Index of the first word after the program, after the last bare `--`, or of the first option."""
    if place is not None:
        return place + 1
    if "--" in words:
        return len(words) - words[::-1].index("--")
    options = (index for index, word in enumerate(words) if word.startswith("--") or _ASSIGNMENT.match(word))
    return next(options, len(words))


def _several(starts: Sequence[Command], programs: Sequence[str]) -> tuple[list[str], list[str]]:
    different = {one.words[started_program(one.words, programs) or 0 :]: one for one in reversed(starts)}
    if len(different) == 1:
        return [], []
    lines = listing(sorted({one.line for one in starts}))
    if not any(one.conditions for one in starts):
        return [f"training is started in lines {lines}: the first is read"], []
    common = set.intersection(*(set(words) for words in different))
    settle = list(dict.fromkeys(name for one in starts for name in one.settle))
    found = [f"training is started in lines {lines}, and which one follows only from running the script"]
    for one in sorted(different.values(), key=lambda one: one.line):
        arguments = one.words[(started_program(one.words, programs) or 0) + 1 :]
        own = " ".join(word for word in arguments if word not in common) or "nothing else"
        condition = f" if {one.conditions[-1]}" if one.conditions else ""
        found.append(f"line {one.line}{clean(condition)}: {clean(own)}")
    found[-1] += f"; give {listing(f'--set {name}=…' for name in settle)}" if settle else ""
    return [], ["; ".join(found)]


def _environment(words: Sequence[str], *, ray: bool = False) -> dict[str, str]:
    """Variables that stand before a program: behind `env`, and in Ray's runtime environment; or only there."""
    found: dict[str, str] = {}
    for index, word in enumerate(words):
        assignment = None if ray else _ASSIGNMENT.fullmatch(word)
        if assignment is not None:
            found[assignment[1]] = assignment[2]
        option, equals, value = word.partition("=")
        if option != "--runtime-env-json":
            continue
        try:
            content = json.loads(value if equals else words[index + 1])
        except (ValueError, IndexError, RecursionError):
            continue
        variables = content.get("env_vars") if isinstance(content, dict) else None
        found |= {str(key): str(one) for key, one in variables.items()} if isinstance(variables, dict) else {}
    return found

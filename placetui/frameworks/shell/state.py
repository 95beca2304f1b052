"""What a shell holds at one moment, and what is left of it where branches meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from placetui.frameworks.shell.syntax import Node
from placetui.frameworks.shell.values import ScriptLine, Undecided, Unknown, joined


@dataclass(slots=True)
class ShellState:
    """Variables, and everything else that commands of the shell itself change."""

    variables: dict[str, list[str]] = field(default_factory=dict)
    """Of one element, or an array; without elements: unset."""

    opaque: frozenset[str] = frozenset()
    """Variables that `declare` gave another nature, and that are never known: `-A`, `-n`, `-i`."""

    parameters: list[str] | None = None
    """`$1`, `$2`, …; None if they are not known."""

    functions: dict[str, tuple[tuple[Node, str], ...]] = field(default_factory=dict)
    """Body and file; several where branches define it differently."""

    exported: dict[str, None] = field(default_factory=dict)
    options: frozenset[str] = frozenset()
    """Of `set`."""

    folder: str | None = None
    """Current directory; None while it is not known."""

    files: dict[str, str] = field(default_factory=dict)
    """Texts of files that the script writes, by path."""

    output: list[str] | None = None
    """What is printed inside of `$( … )`."""

    given: str | None = None
    """What is left of standard input."""

    status: str | None = "0"
    """`$?`; None while it is not known."""

    def copy(self) -> ShellState:
        """Values and parameters are never changed in place, and need no copies of their own."""
        return replace(
            self,
            variables=dict(self.variables),
            functions=dict(self.functions),
            exported=dict(self.exported),
            files=dict(self.files),
            output=None if self.output is None else list(self.output),
        )


def merge(states: Sequence[ShellState], reason: Undecided) -> tuple[ShellState, Mapping[str, Undecided]]:
    """The state after branches of which only one is taken; what they leave different is not known, and why."""
    first = states[0]
    undecided: dict[str, Undecided] = {}

    def together(name: str, choices: Sequence[list[str] | None]) -> list[str]:
        if all(choice == choices[0] for choice in choices):
            return choices[0] or []
        values, undecided[name] = _merged(name, choices, reason)
        return values

    made = first.copy()
    for name in dict.fromkeys(name for one in states for name in one.variables):
        made.variables[name] = together(name, [one.variables.get(name) for one in states])
    for one in states[1:]:
        made.exported |= one.exported
        made.opaque |= one.opaque
        made.options &= one.options
        for name, bodies in one.functions.items():
            held = made.functions.get(name, ())
            made.functions[name] = (*held, *(body for body in bodies if body not in held))
    if any(one.parameters is None for one in states):
        made.parameters = None
    else:
        made.parameters = together("@", [one.parameters for one in states])
    made.files = {
        path: text for path, text in first.files.items() if all(one.files.get(path) == text for one in states)
    }
    made.folder = first.folder if all(one.folder == first.folder for one in states) else None
    made.status = first.status if all(one.status == first.status for one in states) else None
    if any(one.output != first.output for one in states):
        made.output = [_either([joined(one.output or []) for one in states], reason)]
    if any(one.given != first.given for one in states):
        made.given = _either([one.given or "" for one in states], reason)
    return made, undecided


def _either(texts: Sequence[str], reason: Undecided) -> Unknown:
    choices = tuple(str(text).strip() or "(nothing)" for text in texts)
    return Unknown("…", reason.settle, replace(reason, choices=choices))


def _merged(name: str, choices: Sequence[list[str] | None], reason: Undecided) -> tuple[list[str], Undecided]:
    """What branches leave in a variable: of arrays, only the part that differs is not known."""
    arrays = [choice or [] for choice in choices]
    if max(map(len, arrays)) < 2 and min(map(len, arrays)) == 1:
        reason = replace(reason, choices=tuple(str(joined(one)) for one in arrays))
        return [Unknown(f"${{{name}}}", (name,), reason)], reason
    start = 0
    while all(len(one) > start and one[start] == arrays[0][start] for one in arrays):
        start += 1
    end = 0
    while all(len(one) - end > start and one[-1 - end] == arrays[0][-1 - end] for one in arrays):
        end += 1
    middles = [one[start : len(one) - end] for one in arrays]
    reason = replace(reason, choices=tuple(" ".join(middle) or "(nothing)" for middle in middles))
    source = "$@" if name == "@" else f"${{{name}[@]}}"
    text = Unknown(source, () if name == "@" else (name,), reason, ScriptLine(reason.file, reason.line))
    return [*arrays[0][:start], text, *arrays[0][len(arrays[0]) - end :]], reason

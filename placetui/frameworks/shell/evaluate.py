"""Follows a script without running it: which commands it would start, and with which words.

What only running would tell (`$(nvidia-smi -L)`, a variable of the caller, a condition on either) is `Unknown`, as is
what depends on it. A variable that the script does not set counts as unset where the script provides for that:
`${GPUS:-8}`, `[ -z "$GPUS" ]`. Arguments of the script that nobody gave count as none in a loop over them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import zip_longest

from placetui.frameworks.shell.arithmetic import NotKnownError, evaluate
from placetui.frameworks.shell.conditions import Test, matches
from placetui.frameworks.shell.syntax import (
    DECLARING,
    AndOr,
    Assignment,
    Block,
    Case,
    For,
    Function,
    If,
    Node,
    Pipeline,
    ShellSyntaxError,
    Simple,
    While,
    Word,
    WordPart,
    parse,
    parse_word,
)
from placetui.frameworks.shell.utilities import formatted, printed
from placetui.frameworks.shell.values import (
    SETTING,
    Origin,
    ScriptLine,
    Traced,
    Undecided,
    Unknown,
    is_unknown,
    joined,
    placed,
)

_MOST_STEPS = 20_000
_MOST_CALLS = 20
_MOST_CHARACTERS = 1_000_000
"""Of all words that expansions make: a few lines can ask for billions."""

_MOST_ROUNDS = 50
"""Of a loop that does not end by itself."""

_SUCCEED = frozenset("cd echo mkdir popd printf pushd set shift sleep".split())
"""Commands that are taken to succeed."""

_SILENT = frozenset("cd export local declare mkdir set shift sleep read unset true : false [ [[ test".split())
"""Commands that print nothing."""

_SHELLS = frozenset({"bash", "sh"})
_PARAMETER = re.compile(r"\$\{([#!]?)(\w+|[@*#?$!-])(?:\[([^\]]*)\])?(.*)\}", re.DOTALL)
_SUBSTITUTE = re.compile(r":?[-=+?]|##?|%%?|//?|\^\^?|,,?|:")
_BRACES = re.compile(r"\{([^{}\s]*(?:,|\.\.)[^{}\s]*)\}")
_KEYED = re.compile(r"\[([^\]]*)\]=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """A command that the script starts."""

    words: tuple[str, ...]
    line: int
    conditions: tuple[str, ...] = ()
    """Conditions that could not be decided, and on which it depends."""

    environment: Mapping[str, str] = field(default_factory=dict)
    """Assignments that stand before it, and variables that the script exports."""

    settle: tuple[str, ...] = ()
    """Variables that would settle the conditions."""


@dataclass(frozen=True, slots=True)
class Script:
    """What a script does, as far as that can be read."""

    commands: tuple[Command, ...]
    undecided: Mapping[str, Undecided]
    """Variables whose value is not known, by name."""

    files: Mapping[str, str]
    """Files that it writes with `cat > FILE <<END`, by path."""

    missing: tuple[tuple[str, ScriptLine], ...] = ()
    """Files that it sources and that could not be read."""


def read_script(
    text: str | Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    fixed: Mapping[str, str] | None = None,
    parameters: Sequence[str] | None = None,
    load: Callable[[str], str | None] | None = None,
    path: str = "",
) -> Script:
    """Follow a script from its first command to its last.

    Args:
        text: The script, or one command line; or its words, which a shell has already split.
        environment: Variables of the caller.
        fixed: Variables that keep this value, whatever the script assigns.
        parameters: `$1`, `$2`, …; None if they are not known.
        load: Gives the text of a file that the script sources, None if it is not there.
        path: Of the script, for `$0`.

    Raises:
        ShellSyntaxError: a quote or a block is not closed.
    """
    given = {name: Traced(value, ScriptLine(SETTING, 0)) for name, value in (fixed or {}).items()}
    state = _Evaluator(given, load)
    state.variables = {name: [value] for name, value in {**(environment or {}), **given}.items()}
    state.parameters = None if parameters is None else list(parameters)
    if path:
        state.variables.setdefault("BASH_SOURCE", [path])
        state.script = path
    try:
        with suppress(_Exit, _Return, _Break):
            state.run(parse(text) if isinstance(text, str) else _simple_command(text))
    except RecursionError:
        raise ShellSyntaxError("the script is nested too deeply to follow") from None
    return Script(tuple(state.commands), state.undecided, state.files, tuple(state.missing))


def _simple_command(words: Sequence[str]) -> Simple:
    """Words that are split already: only variables in them are left to be filled in."""
    return Simple((), tuple(map(_split_word, words)), (), 1)


def _split_word(word: str) -> Word:
    if "$" in word or "`" in word:
        with suppress(ShellSyntaxError):  # a shell has read it: what is no expansion is text
            return parse_word(word, quoted=True)
    return Word((WordPart("text", word, True),))


class _Exit(Exception):
    """The script ends here."""


class _Return(Exception):
    """A function ends here, with the status that is its argument."""


class _Break(Exception):
    """A round of a loop ends here; its argument says whether the loop does."""


@dataclass
class _Evaluator:
    fixed: Mapping[str, str]
    load: Callable[[str], str | None] | None
    variables: dict[str, list[str]] = field(default_factory=dict)
    """Of one element, or an array."""

    tables: dict[str, dict[str, str]] = field(default_factory=dict)
    """Arrays with names for their elements: `declare -A`."""

    parameters: list[str] | None = None
    functions: dict[str, tuple[Node, str]] = field(default_factory=dict)
    commands: list[Command] = field(default_factory=list)
    undecided: dict[str, Undecided] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    missing: list[tuple[str, ScriptLine]] = field(default_factory=list)
    exported: dict[str, None] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    settle: tuple[str, ...] = ()
    script: str = ""
    file: str = ""
    """The sourced file that is being followed."""

    folder: str | None = None
    """Current directory; None while it is not known."""

    output: list[str] | None = None
    """What is printed inside of `$( … )`."""

    given: str | None = None
    """Standard input, in a pipe."""

    _blockers: list[str] = field(default_factory=list)
    """Variables that a condition would have to know."""

    _locals: list[dict[str, list[str] | None]] = field(default_factory=list)
    _word_line: int = 0
    _inline_at: int = 0
    """Line of a text that is a script itself: `bash -c`."""

    _unsure: bool = False
    """Whether a loop may have ended in a branch that could not be decided."""

    _steps: int = 0
    _characters: int = 0
    _calls: int = 0

    # Commands: each gives whether it succeeds, None if that is not known.

    def run(self, node: Node) -> bool | None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise ShellSyntaxError("the script takes too many steps to follow")
        if isinstance(node, Simple):
            return self._simple(node)
        if isinstance(node, AndOr):
            return self._and_or(node)
        if isinstance(node, Pipeline):
            return self._pipeline(node)
        if isinstance(node, Block):
            return self._block(node)
        if isinstance(node, If):
            return self._if(node)
        if isinstance(node, Case):
            return self._case(node)
        if isinstance(node, For):
            return self._for(node)
        if isinstance(node, While):
            return self._while(node)
        if isinstance(node, Function):
            self.functions[node.name] = (node.body, self.file)
            return True
        value = self._arithmetic(node.text)
        if isinstance(value, Unknown):
            self.depends_on(value)
            return None
        return value != "0"

    @contextmanager
    def _subshell(self) -> Iterator[None]:
        """What is assigned inside is lost."""
        before = self._copy()
        functions, exported, folder = dict(self.functions), dict(self.exported), self.folder
        with suppress(_Exit):
            yield
        self.variables, self.tables = before
        self.functions, self.exported, self.folder = functions, exported, folder

    def _copy(self) -> tuple[dict[str, list[str]], dict[str, dict[str, str]]]:
        return {name: list(one) for name, one in self.variables.items()}, {
            name: dict(one) for name, one in self.tables.items()
        }

    def _block(self, block: Block) -> bool | None:
        status: bool | None = True
        if not block.subshell:
            for node in block.body:
                status = self.run(node)
            return status
        statuses: list[bool | None] = [None]
        with self._subshell():
            statuses.append(self._block(replace(block, subshell=False)))
        return statuses[-1]

    def _pipeline(self, node: Pipeline) -> bool | None:
        if len(node.commands) == 1:
            status = self.run(node.commands[0])
        else:
            outer, given = self.output, self.given
            status = None
            for number, command in enumerate(node.commands, 1):
                last = number == len(node.commands)
                self.output = outer if last else []
                with self._subshell():
                    status = self.run(command)
                if not last and self.output is not None:
                    self.given = joined(self.output)
            self.output, self.given = outer, given
        return None if status is None else status is not node.negated

    def _and_or(self, node: AndOr) -> bool | None:
        blockers = self._condition()
        status = self.run(node.first)
        for joint, following, source in node.rest:
            if status is None:
                self._branches([(source, following), ("otherwise", None)], node.line, blockers())
            elif status is (joint == "&&"):
                status = self.run(following)
        return status

    def _if(self, node: If) -> bool | None:
        for index, (condition, body) in enumerate(node.branches):
            blockers = self._condition()
            decided = True if condition is None else self.run(condition)
            if decided:
                return self.run(body)
            if decided is None:
                names = [*node.source, "otherwise"][index:]
                bodies: list[Node | None] = [body for _, body in node.branches[index:]]
                self._branches(list(zip_longest(names, bodies)), node.line, blockers())
                return None
        return True

    def _case(self, node: Case) -> bool | None:
        word = self.text(node.word)
        blockers = self._condition()
        if isinstance(word, Unknown):
            self.depends_on(word)
        else:
            decided = self._arms(node, word)
            if decided is not None:
                status: bool | None = True
                for body in decided:
                    status = self.run(body)
                return status
        branches: list[tuple[str, Node | None]] = [
            (f"{word} is {' or '.join(one.source for one in patterns)}", body) for patterns, body, _ in node.arms
        ]
        if not any(one.bare == "*" for patterns, _, _ in node.arms for one in patterns):
            branches.append(("otherwise", None))
        self._branches(branches, node.line, blockers())
        return None

    def _arms(self, node: Case, word: str) -> list[Node] | None:
        """The arms that are followed; None if a pattern cannot be known."""
        found: list[Node] = []
        falls = False
        for patterns, body, sign in node.arms:
            hits = [falls or matches(word, pattern, self) for pattern in patterns]
            if True in hits:
                found.append(body)
                if sign in (";;", ""):
                    break
                falls = sign == ";&"
            elif None in hits:
                return None
        return found

    def _for(self, node: For) -> bool | None:
        values = self.parameters if node.words is None else self.expand(node.words)
        if self.parameters is None and (values is None or values in (["$@"], ["$*"])):
            return True  # nobody gave the script any arguments
        for value in values or ():
            self._set(node.name, [value], ScriptLine(self.file, 0), value)
            if not self._round(node.body):
                break
        return None

    def _while(self, node: While) -> bool | None:
        before, commands = self._copy(), len(self.commands)
        for _ in range(_MOST_ROUNDS):
            blockers = self._condition()
            goes_on = self.run(node.condition)
            if goes_on is None and self.parameters is None and set(blockers()) & {"#", "@", "*", "1"}:
                return True
            if goes_on is None:
                before, commands = self._copy(), len(self.commands)
                break
            if goes_on is node.until or not self._round(node.body):
                return True
            if node.step:
                self._arithmetic(node.step)
        self.variables, self.tables = before
        del self.commands[commands:]
        with suppress(_Break):
            self._branches([(node.source, node.body), ("otherwise", None)], node.line, ())
        return None

    def _round(self, body: Node) -> bool:
        """Whether the loop continues after one more round."""
        before, self._unsure = self._unsure, False
        try:
            self.run(body)
            return not self._unsure
        except _Break as end:
            return not end.args[0]
        finally:
            self._unsure = before

    # Conditions

    def _condition(self) -> Callable[[], tuple[str, ...]]:
        """Gives the variables that have stood in the way of deciding since now."""
        start = len(self._blockers)
        return lambda: tuple(dict.fromkeys(self._blockers[start:]))

    def depends_on(self, value: Unknown) -> None:
        self._blockers += value.variables

    def is_set(self, name: str) -> bool:
        return name in self.variables or name in self.tables

    def _branches(self, branches: Sequence[tuple[str, Node | None]], line: int, settle: tuple[str, ...]) -> None:
        """Follow every branch with its condition; variables that they leave different are not known afterwards."""
        variables, tables = self.variables, self.tables
        conditions, before = self.conditions, self.settle
        ends: list[tuple[str, dict[str, list[str]], dict[str, dict[str, str]]]] = []
        stopped: Exception = _Exit()
        for source, body in branches:
            self.variables, self.tables = variables, tables
            self.variables, self.tables = self._copy()
            self.conditions, self.settle = (*conditions, source), (*before, *settle)
            try:
                if body is not None:
                    self.run(body)
            except _Break:
                self._unsure = True
            except (_Exit, _Return) as reason:
                stopped = reason
                continue  # what follows is only reached through another branch
            ends.append((source, self.variables, self.tables))
        self.conditions, self.settle = conditions, before
        if not ends:
            raise stopped
        self.variables = dict(ends[0][1])
        source = " or ".join(one for one, _, _ in ends if one != "otherwise")
        for name in dict.fromkeys(name for _, found, _ in ends for name in found):
            choices = [found.get(name) for _, found, _ in ends]
            if any(choice != choices[0] for choice in choices):
                self.variables[name] = self._merged(name, choices, Undecided(line, source, (), settle, self.file))
        self.tables = ends[0][2]
        for name, key in dict.fromkeys(
            (name, key) for _, _, found in ends for name, one in found.items() for key in one
        ):
            values = [found.get(name, {}).get(key) for _, _, found in ends]
            if any(value != values[0] for value in values):
                self.tables.setdefault(name, {})[key] = Unknown(f"${{{name}[{key}]}}", (name,))

    def _merged(self, name: str, choices: Sequence[list[str] | None], reason: Undecided) -> list[str]:
        """What branches leave in a variable: of arrays, only the part that differs is not known."""
        arrays = [choice or [] for choice in choices]
        if max(map(len, arrays)) < 2 and min(map(len, arrays)) == 1:
            texts = tuple("(not set)" if choice is None else joined(choice) for choice in choices)
            reason = replace(reason, choices=tuple(map(str, texts)))
            self.undecided[name] = reason
            return [Unknown(f"${{{name}}}", (name,), reason)]
        start = 0
        while all(len(one) > start and one[start] == arrays[0][start] for one in arrays):
            start += 1
        end = 0
        while all(len(one) - end > start and one[-1 - end] == arrays[0][-1 - end] for one in arrays):
            end += 1
        middles = [one[start : len(one) - end] for one in arrays]
        reason = replace(reason, choices=tuple(" ".join(middle) or "(nothing)" for middle in middles))
        self.undecided[name] = reason
        text = Unknown(f"${{{name}[@]}}", (name,), reason, ScriptLine(self.file, reason.line))
        return [*arrays[0][:start], text, *arrays[0][len(arrays[0]) - end :]]

    # Simple commands

    def _simple(self, node: Simple) -> bool | None:
        declares = not node.words or node.words[0].bare in DECLARING
        if declares:
            self._declare(node)
        words = self.expand(node.words)
        if not words:
            values = [one.value for one in node.assignments if isinstance(one.value, Word)]
            return None if any(part.kind == "command" for value in values for part in value.parts) else True
        own = () if declares else node.assignments
        environment = {name: self.variables[name][0] for name in self.exported if self.variables.get(name)}
        environment |= {one.name: self.text(one.value) for one in own if isinstance(one.value, Word)}
        return self._start(words, node, environment)

    def _declare(self, node: Simple) -> None:
        """Assignments, alone or behind `export`, `local` and the like."""
        kind = node.words[0].bare if node.words else ""
        options = [word.source for word in node.words[1:] if word.source.startswith("-")]
        names = [one.name for one in node.assignments]
        names += [word.source for word in node.words[1:] if re.fullmatch(r"[A-Za-z_]\w*", word.source)]
        for name in names:
            if kind == "local" and self._locals:
                self._locals[-1].setdefault(name, self.variables.get(name))
                if name not in self.fixed:
                    self.variables.pop(name, None)
            if kind in ("declare", "typeset", "local") and any("A" in option for option in options):
                self.tables.setdefault(name, {})
            if kind == "export" or any("x" in option for option in options):
                self.exported[name] = None
        for assignment in node.assignments:
            self._assign(assignment, node.line)

    def _start(self, words: list[str], node: Simple, environment: Mapping[str, str]) -> bool | None:
        name, rest = words[0], words[1:]
        if isinstance(name, Unknown):
            self.depends_on(name)
        if name in self.functions:
            return self._call(name, rest)
        if name in ("exit", "return", "break", "continue"):
            self._leave(name, rest)
        if name in ("[", "[[", "test"):
            return Test(self, [*node.words[1:]], name).result()
        if name in ("true", ":", "false"):
            return name != "false"
        if name in ("source", "."):
            return self._source(rest, node.line)
        if name == "eval" and not is_unknown(rest):
            return self.run(parse(" ".join(rest)))
        if name == "exec" and rest:
            self._start(rest, replace(node, words=node.words[1:]), environment)
            raise _Exit
        if name == "let":
            values = [self._arithmetic(one) for one in rest]
            return None if is_unknown(values) else True
        if name in ("getopts", "mapfile", "readarray"):
            if name == "getopts" and self.parameters is None:
                return False
            for one in rest:
                if one.isidentifier():
                    self._set(one, [Unknown(f"${{{one}[@]}}", (one,))], ScriptLine(self.file, node.line), name)
            return None
        self._change_state(name, rest, node)
        self.commands.append(Command(tuple(words), node.line, self.conditions, environment, self.settle))
        self._nested(words, node.line)
        self._print(name, rest, node)
        return True if name in _SUCCEED or name in DECLARING else None

    def _leave(self, name: str, rest: Sequence[str]) -> None:
        code = rest[0] if rest else "0"
        if name == "exit":
            raise _Exit
        if name == "return":
            raise _Return(None if isinstance(code, Unknown) or not rest else code == "0")
        raise _Break(name == "break")

    def _change_state(self, name: str, rest: list[str], node: Simple) -> None:
        """What a command of the shell itself changes."""
        if name == "set" and "--" in rest:
            self.parameters = rest[rest.index("--") + 1 :]
        elif name == "shift" and self.parameters is not None:
            self.parameters = self.parameters[int(rest[0]) if rest and rest[0].isdecimal() else 1 :]
        elif name == "unset":
            for one in rest:
                self.variables.pop(one, None)
                self.tables.pop(one, None)
        elif name == "read":
            self._read(rest, node)
        elif name == "printf" and rest[:1] == ["-v"] and len(rest) > 2:
            text = None if is_unknown(rest) else formatted(rest[2:])
            value = Unknown(f"${rest[1]}", (rest[1],)) if text is None else text
            self._set(rest[1], [value], ScriptLine(self.file, node.line), "printf")
        elif name in ("cat", "tee") and len(rest) == (name == "tee"):
            self._write_file(node, rest[0] if rest else None)
        elif name in ("cd", "pushd"):
            target = next((one for one in rest if one != "--"), None)
            known = target is not None and not isinstance(target, Unknown) and target != "-"
            if target is not None and known and target.startswith("/"):
                self.folder = posixpath.normpath(target)
            elif target is not None and known and self.folder is not None:
                self.folder = posixpath.normpath(posixpath.join(self.folder, target))
            else:
                self.folder = None

    def _nested(self, words: list[str], line: int) -> None:
        """`bash -c 'text'` and `bash other.sh`, also behind another command."""
        for index, word in enumerate(words):
            if word.rpartition("/")[2] not in _SHELLS and not (index == 0 and word.endswith(".sh")):
                continue
            rest = words[index:] if word.endswith(".sh") else words[index + 1 :]
            options = 0
            while options < len(rest) and rest[options].startswith("-"):
                options += 1
            if len(rest) <= options or self._calls >= _MOST_CALLS:
                return
            inline = any("c" in one and not one.startswith("--") for one in rest[:options])
            # What is not known in such a text is still as written: it is looked up again.
            text: str | None = rest[options]
            if not inline:
                text = self.load(rest[options]) if self.load is not None and rest[options].endswith(".sh") else None
            if text is None:
                return
            parameters, file, script, at = self.parameters, self.file, self.script, self._inline_at
            self._calls += 1
            self._inline_at = line if inline else 0
            self.parameters = rest[options + 1 + inline :]
            if not inline:
                self.file = self.script = rest[options]
                self.variables["BASH_SOURCE"] = [self.file]
            with self._subshell(), suppress(_Return, _Break):
                self.run(parse(text))
            self.parameters, self.file, self.script, self._inline_at = parameters, file, script, at
            self._calls -= 1
            return

    def _print(self, name: str, rest: list[str], node: Simple) -> None:
        if self.output is None or name in _SILENT or any(one.hides_output for one in node.redirects):
            return
        if name == "pwd":
            text: str | None = None if self.folder is None else f"{self.folder}\n"
        else:
            here = next((self.text(one.target) for one in node.redirects if one.operator == "<<<"), None)
            given = self.given or "" if here is None else f"{here}\n"
            texts = [*rest, given]
            if is_unknown(texts) or (self.given is None and here is None and name in ("cat", "wc", "tr", "cut")):
                self.output.append(joined([*texts, Unknown(name)]))
                return
            text = printed(name, rest, given)
        self.output.append(Unknown(name) if text is None else text)

    def _call(self, name: str, arguments: list[str]) -> bool | None:
        if self._calls >= _MOST_CALLS:
            return None
        parameters, file = self.parameters, self.file
        body, self.file = self.functions[name]
        self.parameters = arguments
        self._calls += 1
        self._locals.append({})
        try:
            return self.run(body)
        except _Return as end:
            status: bool | None = end.args[0]
            return status
        finally:
            self._calls -= 1
            self.parameters, self.file = parameters, file
            for one, values in self._locals.pop().items():
                if values is None:
                    self.variables.pop(one, None)
                elif one not in self.fixed:
                    self.variables[one] = values

    def _source(self, words: list[str], line: int) -> bool | None:
        if not words:
            return True
        name = words[0]
        if not isinstance(name, Unknown) and self.folder is not None and not name.startswith("/"):
            name = posixpath.join(self.folder, name)
        text = self.load(name) if self.load is not None else None
        if text is None or self._calls >= _MOST_CALLS:
            self.missing.append((words[0], ScriptLine(self.file, line)))
            return True
        file, self.file = self.file, words[0]
        own = self.variables.get("BASH_SOURCE")
        if not isinstance(name, Unknown):
            self.variables["BASH_SOURCE"] = [name]
        self._calls += 1
        try:
            return self.run(parse(text))
        except _Return:
            return True
        finally:
            self._calls -= 1
            self.file = file
            if own is not None:
                self.variables["BASH_SOURCE"] = own

    def _read(self, words: list[str], node: Simple) -> None:
        """`read -ra NAME <<< text`, `IFS=, read A B <<< text`."""
        names = [word for word in words if word.isidentifier()]
        given = next((self.text(one.target) for one in node.redirects if one.operator == "<<<"), self.given)
        place = ScriptLine(self.file, node.line)
        if given is None or isinstance(given, Unknown):
            for name in names:
                self._set(name, [Unknown(f"${{{name}[@]}}", (name,))], place, given or "read")
            return
        marks = next(
            (self.text(one.value) for one in node.assignments if one.name == "IFS" and isinstance(one.value, Word)),
            None,
        )
        fields = self._split(given.strip(), marks)
        if any(word.startswith("-") and "a" in word for word in words):
            self._set(names[-1] if names else "_", fields, place, given)
            return
        for index, name in enumerate(names):
            last = index == len(names) - 1
            value = fields[index] if index < len(fields) else ""
            self._set(name, [" ".join(fields[index:]) if last and len(fields) > len(names) else value], place, given)

    def _write_file(self, node: Simple, target: str | None) -> None:
        """A here-document that goes to a file."""
        paths = (self.text(one.target) for one in node.redirects if one.operator in (">", ">|", ">>"))
        path = target or next(paths, None)
        body = next((one.body for one in node.redirects if one.body is not None), None)
        if path is not None and body is not None:
            appended = any(one.operator == ">>" for one in node.redirects)
            self.files[path] = (self.files.get(path, "") if appended else "") + self.text(body)

    # Variables

    def _assign(self, one: Assignment, line: int) -> None:
        if one.name in self.tables and self._assign_key(one):
            return
        if isinstance(one.value, tuple):
            values = self.expand(one.value)
            source = " ".join(word.source for word in one.value)
        else:
            values, source = [self.text(one.value)], one.value.source
        before = self.variables.get(one.name, [])
        if one.index is not None:
            index = self._arithmetic(one.index)
            if isinstance(index, Unknown) or not 0 <= int(index) <= len(before):
                values = [Unknown(f"${{{one.name}[@]}}", (one.name,))]
            else:
                values = [*before[: int(index)], *values, *before[int(index) + 1 :]]
        elif one.append:
            values = [*before, *values] if isinstance(one.value, tuple) else [joined([*before[:1], *values])]
        self._set(one.name, values, ScriptLine(self.file, line), source)

    def _assign_key(self, one: Assignment) -> bool:
        """Elements of an array with names; whether it was one."""
        table = self.tables[one.name]
        if isinstance(one.value, tuple):
            if not one.append:
                table.clear()
            for word in one.value:
                found = _KEYED.fullmatch(text := self.text(word))
                if found is not None:
                    table[found[1]] = Unknown(found[2], (one.name,)) if isinstance(text, Unknown) else found[2]
            return True
        if one.index is None:
            return False
        table[self.text(parse_word(one.index.strip("\"'"), quoted=True))] = self.text(one.value)
        return True

    def _set(self, name: str, values: list[str], place: ScriptLine, source: str) -> None:
        if name in self.fixed:
            return
        kept = [one if isinstance(one, Traced) and one.place.line else placed(one, place, ()) for one in values]
        self.undecided.pop(name, None)
        if is_unknown(kept):
            reason = next((one.reason for one in kept if isinstance(one, Unknown) and one.reason), None)
            unsettled = [one for value in kept if isinstance(value, Unknown) for one in value.variables]
            self.undecided[name] = reason or Undecided(place.line, str(source), (), tuple(unsettled), place.file)
        self.variables[name] = kept

    # Words

    def text(self, word: Word) -> str:
        """A word as one text: nothing is split."""
        pieces: list[str] = []
        origins: list[Origin] = []
        outer, self._word_line = self._word_line, word.line or self._word_line
        for part in word.parts:
            values = self._values(part)
            origins += self._origins(part, values)
            pieces.append(joined(values, " "))
        self._word_line = outer
        return placed(self._checked([joined(pieces)])[0], self._place(word.line or self._word_line), origins)

    def expand(self, words: Iterable[Word]) -> list[str]:
        """Words as a command gets them: variables filled in and, unless quoted, split at blanks."""
        found: list[str] = []
        for word in (one for each in words for one in _with_braces(each)):
            outer, self._word_line = self._word_line, word.line or self._word_line
            place = self._place(self._word_line)
            fields: list[list[str]] = []
            origins: list[Origin] = []
            begun = False
            for part in word.parts:
                splits = part.kind != "text" and not part.quoted
                values = self._values(part)
                origins += self._origins(part, values)
                for number, value in enumerate(values):
                    whole = not splits or isinstance(value, Unknown)
                    if number or (not whole and value[:1].isspace()):
                        begun = False
                    for index, piece in enumerate([value] if whole else self._split(value)):
                        if index or not begun:
                            fields.append([])
                        # A whole element of an array keeps its own place.
                        same = piece == value and len(word.parts) == 1
                        fields[-1].append(value if same else piece)
                        begun = True
                    if not whole and value[-1:].isspace():
                        begun = False
            self._word_line = outer
            for pieces in fields:
                kept = len(pieces) == 1 and _is_array(word) and isinstance(pieces[0], Traced) and pieces[0].place.line
                found.append(pieces[0] if kept else placed(joined(pieces), place, origins))
        return self._checked(found)

    def _place(self, line: int) -> ScriptLine:
        return ScriptLine(self.file, self._inline_at or line)

    def _origins(self, part: WordPart, values: Sequence[str]) -> list[Origin]:
        """The variables of an expansion, and where each was set."""
        if part.kind == "arithmetic":
            names = re.findall(r"[A-Za-z_]\w*", part.text)
            found = [(name, self.variables[name][0]) for name in names if self.variables.get(name)]
        else:
            name = re.match(r"\$\{?(\w+)", part.text) if part.kind == "variable" else None
            found = [(name[1], values[0])] if name and values else []
        origins: list[Origin] = []
        for one, value in found:
            if isinstance(value, Traced):
                elsewhere = value.place != self._place(self._word_line) and any(value.place)
                origins += [(one, value.place)] if elsewhere else []
                origins += value.origins
        return origins

    def _split(self, text: str, marks: str | None = None) -> list[str]:
        """Fields of a text, at blanks or at the characters of IFS."""
        values = self.variables.get("IFS") if marks is None else [marks]
        if not values or not values[0] or not values[0].strip():
            return text.split()
        fields = re.split(f"[{re.escape(values[0])}]", text)
        return fields[:-1] if fields[-1] == "" else fields

    def _checked(self, made: list[str]) -> list[str]:
        self._characters += sum(map(len, made))
        if self._characters > _MOST_CHARACTERS:
            raise ShellSyntaxError("the script makes more text than can be followed")
        return made

    def _values(self, part: WordPart) -> list[str]:
        """What a part of a word stands for: several texts for an array."""
        if part.kind == "text":
            return [part.text]
        if part.kind == "command":
            return [self._output(part.text)]
        if part.kind == "arithmetic":
            value = self._arithmetic(part.text[3:-2])
            return [Unknown(part.text, value.variables, value.reason) if isinstance(value, Unknown) else value]
        values = self._parameter(part.text)
        if values is None:
            return [Unknown(part.text)]
        return [joined(values, " ")] if part.quoted and part.text.endswith(("$*", "[*]}")) else values

    def _output(self, source: str) -> str:
        """What a command prints, if that follows from the script alone."""
        if source.startswith(("<(", ">(")) or self._calls >= _MOST_CALLS:
            return Unknown(source)
        inner = source[1:-1] if source.startswith("`") else source[2:-1]
        before, outer = len(self.commands), self.output
        self._calls += 1
        self.output = []
        status: bool | None = None
        try:
            with self._subshell(), suppress(_Return):
                status = self.run(parse(inner))
            text = joined(self.output) if self.output or status is not None else Unknown(source)
        except ShellSyntaxError:
            text = Unknown(source)
        finally:
            self._calls -= 1
            self.output = outer
            del self.commands[before:]
        if isinstance(text, Unknown):
            return Unknown(source, text.variables, text.reason)
        return text.rstrip("\n")

    def _parameter(self, source: str) -> list[str] | None:
        """The value of `$X`, `${X}`, `${X:-8}`, `${X[@]}` and the like; None if it has no such form."""
        found = _PARAMETER.fullmatch(source if source.startswith("${") else f"${{{source[1:]}}}")
        if found is None:
            return None
        mark, name, index, rest = found.groups()
        if mark == "!" and index in ("@", "*"):
            if name in self.tables:
                return list(self.tables[name])
            held = self.variables.get(name)
            unsure = held is None or is_unknown(held)
            return [Unknown(source, (name,))] if unsure else [str(one) for one in range(len(held or ()))]
        if mark == "!":
            if (
                index is not None
                or rest
                or not self.variables.get(name)
                or isinstance(self.variables[name][0], Unknown)
            ):
                return [Unknown(source, (name,))]
            name = self.variables[name][0]
        values = self._lookup(name, index)
        every = index in ("@", "*") or name in ("@", "*")
        if mark == "#":
            if values is None or is_unknown(values):
                return [Unknown(source, (name,))]
            return [str(len(values) if every else len(values[0]) if values else 0)]
        if rest:
            return self._substituted(source, name, values, rest, every)
        if values is None:
            return [Unknown(source, (name,))]
        if not every:
            values = values[:1]
            if values and isinstance(values[0], Unknown):
                return [Unknown(source, values[0].variables or (name,), values[0].reason)]
        return values

    def _lookup(self, name: str, index: str | None) -> list[str] | None:
        """Values of a variable; None if it is not set here."""
        if name in ("@", "*"):
            return self.parameters
        if name == "#":
            return None if self.parameters is None else [str(len(self.parameters))]
        if name == "PWD" and self.folder is not None:
            return [self.folder]
        if name.isdecimal():
            number = int(name[:4])
            if not number:
                return [self.script] if self.script else None
            return None if self.parameters is None else self.parameters[number - 1 : number] or [""]
        if name in self.tables and index is not None:
            table = self.tables[name]
            if index in ("@", "*"):
                return list(table.values())
            key = self.text(parse_word(index.strip("\"'"), quoted=True))
            if isinstance(key, Unknown):
                return [Unknown(f"${{{name}[{index}]}}", key.variables, key.reason)]
            return [table[key]] if key in table else []
        values = self.variables.get(name)
        if values is None or index in (None, "@", "*"):
            return values
        position = self._arithmetic(index or "")
        if isinstance(position, Unknown):
            return [Unknown(f"${{{name}[{index}]}}", position.variables)]
        return values[int(position) :][:1] if abs(int(position)) <= len(values) else []

    def _substituted(
        self, source: str, name: str, values: list[str] | None, rest: str, every: bool
    ) -> list[str] | None:
        """`${X:-8}`, `${X:=8}`, `${X:+y}`, `${X%.*}` and their kin."""
        mark = _SUBSTITUTE.match(rest)
        if mark is None:
            return None
        kind, operand = mark[0], rest[mark.end() :]
        unknown = [value for value in values or () if isinstance(value, Unknown)]
        if kind.lstrip(":") in ("-", "=", "+", "?") and kind != ":":
            if unknown and (kind.endswith("+") or len(values or ()) == 1):
                return [Unknown(source, (name,), unknown[0].reason)]
            missing = values is None or (kind.startswith(":") and not "".join(values))
            if kind.endswith("+"):
                return [] if missing else self.expand([parse_word(operand)])
            if not missing and values is not None:
                return values
            if kind.endswith("?"):
                return [Unknown(source, (name,))]
            default = [self.text(parse_word(operand))]
            if kind.endswith("=") and name not in self.fixed:
                self.variables[name] = default
            return default
        argument = self.text(parse_word(operand))
        if values is None or unknown or isinstance(argument, Unknown):
            return [Unknown(source, (name,), unknown[0].reason if unknown else None)]
        if kind == ":":
            return self._sliced(values, argument, every, 1 if name in ("@", "*") else 0)
        if kind in ("/", "//") and re.match(r"[#%]|[^/]*[*?\[]", argument):
            return None
        return [_transformed(value, kind, argument) for value in values]

    def _sliced(self, values: list[str], argument: str, every: bool, first: int) -> list[str] | None:
        """`${X:2:3}`: characters of a text, or elements of an array."""
        bounds = [self._arithmetic(one) for one in argument.split(":", 1)]
        if is_unknown(bounds) or any(int(one) < 0 for one in bounds):
            return None
        start = max(0, int(bounds[0]) - first)
        stop = start + int(bounds[1]) if len(bounds) > 1 else None
        return values[start:stop] if every else [value[start:stop] for value in values[:1]]

    def _arithmetic(self, text: str) -> str:
        """The value of an expression over whole numbers."""
        expanded = self.text(parse_word(text, quoted=True))
        if isinstance(expanded, Unknown):
            return expanded
        reasons: list[Undecided] = []

        def look_up(name: str) -> str | None:
            values = self.variables.get(name)
            if not values or isinstance(values[0], Unknown):
                reasons.extend(filter(None, [self.undecided.get(name)]))
                return None
            return values[0]

        def assign(name: str, value: str) -> None:
            self._set(name, [value], ScriptLine(self.file, self._word_line), value)

        try:
            return str(evaluate(expanded, look_up, assign))
        except NotKnownError as missing:
            reason: Exception = missing
        except (ValueError, ArithmeticError, RecursionError) as error:
            reason = error
        for name in re.findall(
            r"([A-Za-z_]\w*)\s*(?:[-+*/%|&^]?=(?!=)|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)", expanded
        ):
            changed = name[0] or name[1]
            self._set(changed, [Unknown(f"${changed}", (changed,))], ScriptLine(self.file, self._word_line), text)
        return Unknown(text, reason.args if isinstance(reason, NotKnownError) else (), next(iter(reasons), None))


def _is_array(word: Word) -> bool:
    return len(word.parts) == 1 and word.parts[0].text.endswith(("[@]}", "[*]}"))


def _with_braces(word: Word, most: int = 200) -> list[Word]:
    """`{1..4}` and `{a,b}` make several words of one."""
    for index, part in enumerate(word.parts):
        found = _BRACES.search(part.text) if part.kind == "text" and not part.quoted else None
        if found is None:
            continue
        numbers = re.fullmatch(r"(-?\d{1,6})\.\.(-?\d{1,6})", found[1])
        if numbers:
            first, last = int(numbers[1]), int(numbers[2])
            items = [str(one) for one in range(first, last + (1 if last >= first else -1), 1 if last >= first else -1)]
        elif "," in found[1]:
            items = found[1].split(",")
        else:
            continue
        made: list[Word] = []
        for item in items[:most]:
            text = part.text[: found.start()] + item + part.text[found.end() :]
            parts = (*word.parts[:index], replace(part, text=text), *word.parts[index + 1 :])
            made += _with_braces(replace(word, parts=parts), most)[: most - len(made)]
        return made
    return [word]


def _transformed(value: str, kind: str, argument: str) -> str:
    if kind in ("#", "##"):
        lengths = range(len(value) + 1) if kind == "#" else range(len(value), -1, -1)
        return next((value[size:] for size in lengths if fnmatchcase(value[:size], argument)), value)
    if kind in ("%", "%%"):
        starts = range(len(value), -1, -1) if kind == "%" else range(len(value) + 1)
        return next((value[:start] for start in starts if fnmatchcase(value[start:], argument)), value)
    if kind in ("/", "//"):
        old, _, new = argument.partition("/")
        return value.replace(old, new, 1 if kind == "/" else -1) if old else value
    change = str.upper if kind.startswith("^") else str.lower
    return change(value) if len(kind) == 2 else change(value[:1]) + value[1:]

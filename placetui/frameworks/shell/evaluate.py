"""Follows a script without running it: which commands it would start, and with which words.

A condition that only running would decide is followed into each branch; what the branches leave different is not known
afterwards. Arguments of the script that nobody gave count as none in a loop over them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import takewhile, zip_longest
from typing import Any, NamedTuple

from placetui.frameworks.shell.conditions import Test
from placetui.frameworks.shell.expansion import Expander
from placetui.frameworks.shell.state import ShellState, merge
from placetui.frameworks.shell.syntax import (
    DECLARING,
    AndOr,
    Arithmetic,
    Assignment,
    Block,
    Case,
    For,
    Function,
    If,
    Node,
    Pipeline,
    Redirect,
    Redirected,
    ShellSyntaxError,
    Simple,
    While,
    Word,
    WordPart,
    parse,
    parse_word,
)
from placetui.frameworks.shell.utilities import formatted, printed
from placetui.frameworks.shell.values import SETTING, ScriptLine, Traced, Undecided, Unknown, is_unknown, joined

_MOST_STEPS = 20_000
_MOST_CALLS = 20
_MOST_ROUNDS = 50
"""Of a loop that does not end by itself."""

_SUCCEED = frozenset("cd echo mkdir popd printf pushd set shift sleep".split())
"""Commands that are taken to succeed."""

_SILENT = frozenset("cd export local declare mkdir set shift sleep read unset true : false [ [[ test".split())
_SHELLS = frozenset({"bash", "sh"})
_NAME = re.compile(r"[A-Za-z_]\w*")


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
    files: Mapping[str, str]
    """Files that it writes with `cat > FILE <<END`, by path."""

    missing: tuple[tuple[str, ScriptLine], ...] = ()
    """Files that it sources and that could not be read."""

    ended: int = 0
    """Line of the last `exit` that was reached; 0: of none."""


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
    found = _Evaluator(given, load, path)
    found.words.state.variables = {name: [value] for name, value in {**(environment or {}), **given}.items()}
    found.words.state.parameters = None if parameters is None else list(parameters)
    if path:
        found.words.state.variables.setdefault("BASH_SOURCE", [path])
    try:
        with suppress(_Exit, _Return, _Break):
            found.run(parse(text) if isinstance(text, str) else _simple_command(text))
    except RecursionError:
        raise ShellSyntaxError("the script is nested too deeply to follow") from None
    return Script(tuple(found.commands), found.words.undecided, found.state.files, tuple(found.missing), found.ended)


def _simple_command(words: Sequence[str]) -> Simple:
    """Words that are split already: only variables in them are left to be filled in."""
    return Simple((), tuple(map(_split_word, words)), (), 1)


def _split_word(word: str) -> Word:
    if "$" in word or "`" in word:
        with suppress(ShellSyntaxError):  # a shell has read it: what is no expansion is text
            return parse_word(word, quoted=True)
    return Word((WordPart("text", word, True),))


class _Left(Exception):
    """Something is left before its end."""


class _Exit(_Left):
    """The script ends here."""


class _Return(_Left):
    """A function or a sourced file ends here, with the status that is its argument."""


class _Break(_Left):
    """A round of a loop ends here; the argument says whether the loop does."""


class _End(NamedTuple):
    """A branch that could not be decided, and the state in which it leaves a loop or a function."""

    state: ShellState
    reason: Undecided
    status: bool | None = None


@dataclass(slots=True)
class _Loop:
    breaks: list[_End] = field(default_factory=list)
    continues: list[_End] = field(default_factory=list)


class _Evaluator:
    def __init__(self, fixed: Mapping[str, str], load: Callable[[str], str | None] | None, path: str) -> None:
        self.words = Expander(fixed, self._output, script=path)
        self.commands: list[Command] = []
        self.missing: list[tuple[str, ScriptLine]] = []
        self.ended = 0
        self._load = load
        self._conditions: tuple[str, ...] = ()
        self._settle: tuple[str, ...] = ()
        self._loops: list[_Loop] = []
        self._returns: list[list[_End]] = []
        self._locals: list[dict[str, list[str] | None]] = []
        self._tested = 0
        """Above 0 inside a condition, where a command may fail."""

        self._substituted: bool | None = True
        """Whether the last `$( … )` succeeded."""

        self._steps = 0
        self._calls = 0
        self._runners: Mapping[type[Node], Callable[[Any], bool | None]] = {
            Simple: self._simple,
            AndOr: self._and_or,
            Pipeline: self._pipeline,
            Block: self._block,
            If: self._if,
            Case: self._case,
            For: self._for,
            While: self._while,
            Redirected: self._redirects,
            Function: self._define,
            Arithmetic: self._arithmetic,
        }

    @property
    def state(self) -> ShellState:
        return self.words.state

    @state.setter
    def state(self, state: ShellState) -> None:
        self.words.state = state

    # Commands: each gives whether it succeeds, None if that is not known.

    def run(self, node: Node) -> bool | None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise ShellSyntaxError("the script takes too many steps to follow")
        status = self._runners[type(node)](node)
        if isinstance(node, (Simple, Pipeline, Arithmetic)):
            self.state.status = "0" if status else None
            if status is False and "errexit" in self.state.options and not self._tested:
                raise _Exit
        return status

    def _redirects(self, node: Redirected) -> bool | None:
        with self._redirected(node.redirects):
            return self.run(node.body)

    def _define(self, node: Function) -> bool | None:
        self.state.functions[node.name] = ((node.body, self.words.file),)
        return True

    def _arithmetic(self, node: Arithmetic) -> bool | None:
        value = self.words.arithmetic(node.text)
        if not isinstance(value, Unknown):
            return value != "0"
        self.words.depends_on(value)
        return None

    def _test(self, node: Node) -> bool | None:
        """Run a command that may fail."""
        self._tested += 1
        try:
            return self.run(node)
        finally:
            self._tested -= 1

    @contextmanager
    def _subshell(self) -> Iterator[None]:
        """What changes inside is lost, except for what is printed and written."""
        before = self.state
        self.state = before.copy()
        with suppress(_Exit):
            yield
        before.output, before.files = self.state.output, self.state.files
        self.state = before

    @contextmanager
    def _redirected(self, redirects: Sequence[Redirect]) -> Iterator[None]:
        """Give commands their standard input; what they print elsewhere is lost."""
        outer, given = self.state.output, self.state.given
        hides = outer is not None and any(one.hides_output for one in redirects)
        feeds = False
        for one in redirects:
            if one.operator in ("<", "<<", "<<-", "<<<") and one.descriptor in ("", "0"):
                feeds = True
                self.state.given = self._input(one)
        if hides:
            self.state.output = []
        try:
            yield
        finally:
            if hides:
                self.state.output = outer
            if feeds:
                self.state.given = given

    def _input(self, one: Redirect) -> str:
        if one.operator == "<<<":
            return joined([self.words.text(one.target), "\n"])
        return Unknown(one.target.source) if one.body is None else self.words.text(one.body)

    def _block(self, block: Block) -> bool | None:
        status: bool | None = True
        with self._subshell() if block.subshell else nullcontext():
            for node in block.body:
                status = None  # of one that exits
                status = self.run(node)
        return status

    def _pipeline(self, node: Pipeline) -> bool | None:
        if len(node.commands) == 1:
            status = self._test(node.commands[0]) if node.negated else self.run(node.commands[0])
            return None if status is None else status is not node.negated
        outer, given = self.state.output, self.state.given
        statuses: list[bool | None] = []
        for command in node.commands:
            last = command is node.commands[-1]
            self.state.output = outer if last else []
            statuses.append(None)
            with self._subshell():
                statuses[-1] = self.run(command)
            if not last:
                self.state.given = joined(self.state.output or [])
        self.state.given = given
        status = statuses[-1]
        if status and "pipefail" in self.state.options and not all(statuses):
            status = None
        return None if status is None else status is not node.negated

    def _and_or(self, node: AndOr) -> bool | None:
        blockers = self._condition()
        status = self._test(node.first)
        for number, (joint, following, source) in enumerate(node.rest, 1):
            last = number == len(node.rest)
            if status is None:
                self._branches([(source, following), ("otherwise", None)], node.line, blockers())
            elif status is (joint == "&&"):
                status = self.run(following) if last else self._test(following)
        return status

    def _if(self, node: If) -> bool | None:
        for index, (condition, body) in enumerate(node.branches):
            blockers = self._condition()
            decided = True if condition is None else self._test(condition)
            if decided:
                return self.run(body)
            if decided is None:
                names = [*node.source, "otherwise"][index:]
                bodies: list[Node | None] = [body for _, body in node.branches[index:]]
                self._branches(list(zip_longest(names, bodies)), node.line, blockers())
                return None
        return True

    def _case(self, node: Case) -> bool | None:
        word = self.words.text(node.word)
        blockers = self._condition()
        if isinstance(word, Unknown):
            self.words.depends_on(word)
        elif (arm := self._arm(node, word)) is not None:
            return self.run(arm)
        branches: list[tuple[str, Node | None]] = [
            (f"{word} is {' or '.join(one.source for one in patterns)}", body) for patterns, body in node.arms
        ]
        if not any(one.bare == "*" for patterns, _ in node.arms for one in patterns):
            branches.append(("otherwise", None))
        self._branches(branches, node.line, blockers())
        return None

    def _arm(self, node: Case, word: str) -> Block | None:
        """The arm that is followed; None if a pattern cannot be known."""
        for patterns, body in node.arms:
            hits = [self.words.matches(word, pattern) for pattern in patterns]
            if None in hits:
                return None
            if any(hits):
                return body
        return Block(())

    # Loops

    def _for(self, node: For) -> bool | None:
        values = self.state.parameters if node.words is None else self.words.expand(node.words)
        if self.state.parameters is None and (values is None or values in (["$@"], ["$*"])):
            return True  # nobody gave the script any arguments
        place = ScriptLine(self.words.file, 0)
        with self._loop() as loop:
            for value in values or ():
                if isinstance(value, Unknown):  # it may be several words, or none
                    self.words.set(node.name, [Unknown(f"${node.name}", value.variables, value.reason)], place, value)
                    self._rounds(node.body, f"{node.name} in {value}", node.line, value.variables)
                    continue
                self.words.set(node.name, [value], place, value)
                if not self._round(node.body, loop):
                    break
        return None

    def _while(self, node: While) -> bool | None:
        self.words.arithmetic(node.start)
        before, commands = self.state.copy(), len(self.commands)
        with self._loop() as loop:
            for _ in range(_MOST_ROUNDS):
                blockers = self._condition()
                continues = self._test(node.condition)
                if continues is None and self.state.parameters is None and set(blockers()) & {"#", "@", "*", "1"}:
                    return True
                if continues is None:
                    self._rounds(node.body, node.source, node.line, blockers())
                    return None
                if continues is node.until or not self._round(node.body, loop):
                    return True
                if node.step:
                    self.words.arithmetic(node.step)
            self.state = before
            loop.breaks.clear()
            del self.commands[commands:]
            self._rounds(node.body, node.source, node.line, ())
        return None

    @contextmanager
    def _loop(self) -> Iterator[_Loop]:
        """A loop, after which the branches meet that left it."""
        loop = _Loop()
        self._loops.append(loop)
        conditions = self._conditions, self._settle
        try:
            yield loop
        finally:
            self._loops.pop()
            self._conditions, self._settle = conditions
        self._meet(loop.breaks)

    def _rounds(self, body: Node, source: str, line: int, settle: tuple[str, ...]) -> None:
        """Follow a loop of which the number of rounds is not known: what a round changes is not known afterwards."""
        self._branches([(source, body), ("otherwise", None)], line, settle)
        self._meet(self._loops[-1].continues)

    def _round(self, body: Node, loop: _Loop) -> bool:
        """Whether the loop continues after one more round."""
        try:
            self.run(body)
        except _Break as end:
            if end.args[0] and not loop.continues:
                return False
            if end.args[0]:
                loop.breaks.append(_End(self.state, loop.continues[0].reason))
                self.state = loop.continues.pop().state
        self._meet(loop.continues)
        return True

    def _meet(self, ends: list[_End]) -> None:
        """Continue where branches that were left early meet the others."""
        if ends:
            self._merge([self.state, *(one.state for one in ends)], ends[0].reason)
            ends.clear()

    # Conditions

    def _condition(self) -> Callable[[], tuple[str, ...]]:
        """Gives the variables that have stood in the way of deciding since now."""
        start = len(self.words.blockers)
        return lambda: tuple(dict.fromkeys(self.words.blockers[start:]))

    def _branches(self, branches: Sequence[tuple[str, Node | None]], line: int, settle: tuple[str, ...]) -> None:
        """Follow every branch with its condition; variables that they leave different are not known afterwards."""
        start = self.state
        conditions, before = self._conditions, self._settle
        ends: list[tuple[str, ShellState]] = []
        left: list[tuple[_Left, ShellState]] = []
        for source, body in branches:
            self.state = start.copy()
            self._conditions, self._settle = (*conditions, source), (*before, *settle)
            try:
                if body is not None:
                    self.run(body)
            except _Left as end:
                self._keep(end, Undecided(line, source, (), settle, self.words.file))
                left.append((end, self.state))
            else:
                ends.append((source, self.state))
        self._conditions, self._settle = conditions, before
        if not ends:
            reason, self.state = next((one for one in left if not isinstance(one[0], _Exit)), left[0])
            raise reason
        if any(not isinstance(one, _Exit) for one, _ in left):  # what follows up to the end of the loop depends on it
            others = " or ".join(one for one, _ in branches if one not in {source for source, _ in ends})
            self._conditions, self._settle = (*conditions, f"not {others}"), (*before, *settle)
        source = " or ".join(one for one, _ in ends if one != "otherwise")
        self._merge([state for _, state in ends], Undecided(line, source, (), settle, self.words.file))

    def _keep(self, reason: _Left, undecided: Undecided) -> None:
        """Keep the state in which a branch leaves a loop or a function, for where that ends."""
        if isinstance(reason, _Return) and self._returns:
            self._returns[-1].append(_End(self.state.copy(), undecided, reason.args[0]))
        elif isinstance(reason, _Break) and self._loops:
            loop = self._loops[-1]
            (loop.breaks if reason.args[0] else loop.continues).append(_End(self.state.copy(), undecided))

    def _merge(self, states: Sequence[ShellState], reason: Undecided) -> None:
        self.state, undecided = merge(states, reason)
        self.words.undecided.update(undecided)

    # Simple commands

    def _simple(self, node: Simple) -> bool | None:
        declares = not node.words or node.words[0].bare in DECLARING
        self._substituted = True
        if declares:
            self._declare(node)
        if not node.words:
            return self._substituted
        words = self.words.expand(node.words)
        if not words:
            return self._substituted
        own = {} if declares else {one.name: self._value(one) for one in node.assignments}
        held = {name: self.state.variables.get(name) for name in self.state.exported}
        environment = {name: values[0] for name, values in held.items() if values}
        before = {name: self.state.variables.get(name) for name in own}
        with self._redirected(node.redirects):
            self.state.variables |= {name: [one] for name, one in own.items() if name not in self.words.fixed}
            status = self._start(words, node, {**environment, **own})
        self._restore(before)
        return status

    def _restore(self, variables: Mapping[str, list[str] | None]) -> None:
        """Give variables their earlier values; None: they were not set."""
        for name, values in variables.items():
            if name in self.words.fixed:
                continue
            if values is None:
                self.state.variables.pop(name, None)
            else:
                self.state.variables[name] = values

    def _value(self, one: Assignment) -> str:
        return self.words.text(one.value, assigned=True) if isinstance(one.value, Word) else ""

    def _declare(self, node: Simple) -> None:
        """Assignments, alone or behind `export`, `local` and the like."""
        kind = node.words[0].bare if node.words else ""
        if kind == "local" and not self._locals:
            return  # an error outside a function: nothing is assigned
        letters = "".join(word.source[1:] for word in node.words[1:] if re.match("-[a-zA-Z]", word.source))
        plain = [word for word in node.words[1:] if not re.match("[-+]", word.source)]
        names = [one.name for one in node.assignments] + [one.source for one in plain if _NAME.fullmatch(one.source)]
        for name in names:
            inside = kind == "local" or (kind in ("declare", "typeset") and "g" not in letters)
            if inside and self._locals and name not in self._locals[-1]:
                self._locals[-1][name] = self.state.variables.get(name)
                if name not in self.words.fixed:
                    self.state.variables[name] = []
            if kind == "export" or "x" in letters:
                self.state.exported[name] = None
        if kind != "export" and set(letters) & set("Ailnu"):
            # What a reference stands for is no longer known either.
            self.state.opaque |= {*names, *map(self._value, node.assignments)}
        for assignment in node.assignments:
            self._assign(assignment, node.line)
        for word in plain:
            name, equals, value = self.words.text(word).partition("=")
            if equals and _NAME.fullmatch(name):
                self.words.set(name, [value], self._place(node), word.source)

    def _place(self, node: Simple) -> ScriptLine:
        return ScriptLine(self.words.file, node.line)

    def _start(self, words: list[str], node: Simple, environment: Mapping[str, str]) -> bool | None:
        name, rest = words[0], words[1:]
        if isinstance(name, Unknown):
            self.words.depends_on(name)
        if name in self.state.functions:
            return self._call(name, rest, node.line)
        if name in ("command", "builtin") and rest and not rest[0].startswith("-"):
            name, rest, words = rest[0], rest[1:], rest
            node = replace(node, words=node.words[1:])
        if name in ("exit", "return", "break", "continue"):
            self._leave(name, rest, node.line)
        if name in ("[", "[[", "test"):
            return Test(self.words, node.words[1:], name).result()
        if name in ("true", ":", "false"):
            return name != "false"
        if name in ("source", "."):
            return self._source(rest, node.line)
        if name == "eval" and not is_unknown(rest):
            return self.run(parse(" ".join(rest)))
        if name == "exec" and rest:
            self._start(rest, replace(node, words=node.words[1:]), environment)
            raise _Exit
        if name in ("let", "shopt"):
            raise ShellSyntaxError(f"line {node.line}: `{name}` cannot be followed")
        if name == "read":
            return self._read(rest, node)
        if name in ("getopts", "mapfile", "readarray"):
            for one in rest:
                if one.isidentifier():
                    self.words.set(one, [Unknown(f"${{{one}[@]}}", (one,))], self._place(node), name)
            return None
        changed = self._change_state(name, rest, node)
        self.commands.append(Command(tuple(words), node.line, self._conditions, environment, self._settle))
        self._nested(words, node.line)
        self._print(name, rest)
        return changed if name in _SUCCEED or name in DECLARING else None

    def _leave(self, name: str, rest: Sequence[str], line: int) -> None:
        code = rest[0] if rest else ""
        if name == "exit":
            self.ended = line
            raise _Exit
        if name == "return":
            raise _Return(None if isinstance(code, Unknown) or not rest else code == "0")
        if rest and code != "1":
            raise ShellSyntaxError(f"line {line}: `{name} {code}` cannot be followed")
        raise _Break(name == "break")

    def _change_state(self, name: str, rest: list[str], node: Simple) -> bool:
        """What a command of the shell itself changes; whether it succeeds, as far as that is known."""
        if name == "set":
            self._set_options(rest)
        elif name == "shift" and self.state.parameters is not None:
            count = rest[0] if rest else "1"
            if isinstance(count, Unknown) or is_unknown(self.state.parameters):
                self.state.parameters = None
            elif not count.isdecimal() or int(count) > len(self.state.parameters):
                return False
            else:
                self.state.parameters = self.state.parameters[int(count) :]
        elif name == "unset":
            for one in rest:
                if one != "-f":
                    self.words.unset(one)
            if "-f" in rest:
                self.state.functions = {one: body for one, body in self.state.functions.items() if one not in rest}
        elif name == "printf" and rest[:1] == ["-v"] and len(rest) > 2:
            text = None if is_unknown(rest) else formatted(rest[2:])
            value = Unknown(f"${rest[1]}", (rest[1],)) if text is None else text
            self.words.set(rest[1], [value], self._place(node), "printf")
        elif name in ("cat", "tee") and len(rest) == (name == "tee"):
            self._write_file(node, rest[0] if rest else None)
        elif name in ("cd", "pushd"):
            self._change_folder(rest)
        return True

    def _set_options(self, rest: Sequence[str]) -> None:
        """`set -euo pipefail`, and what follows the options: the script's own arguments from now on."""
        words = list(rest)
        options = set(self.state.options)
        while words and re.fullmatch(r"[-+][a-zA-Z]+", words[0]):
            word = words.pop(0)
            names = {"errexit"} if "e" in word[1:] else set()
            if word.endswith("o") and words:
                names.add(str(words.pop(0)))
            options = options | names if word.startswith("-") else options - names
        self.state.options = frozenset(options)
        if words[:1] == ["--"] or words:
            self.state.parameters = words[words[0] == "--" :]

    def _change_folder(self, rest: Sequence[str]) -> None:
        target = next((one for one in rest if one != "--"), None)
        if target is None or isinstance(target, Unknown) or target == "-":
            self.state.folder = None
        elif target.startswith("/"):
            self.state.folder = posixpath.normpath(target)
        elif self.state.folder is not None:
            self.state.folder = posixpath.normpath(posixpath.join(self.state.folder, target))

    def _nested(self, words: list[str], line: int) -> None:
        """`bash -c 'text'` and `bash other.sh`, also behind another command."""
        for index, word in enumerate(words):
            if word.rpartition("/")[2] not in _SHELLS and not (index == 0 and word.endswith(".sh")):
                continue
            rest = words[index:] if word.endswith(".sh") else words[index + 1 :]
            options = list(takewhile(lambda one: one.startswith("-"), rest))
            first, *others = rest[len(options) :] or [""]
            if not first or self._calls >= _MOST_CALLS:
                return
            if any("c" in one and not one.startswith("--") for one in options):
                # What is not known in such a text is still as written: it is looked up again.
                self._run_text(first, "", others[1:], line)
            elif first.endswith(".sh") and self._load is not None and (text := self._load(first)) is not None:
                self._run_text(text, first, others, 0)
            return

    def _run_text(self, text: str, path: str, parameters: list[str], inline_at: int) -> None:
        """Follow a shell of its own; `inline_at` is the line of a text that stands in this script."""
        words = self.words
        before = words.file, words.script, words.inline_at
        self._calls += 1
        with self._subshell(), suppress(_Return, _Break):
            self.state.parameters, self.state.options = parameters, frozenset()
            words.inline_at = inline_at
            if not inline_at:
                words.file = words.script = path
                self.state.variables["BASH_SOURCE"] = [path]
            self.run(parse(text))
        words.file, words.script, words.inline_at = before
        self._calls -= 1

    def _print(self, name: str, rest: list[str]) -> None:
        if self.state.output is None or name in _SILENT:
            return
        given = self.state.given
        texts = [*rest, given or ""]
        text: str | None
        if name == "pwd":
            text = None if self.state.folder is None else f"{self.state.folder}\n"
        elif is_unknown(texts) or (given is None and name in ("cat", "wc", "tr", "cut")):
            text = joined([*texts, Unknown(name)])
        else:
            text = printed(name, rest, given or "")
        self.state.output.append(Unknown(name) if text is None else text)

    def _output(self, part: WordPart) -> str:
        """What a command prints, if that follows from the script alone."""
        source = part.text
        if part.body is None or self._calls >= _MOST_CALLS:
            return Unknown(source)
        before, outer = len(self.commands), self.state.output
        self._calls += 1
        self._tested += 1
        self.state.output = []
        status: bool | None = None
        try:
            with self._subshell(), suppress(_Return, _Break):
                status = self.run(part.body)
            made = self.state.output
            text = joined(made) if made or status is not None else Unknown(source)
        except ShellSyntaxError:  # of a text that it evaluates
            text = Unknown(source)
        finally:
            self._calls -= 1
            self._tested -= 1
            self.state.output = outer
            del self.commands[before:]
        self._substituted = status
        if isinstance(text, Unknown):
            return Unknown(source, text.variables, text.reason)
        return text.rstrip("\n")

    # Functions and other files

    def _call(self, name: str, arguments: list[str], line: int) -> bool | None:
        if self._calls >= _MOST_CALLS:
            return None
        parameters = self.state.parameters
        bodies = self.state.functions[name]
        self._calls += 1
        self._locals.append({})
        self.state.parameters = arguments
        try:
            if len(bodies) == 1:
                return self._until_return(*bodies[0])
            choices: list[tuple[str, Node | None]] = [(f"this is {name}", body) for body, _ in bodies]
            self._branches(choices, line, ())
            return None
        finally:
            self._calls -= 1
            self.state.parameters = parameters
            self._restore(self._locals.pop())

    def _until_return(self, body: Node, file: str) -> bool | None:
        """Follow a function or a file; branches that return early meet the others at its end."""
        outer, self.words.file = self.words.file, file
        returns: list[_End] = []
        self._returns.append(returns)
        loops, self._loops = self._loops, []
        conditions = self._conditions, self._settle
        try:
            status = self.run(body)
        except _Return as end:
            status = end.args[0]
        finally:
            self._loops = loops
            self._conditions, self._settle = conditions
            self._returns.pop()
            self.words.file = outer
        if any(one.status is not status for one in returns):
            status = None
        self._meet(returns)
        return status

    def _source(self, words: list[str], line: int) -> bool | None:
        if not words:
            return True
        name = words[0]
        if not isinstance(name, Unknown) and self.state.folder is not None and not name.startswith("/"):
            name = posixpath.join(self.state.folder, name)
        text = self._load(name) if self._load is not None else None
        if text is None or self._calls >= _MOST_CALLS:
            self.missing.append((words[0], ScriptLine(self.words.file, line)))
            return True
        own = self.state.variables.get("BASH_SOURCE")
        parameters = self.state.parameters
        if not isinstance(name, Unknown):
            self.state.variables["BASH_SOURCE"] = [name]
        self._calls += 1
        if len(words) > 1:
            self.state.parameters = words[1:]
        try:
            return self._until_return(parse(text), words[0])
        finally:
            self._calls -= 1
            if len(words) > 1:
                self.state.parameters = parameters
            if own is not None:
                self.state.variables["BASH_SOURCE"] = own

    # Input and files

    def _read(self, words: list[str], node: Simple) -> bool | None:
        """`read -ra NAME <<< text`, `IFS=, read A B <<< text`, and lines in a loop."""
        names = [word for word in words if word.isidentifier()] or ["REPLY"]
        options = "".join(word[1:] for word in words if word.startswith("-"))
        given = self.state.given
        place = self._place(node)
        raw = "r" in options or "\\" not in (given or "")
        if given is None or isinstance(given, Unknown) or set(options) - set("ra") or not raw:
            for name in names:
                self.words.set(name, [Unknown(f"${{{name}[@]}}", (name,))], place, given or "read")
            return None
        line, end, self.state.given = given.partition("\n")
        if "a" in options:
            self.words.set(names[-1], self.words.split(line), place, given)
            return bool(end)
        fields = self.words.split(line, len(names))
        for index, name in enumerate(names):
            self.words.set(name, [fields[index] if index < len(fields) else ""], place, given)
        return bool(end)

    def _write_file(self, node: Simple, target: str | None) -> None:
        """A here-document that goes to a file."""
        paths = (self.words.text(one.target) for one in node.redirects if one.operator in (">", ">|", ">>"))
        path = target or next(paths, None)
        body = next((one.body for one in node.redirects if one.body is not None), None)
        if path is not None and body is not None:
            appended = any(one.operator == ">>" for one in node.redirects)
            self.state.files[path] = (self.state.files.get(path, "") if appended else "") + self.words.text(body)

    # Assignments

    def _assign(self, one: Assignment, line: int) -> None:
        name = one.name
        place = ScriptLine(self.words.file, line)
        if isinstance(one.value, tuple):
            values = self.words.expand(one.value)
            source = " ".join(word.source for word in one.value)
            if any(re.match(r"\[[^\]]*\]\+?=", word.source) for word in one.value):
                values = [Unknown(f"${{{name}[@]}}", (name,))]  # elements may be missing in between
        else:
            values, source = [self.words.text(one.value, assigned=True)], one.value.source
        before = self.state.variables.get(name, [])
        if one.index is not None:
            values = self._with_element(name, before, one.index, values[0] if values else "", one.append)
        elif isinstance(one.value, tuple):
            values = [*before, *values] if one.append else values
        elif before or one.append:
            values = [joined([*before[:1], *values]) if one.append else values[0], *before[1:]]
        self.words.set(name, values, place, source)

    def _with_element(self, name: str, before: list[str], index: str, value: str, append: bool) -> list[str]:
        """An array of which one element is assigned."""
        found = self.words.arithmetic(index)
        position = -1 if isinstance(found, Unknown) else int(found)
        if not 0 <= position <= len(before) or is_unknown(before[: position + 1]):
            return [Unknown(f"${{{name}[@]}}", (name,))]
        held = [*before[position : position + 1], value] if append else [value]
        return [*before[:position], joined(held), *before[position + 1 :]]

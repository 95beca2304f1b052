"""Enough of the shell to read a command line or a launch script: words, quotes, comments, variables. Runs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_OPERATORS = ("&>>", "&&", "||", ";;", ">>", "<<", "&>", ">&", "<&", "|", ";", "&", ">", "<", "(", ")", "\n")
_ENDS_COMMAND = frozenset({"&&", "||", ";;", "|", ";", "&", "\n"})
_REDIRECTS = frozenset({"&>>", ">>", "<<", "&>", ">&", "<&", ">", "<"})
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)(?P<all>\[[@*]\])?\})")


class UnbalancedQuotes(ValueError):
    """A quote is opened and never closed."""


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    literal: bool
    """Whether a `$` in it is only a character: it stood in single quotes or after a backslash."""


@dataclass(frozen=True, slots=True)
class _Operator:
    text: str


def commands(text: str) -> list[list[str]]:
    """The commands of a script as words; variables and arrays that the script itself sets are filled in.

    Variables that it does not set stay as written: `$HOME`, `${GPUS}`.

    Raises:
        UnbalancedQuotes: a quote is not closed.
    """
    script = _Script()
    for token in _tokens(text):
        script.take(token)
    script.finish()
    return script.commands


@dataclass(slots=True)
class _Script:
    commands: list[list[str]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    """Of the command being read."""

    variables: dict[str, list[str]] = field(default_factory=dict)
    array: str | None = None
    """Name of the array being read."""

    skip: bool = False
    """The next word is the file of a redirection."""

    def take(self, token: _Word | _Operator) -> None:
        if isinstance(token, _Operator):
            self._operator(token.text)
        elif self.skip:
            self.skip = False
        elif self.array is not None:
            self.variables[self.array] += self._expanded(token)
        else:
            self._word(token)

    def finish(self) -> None:
        if self.words:
            self.commands.append(self.words)
        self.words = []

    def _operator(self, text: str) -> None:
        if self.array is not None:
            if text == ")":
                self.array = None
        elif text == "(" and self.words and self.words[-1].endswith("="):
            self.array = self.words.pop().removesuffix("=").removesuffix("+")
            self.variables.setdefault(self.array, [])
        elif text in _ENDS_COMMAND:
            self.finish()
        elif text in _REDIRECTS:
            self.skip = True
            if self.words and self.words[-1].isdigit():
                self.words.pop()

    def _word(self, word: _Word) -> None:
        assignment = _ASSIGNMENT.fullmatch(word.text)
        if assignment and assignment["value"] and self.words[:1] in ([], ["export"]):
            value = _Word(assignment["value"], word.literal)
            if "`" not in value.text and "$(" not in value.text:
                self.variables[assignment["name"]] = self._expanded(value)
            return
        self.words += self._expanded(word)

    def _expanded(self, word: _Word) -> list[str]:
        if word.literal:
            return [word.text]
        whole = _VARIABLE.fullmatch(word.text)
        if whole and whole["all"] and whole["braced"] in self.variables:
            return list(self.variables[whole["braced"]])
        return [_VARIABLE.sub(lambda match: _value(match, self.variables), word.text)]


def _value(match: re.Match[str], variables: Mapping[str, list[str]]) -> str:
    known = variables.get(match["plain"] or match["braced"])
    return match[0] if known is None else " ".join(known)


def _tokens(text: str) -> Iterator[_Word | _Operator]:
    position, end = 0, len(text)
    while position < end:
        if text.startswith(("\\\n", "\\\r\n"), position):
            position = text.index("\n", position) + 1
        elif text[position] == "#":
            newline = text.find("\n", position)
            position = end if newline < 0 else newline
        elif operator := next((one for one in _OPERATORS if text.startswith(one, position)), None):
            yield _Operator(operator)
            position += len(operator)
        elif text[position].isspace():
            position += 1
        else:
            word, position = _read_word(text, position)
            yield word


def _read_word(text: str, position: int) -> tuple[_Word, int]:
    parts: list[str] = []
    literal = False
    end = len(text)
    while position < end:
        character = text[position]
        if character == "'":
            close = text.find("'", position + 1)
            if close < 0:
                raise UnbalancedQuotes(f"a single quote is not closed: {text[position : position + 40]!r}")
            parts.append(text[position + 1 : close])
            literal = literal or "$" in parts[-1]
            position = close + 1
        elif character == '"':
            inside, position = _read_double(text, position)
            parts.append(inside)
        elif text.startswith(("\\\n", "\\\r\n"), position):
            position = text.index("\n", position) + 1
        elif character == "\\" and position + 1 < end:
            literal = literal or text[position + 1] == "$"
            parts.append(text[position + 1])
            position += 2
        elif text.startswith("${", position):
            close = text.find("}", position)
            stop = close + 1 if close > 0 else end
            parts.append(text[position:stop])
            position = stop
        elif text.startswith("$(", position):
            stop = _closing(text, position + 1)
            parts.append(text[position:stop])
            position = stop
        elif character.isspace() or any(text.startswith(one, position) for one in _OPERATORS):
            break
        else:
            parts.append(character)
            position += 1
    return _Word("".join(parts), literal), position


def _read_double(text: str, position: int) -> tuple[str, int]:
    parts: list[str] = []
    start = position
    position += 1
    while position < len(text):
        character = text[position]
        if character == '"':
            return "".join(parts), position + 1
        if character == "\\" and position + 1 < len(text):
            following = text[position + 1]
            if following != "\n":
                parts.append(following if following in '"\\$`' else f"\\{following}")
            position += 2
        elif text.startswith("$(", position):
            stop = _closing(text, position + 1)
            parts.append(text[position:stop])
            position = stop
        else:
            parts.append(character)
            position += 1
    raise UnbalancedQuotes(f"a double quote is not closed: {text[start : start + 40]!r}")


def _closing(text: str, position: int) -> int:
    """The place after the parenthesis that closes the one at `position`."""
    depth = 0
    for index in range(position, len(text)):
        depth += (text[index] == "(") - (text[index] == ")")
        if not depth:
            return index + 1
    return len(text)

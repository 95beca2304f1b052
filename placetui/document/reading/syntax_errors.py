"""Errors of the YAML parser in plain words, with a hint for common mistakes."""

from __future__ import annotations

import re
from typing import TypeAlias

import yaml

from placetui.document.report import shorten

_NO_SPACE = re.compile(r"^[ ]*(?:- +)*(?P<key>[\w.,-]+):(?P<value>[^\s:/\"'][^\r\n]*?)[ \t\r]*$")
_TWO_COLONS = re.compile(r"^[ ]*(?:- +)*[^\s:#][^:]*:[ ]+(?P<value>[^\"'{\[#\s].*?)[ \t\r]*(?:[ ]#.*)?$")
_AFTER_QUOTE = re.compile(r"(?P<quote>[\"'])(?P<inside>(?:(?!(?P=quote)).)*)(?P=quote)(?P<rest>[^\s,}\]#][^\s,}\]]*)")
_RULE = re.compile(r"[\s\d:,a-zA-Z+-]*")


SyntaxProblem: TypeAlias = tuple[str, int, str]
"""What is wrong, where, and what to do."""


def explain(error: yaml.YAMLError, text: str) -> SyntaxProblem:
    """Turn an error of the parser into a sentence and a hint."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return "the file is not valid YAML", 0, "check it with a YAML linter"
    index = min(error.problem_mark.index, len(text))
    opened = min(error.context_mark.index, len(text)) if error.context_mark else index
    problem = error.problem or ""
    context = error.context or ""
    character = text[index : index + 1]

    if character == "\t" and ("token" in problem or "tab" in problem):
        return "there is a tab where YAML allows only spaces", index, "indent with spaces, two per level"
    if "cannot start any token" in problem:
        word = shorten(text[index : index + 40].split("\n")[0])
        return f"`{character}` cannot begin a value", index, f'put the value in quotes: `"{word}"`'
    if "mapping values are not allowed" in problem:
        return _second_colon(text, index)
    if "end of stream" in problem and "quoted" in context:
        quote = text[opened : opened + 1]
        return f"the quote `{quote}` that opens here is never closed", opened, f"close it with `{quote}`"
    if "escape character" in problem:
        message = "a backslash in double quotes begins an escape that YAML does not know"
        return message, index, "use single quotes, or write the backslash twice"
    if "expected ':'" in problem:
        word = shorten(_line(text, opened)[1])
        return f"`{word}` is neither `key: value` nor part of a list", opened, "add a colon and a value"
    return _half_quoted(text, index) or _by_structure(text, index, opened, problem, context)


def _by_structure(text: str, index: int, opened: int, problem: str, context: str) -> SyntaxProblem:
    character = text[index : index + 1].strip()
    if "flow" in context and "expected ','" in problem.replace("did not find ", ""):
        bracket = text[opened : opened + 1]
        closing = {"[": "]", "{": "}"}.get(bracket, bracket)
        line = text.count("\n", 0, opened) + 1
        message = f"the `{bracket}` of line {line} is not closed, or a comma is missing here"
        return message, index, f"close it with `{closing}`, or put a comma between its parts"
    if "entries are not allowed" in problem:
        message = "a list cannot begin behind a key on the same line"
        return message, index, "begin the list on the next line, or write it as `[a, b]`"
    if "block collection" in context:
        message = "this is between list items, but is not one"
        return message, index, "begin the line with `- `, or indent it like the key that the list belongs to"
    if "block mapping" in context:
        message = "this belongs to no key: the indentation matches no line above, or text follows a complete value"
        return message, index, "indent the line like its neighbours, or put the whole value in quotes"
    if "node content" in problem:
        what = f"`{character}` stands" if character else "the file ends"
        return f"{what} where a value is expected", index, "write the value, or put it in quotes"
    if "document start" in problem:
        return "the first keys are indented, and this line is not", index, "indent all top-level keys alike"
    words = " ".join(part for part in (problem, context) if part).replace("`", "'")
    return f"the YAML parser stops here: {shorten(words, 120)}", index, "check the quotes and brackets near it"


def _second_colon(text: str, index: int) -> SyntaxProblem:
    start, line = _line(text, index)
    above_start, above = _line_above(text, start)
    no_space = _NO_SPACE.match(above)
    if no_space:
        key, value = no_space["key"], no_space["value"]
        message = f"`{shorten(above)}` has no space after the colon, so YAML does not see a key"
        return message, above_start + no_space.start("value"), f"write `{key}: {shorten(value)}`"
    two_colons = _TWO_COLONS.match(line)
    if two_colons and start + two_colons.start("value") <= index:
        value = two_colons["value"]
        quoted = "".join(value.split()) if _RULE.fullmatch(value) else value.replace('"', "'")
        message = f"`{shorten(value)}` holds a colon and a space, which YAML takes for another key"
        return message, index, f'put the value in quotes: `"{shorten(quoted)}"`'
    message = "there is a key here, but the value above it has not ended"
    return message, index, "check the indentation of this line and of the line above"


def _half_quoted(text: str, index: int) -> SyntaxProblem | None:
    start, line = _line(text, index)
    for match in _AFTER_QUOTE.finditer(line):
        if match.start("rest") <= index - start <= match.end():
            quote, inside, rest = match["quote"], match["inside"], match["rest"]
            if quote == "'" and not rest.startswith(":"):
                whole = f'"{shorten(inside)}\'{shorten(rest.rstrip(quote))}"'
            else:
                whole = f"{quote}{shorten(inside + rest.replace(quote, ''))}{quote}"
            message = f"text follows the closing quote in `{shorten(match[0])}`"
            return message, start + match.start("rest"), f"put all of it in one pair of quotes: `{whole}`"
    return None


def _line(text: str, index: int) -> tuple[int, str]:
    """The line around a character, and where it begins; the first 500 characters of it."""
    start = text.rfind("\n", 0, index) + 1
    end = text.find("\n", start)
    return start, text[start : min(len(text) if end < 0 else end, start + 500)]


def _line_above(text: str, start: int) -> tuple[int, str]:
    while start > 0:
        start, line = _line(text, start - 1)
        if line.strip():
            return start, line
    return 0, ""

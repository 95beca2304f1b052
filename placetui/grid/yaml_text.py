"""YAML as styled lines: one line at a time, so that a large file costs what is in view."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from placetui.grid.look.style import BODY, MUTED, Line, Run, Style
from placetui.grid.marks import Mark

VALUE = Style("white")

_PIECE = re.compile(
    r"""
      (?P<comment>(?:^|(?<=\s))\#.*)
    | (?P<quoted>"(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?)
    | (?P<sign>[{}\[\]]|,(?=\s)|:(?=\s|$)|(?<!\S)-(?=\s|$))
    | (?P<word>(?:[^\s{}\[\],:]|[,:](?!\s|$))+)
    | (?P<blank>.)
    """,
    re.VERBOSE,
)
_COLON = re.compile(r"\s*:(?=\s|$)")


def yaml_line(text: str, marks: Mapping[str, Mark], *, key: Style = BODY, value: Style = VALUE) -> Line:
    """A line of a file: keys and values, comments muted, names of components in their hue.

    The characters stay as they are: the caller cleans what comes from a file.
    """
    runs: list[Run] = []
    for piece in _PIECE.finditer(text):
        found = piece.group()
        if piece.lastgroup == "blank":
            runs.append(Run(found, value))
        elif piece.lastgroup in ("comment", "sign"):
            runs.append(Run(found, MUTED))
        elif not _COLON.match(text, piece.end()):
            runs.append(Run(found, value))
        else:
            runs += _key(found, marks, key)
    return tuple(runs)


def _key(text: str, marks: Mapping[str, Mark], style: Style) -> Iterator[Run]:
    """A key, which may be that of several components."""
    for part in re.split(r"([,\s'\"]+)", text):
        mark = marks.get(part)
        look = style if mark is None else Style("component", mark.hue, True, None, mark.second, part)
        if part:
            yield Run(part, look)


def keys_in(text: str) -> list[str]:
    """The keys on a line, those of several components apart."""
    keys = (
        piece.group().strip("'\"")
        for piece in _PIECE.finditer(text)
        if piece.lastgroup in ("quoted", "word") and _COLON.match(text, piece.end())
    )
    return [name.strip() for key in keys for name in key.split(",")]


def names_at(lines: Sequence[str], row: int, names: Collection[str]) -> list[str]:
    """Which of these names a line is about: those it has as keys, else those of the key that it stands below."""
    depth = 1 << 30
    for text in chain(lines[row : row + 1], reversed(lines[max(0, row - MOST_ABOVE) : row])):
        code = text.lstrip()
        indent = len(text) - len(code)
        if not code or code.startswith("#") or indent >= depth:
            continue
        found = [name for name in dict.fromkeys(keys_in(text)) if name in names]
        if found or not indent:
            return found
        depth = indent
    return []


MOST_ABOVE = 2_000
"""Lines above a line that are searched for what it belongs to."""

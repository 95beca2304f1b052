"""The tree of a YAML text: what stands where, not yet what it means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

_PROPERTIES = re.compile(r"(?:[&!]\S*(?:\s|#[^\n]*)*){1,2}")
_DOUBLE_QUOTED = r"(?s)\\(?:x..|u.{4}|U.{8}|\r?\n|.)|."
_SINGLE_QUOTED = r"(?s)''|."
_BLANK_ESCAPES = frozenset({"\\n", "\\t", "\\ ", "\\r", "\\\n", "\\\r\n"})


class Scalar:
    """One value without parts."""

    __slots__ = ("content", "end", "start", "style", "tag", "text")

    def __init__(self, text: str, start: int, content: int, end: int, style: str, tag: str | None = None) -> None:
        self.text = text
        """Decoded: without quotes and escapes."""
        self.start = start
        """Where it begins, anchor and tag included; all positions are indices into the text."""
        self.content = content
        """Where it begins without anchor and tag."""
        self.end = end
        self.style = style
        """`'`, `"`, `|` or `>`; empty for a plain scalar."""
        self.tag = tag
        """In its long form; None when the type follows from the text."""


class Collection:
    """What a list and a mapping have in common."""

    __slots__ = ("content", "end", "flow", "items", "start", "tag")

    def __init__(self, start: int, content: int, end: int, flow: bool, tag: str | None = None) -> None:
        self.start = start
        self.content = content
        self.end = end
        self.flow = flow
        """Written with brackets."""
        self.tag = tag
        self.items: list[Node] = []
        """Of a mapping: key, value, key, value …"""


class Sequence(Collection):
    """A list."""

    __slots__ = ()


class Mapping(Collection):
    """Keys and values in the order of the text, duplicates and merge keys included."""

    __slots__ = ()

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        return zip(self.items[::2], self.items[1::2], strict=True)


class Alias:
    """`*name`: stands here, means the node of the anchor."""

    __slots__ = ("end", "start", "target")

    def __init__(self, start: int, end: int, target: Node | None) -> None:
        self.start = start
        self.end = end
        self.target = target
        """None when there is no such anchor."""

    @property
    def content(self) -> int:
        return self.start


class Skipped:
    """A list or mapping that was passed over."""

    __slots__ = ("end", "size", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end
        self.size = 0
        """About how many nodes it has."""

    @property
    def content(self) -> int:
        return self.start


Node: TypeAlias = Scalar | Sequence | Mapping | Alias | Skipped


def behind_properties(text: str, start: int, end: int) -> int:
    """Where a node begins whose anchor or tag stands at `start`."""
    match = _PROPERTIES.match(text, start, end)
    return match.end() if match else start


def resolve(node: Node) -> Node | None:
    """The node itself, or what an alias stands for."""
    return node.target if isinstance(node, Alias) else node


def offset(scalar: Scalar, text: str, index: int) -> int:
    """Where character `index` of the scalar's decoded text stands in the whole text.

    Exact within one line; across lines exact for all but blanks, which YAML folds.
    """
    body, end = scalar.content, scalar.end
    if scalar.style in ("|", ">"):
        body = min(text.find("\n", body, end) + 1 or end, end)
    elif scalar.style:
        body, end = body + 1, end - 1
    raw = text[body:end]
    if scalar.style == '"' and "\\" in raw:
        tokens = re.findall(_DOUBLE_QUOTED, raw)
    elif scalar.style == "'" and "'" in raw:
        tokens = re.findall(_SINGLE_QUOTED, raw)
    else:
        tokens = list(raw)
    if len(tokens) == len(scalar.text):
        wanted = min(index, len(tokens))
    else:
        # Line folding and indentation change blanks only: count everything else.
        solid = sum(not character.isspace() for character in scalar.text[:index])
        wanted = len(tokens)
        for position, token in enumerate(tokens):
            if not (token.isspace() or token in _BLANK_ESCAPES):
                solid -= 1
                if solid < 0:
                    wanted = position
                    break
    return body + sum(len(token) for token in tokens[:wanted])

"""A YAML file: what it says, and where."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from placetui.document.reading.parsing import (
    MAX_VALUES,
    ListNode,
    MappingNode,
    Node,
    ScalarNode,
    offset,
    parse,
    resolve,
)
from placetui.document.reading.values import Entries, ValueReader
from placetui.document.report import MOST_PROBLEMS, Lines, TextReport
from placetui.document.storage.files import BOM, read_text
from placetui.placement.problems import Path, Problem, Span
from placetui.placement.yaml_text import kind_of, plain

if TYPE_CHECKING:
    from placetui.document.reading.hydra import Composition
    from placetui.document.splice import Splice

MAX_VALUES_OF_ALL = 4 * MAX_VALUES
"""Values of all sections together, aliases expanded."""


class Document:
    """The text of a YAML file with positions. A value: an edit gives another document.

    Whatever the text holds, nothing here raises: see `problems`.
    """

    text: str
    """Without the byte order mark; all positions count characters of this."""

    source: str
    """What problems call the file."""

    bom: bool
    """Whether a byte order mark stood before the text."""

    problems: tuple[Problem, ...]
    """Problems of the text as a whole; see `problems_in` for those in sections."""

    config: Mapping[str, Any]
    """The top level as plain values; each section is read on first access."""

    def __init__(self, text: str, source: str = "", bom: bool = False) -> None:
        self.bom = bom or text.startswith(BOM)
        self.text = text.removeprefix(BOM) if not bom else text
        self.source = source
        self._lines = Lines(self.text)
        report = TextReport(self._lines, source)
        self._root = parse(self.text, report)
        top = ValueReader(report).entries(self._root, ()) if self._root else {}
        self.problems = tuple(report.problems)
        self.config = self._sections = _Sections(top, self._lines, source)
        self._reader = ValueReader(TextReport(self._lines, source))
        """For positions only; its reports are not used."""

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Document:
        """Read a file; `DocumentError` if that is not text."""
        file = read_text(path)
        return cls(file.text, file.source, file.bom)

    def change(self, splices: Iterable[Splice]) -> Document:
        """The document after splices; positions refer to the text after the previous splice."""
        from placetui.document.splice import apply_all  # a command that only reads has no use for it

        return Document(apply_all(self.text, splices), self.source, self.bom)

    @cached_property
    def composition(self) -> Composition | None:
        """The configuration with the files that Hydra's `defaults:` name; None where there are no `defaults:`."""
        if "defaults" not in self.config:
            return None
        from placetui.document.reading.hydra import compose  # few files need it

        return compose(self)

    @property
    def composed(self) -> Mapping[str, Any]:
        """The configuration, with the values of other files where it has `defaults:` that can be followed."""
        return (self.composition.config if self.composition is not None else None) or self.config

    def problems_in(self, sections: Iterable[str]) -> list[Problem]:
        """Problems of the text as a whole and of some of its sections, without repetitions."""
        found = {(problem.rule, problem.line, problem.column): problem for problem in self.problems}
        for name in sections:
            for problem in self._sections.read(name)[1]:
                found.setdefault((problem.rule, problem.line, problem.column), problem)
        return list(found.values())[:MOST_PROBLEMS]

    def locate(self, path: Path, *, at_key: bool = False, span: Span | None = None) -> tuple[int, int] | None:
        """Line and column of a value, of its key, or of a character inside the value; both counted from 1.

        A path that does not exist is located at the key of its nearest ancestor.
        """
        found = self.walk(path)
        if not found:
            return None
        key, node = found[-1]
        if len(found) <= len(path) or at_key:
            index = (key or node).content
        elif span is None or not isinstance(node, ScalarNode):
            index = node.content
        else:
            index = self._inside(node, span[0])
        return self._lines.place(index)

    def place(self, problem: Problem) -> Problem:
        """The problem with file, line and column."""
        if problem.line is not None:
            return problem if problem.file else replace(problem, file=self.source)
        found = self.locate(problem.path, at_key=problem.at_key, span=problem.span)
        line, column = found or (None, None)
        return replace(problem, file=problem.file or self.source, line=line, column=column)

    def place_at(self, problem: Problem, index: int) -> Problem:
        line, column = self._lines.place(index)
        return replace(problem, file=self.source, line=line, column=column)

    def span(self, path: Path, *, at_key: bool = False) -> Span | None:
        """First character and the one after the last of a value (or its key) in `text`, without anchor and tag.

        An alias is what is written at that path: `*name`. Empty values have a span of no width.
        """
        found = self.walk(path)
        if len(found) <= len(path):
            return None
        key, node = found[-1]
        written = key if at_key else node
        return None if written is None else (written.content, written.end)

    def raw(self, path: Path) -> str | None:
        span = self.span(path)
        return None if span is None else self.text[slice(*span)]

    def walk(self, path: Path) -> list[tuple[Node | None, Node]]:
        """Key and value node of the top level and of every part of the path that exists."""
        if self._root is None:
            return []
        found: list[tuple[Node | None, Node]] = [(None, self._root)]
        for part in path:
            node = resolve(found[-1][1])
            step: tuple[Node | None, Node] | None = None
            if isinstance(node, MappingNode):
                step = self.entries(node).get(str(part))
            elif isinstance(node, ListNode) and isinstance(part, int) and 0 <= part < len(node.items):
                step = (None, node.items[part])
            if step is None:
                break
            found.append(step)
        return found

    def entries(self, node: MappingNode) -> Entries:
        """Keys and values of a mapping, with what merge keys bring in."""
        return self._reader.entries(node, ())

    def _inside(self, node: ScalarNode, index: int) -> int:
        """Index of a character of the value's text, where the text is shown as written."""
        if node.tag is None and kind_of(node.text) != "str" and not _shown_as_written(node.text):
            return node.content
        interpolation = node.text.find("${")
        if 0 <= interpolation < index:
            index = interpolation
        return min(offset(node, self.text, index), max(node.end - 1, node.content))


class _Sections(Mapping[str, Any]):
    """The top level of a document."""

    def __init__(self, top: Entries, lines: Lines, source: str) -> None:
        self._top = top
        self._lines = lines
        self._source = source
        self._read: dict[str, tuple[Any, list[Problem]]] = {}
        self._limits: dict[str, int] = {}
        """Number of values allowed per section, so that all together stay below `MAX_VALUES_OF_ALL`."""
        left = MAX_VALUES_OF_ALL
        for name, (_, node) in top.items():
            self._limits[name] = min(MAX_VALUES, left)
            left -= node.size if node.size <= self._limits[name] else 0

    def read(self, name: str) -> tuple[Any, list[Problem]]:
        """The plain value of a section and its problems."""
        if name not in self._top:
            return None, []
        if name not in self._read:
            report = TextReport(self._lines, self._source)
            value = ValueReader(report).section(*self._top[name], (name,), self._limits[name])
            self._read[name] = value, report.problems
        return self._read[name]

    def __getitem__(self, name: str) -> Any:
        if name not in self._top:
            raise KeyError(name)
        return self.read(name)[0]

    def __contains__(self, name: object) -> bool:
        return name in self._top

    def __iter__(self) -> Iterator[str]:
        return iter(self._top)

    def __len__(self) -> int:
        return len(self._top)


def _shown_as_written(text: str) -> bool:
    try:
        return str(plain(text)) == text
    except ValueError:
        return True

"""A YAML file: what it says, and where."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from placetui.placement.problems import Path, Problem, Problems, Span

from . import nodes, sections
from .compose import MAX_NODES, compose
from .errors import DocumentError
from .files import BOM, MAX_BYTES, read_text
from .report import Report
from .scalars import kind_of, plain
from .splice import Splice, apply_all
from .surprises import surprises
from .values import Entries, LimitError, Reader

SECTIONS = frozenset({"cluster", "placetui", "slime", "runner"})
"""What placement always reads. Other sections are composed when somebody asks for them."""

SMALL_TEXT = 64 * 1024
"""Characters up to which everything is composed at once."""

LONG_TEXT = 16 * 1024
"""Characters from which it pays to read one section rather than all."""

MORE_NODES = 50_000
"""Nodes that may be composed unasked along with a section that is asked for."""


class Document:
    """The text of a YAML file with positions. Whatever the text holds, nothing here raises: see `problems`."""

    text: str
    """Without the byte order mark; all positions count characters of this."""

    source: str
    """What problems call the file."""

    bom: bool
    """Whether a byte order mark stood before the text."""

    config: _Config
    """The top level as plain values, section by section."""

    def __init__(self, text: str, source: str = "", bom: bool = False) -> None:
        self.bom = bom or text.startswith(BOM)
        self.text = text.removeprefix(BOM) if not bom else text
        self.source = source
        self._report = Report(self.text, source)
        self._reader = Reader(self._report)
        wanted = None if len(self.text) <= SMALL_TEXT else SECTIONS
        self._root, self._nodes = compose(self.text, wanted, self._report)
        self._top: Entries = self._entries(self._root, ()) if self._root else {}
        self.config = _Config(self._value, self._top, {})

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Document:
        """Read a file.

        Raises:
            DocumentError: it cannot be read as text.
        """
        file = read_text(path)
        return cls(file.text, file.source, file.bom)

    def change(self, splices: Iterable[Splice]) -> Document:
        """The document after splices of its text, each counted in the text that the one before left.

        Of a long text only the section is read again in which a splice lies, where that is safe.
        """
        changes = tuple(splices)
        document: Document | None = self
        for splice in changes:
            document = document._reread(splice) if document else None
        return document or Document(apply_all(self.text, changes), self.source, self.bom)

    def _reread(self, splice: Splice) -> Document | None:
        """The document after a splice within one section; None when all of the text must be read."""
        root = self._root
        if root is None or len(self.text) < LONG_TEXT or len(self._top) * 2 != len(root.items):
            return None
        index = sections.section_of(root, splice)
        place = None if index is None else sections.bounds(self.text, root, index)
        if index is None or place is None or self._report.problems:
            return None
        if sections.is_entangled(self.text[place[0] : place[1]]):  # an anchor that goes is missed elsewhere
            return None
        text = apply_all(self.text, [splice])
        found = sections.compose_alone(text, place[0], place[1] + splice.growth)
        name = list(self._top)[index]
        if found is None or found[0].text != _text_of(root.items[2 * index]) or len(text) > MAX_BYTES:
            return None
        document = Document.__new__(Document)
        document.bom, document.text, document.source = self.bom, text, self.source
        document._report = Report(text, self.source)
        document._reader = Reader(document._report)
        document._top = {}
        document._nodes = self._nodes + found[2]
        for position, (other, (key, value)) in enumerate(self._top.items()):
            if position < index:
                document._top[other] = (key, value)
                continue
            if position == index or isinstance(value, nodes.Collection):
                document._nodes -= 0 if isinstance(value, nodes.Skipped) else sections.size(value)
            if position > index:
                document._top[other] = (sections.moved(key, splice.growth), sections.moved(value, splice.growth))
            else:
                document._top[other] = found[:2]
        document._root = nodes.Mapping(root.start, root.content, root.end + splice.growth, False, root.tag)
        document._root.items = [node for pair in document._top.values() for node in pair]
        kept = {other: value for other, value in self.config.values_so_far.items() if other != name}
        document.config = _Config(document._value, document._top, kept)
        return document

    @property
    def problems(self) -> Problems:
        """What is wrong in the sections that placement always reads, and in all others read so far."""
        for name in self._top:
            if name in SECTIONS:
                self.config[name]
        return self._report.problems

    def surprises(self) -> Iterator[Problem]:
        """Warnings where YAML reads a placement otherwise than a person would."""
        for problem, index in surprises(self._lookup):
            line, column = self._report.lines.place(index)
            yield replace(problem, file=self.source, line=line, column=column)

    def locate(self, path: Path, *, at_key: bool = False, span: Span | None = None) -> tuple[int, int] | None:
        """Line and column of a value, of its key, or of a character inside the value; both counted from 1.

        A path that does not exist is located at the key of its nearest ancestor.
        """
        index = self._index(path, at_key, span)
        return None if index is None else self._report.lines.place(index)

    def place(self, problem: Problem) -> Problem:
        """The problem with file, line and column."""
        if problem.line is not None:
            return problem if problem.file else replace(problem, file=self.source)
        found = self.locate(problem.path, at_key=problem.at_key, span=problem.span)
        line, column = found or (None, None)
        return replace(problem, file=problem.file or self.source, line=line, column=column)

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
        """The text of a value as it is written."""
        span = self.span(path)
        return None if span is None else self.text[slice(*span)]

    def _index(self, path: Path, at_key: bool, span: Span | None) -> int | None:
        found = self.walk(path)
        if not found:
            return None
        key, node = found[-1]
        if len(found) <= len(path) or at_key:
            return (key or node).content
        if span is None or not isinstance(node, nodes.Scalar):
            return node.content
        return self._inside(node, span[0])

    def _inside(self, node: nodes.Scalar, index: int) -> int:
        """Where a character of a value's text stands, as far as the text is what the value shows."""
        if node.tag is None and kind_of(node.text) != "str" and not _shown_as_written(node.text):
            return node.content
        interpolation = node.text.find("${")
        if 0 <= interpolation < index:
            index = interpolation
        return min(nodes.offset(node, self.text, index), max(node.end - 1, node.content))

    def walk(self, path: Path) -> list[tuple[nodes.Node | None, nodes.Node]]:
        """Key and value node of the top level and of every part of the path that exists."""
        if self._root is None:
            return []
        found: list[tuple[nodes.Node | None, nodes.Node]] = [(None, self._root)]
        for depth, part in enumerate(path):
            step = self._step(found[-1][1], part, path[:depth])
            if step is None:
                break
            found.append(step)
        return found

    def _step(self, parent: nodes.Node, part: str | int, path: Path) -> tuple[nodes.Node | None, nodes.Node] | None:
        node = nodes.resolve(parent)
        if node is self._root:
            return self._section(str(part))
        if isinstance(node, nodes.Mapping):
            return self._entries(node, path).get(str(part))
        if isinstance(node, nodes.Sequence) and isinstance(part, int) and 0 <= part < len(node.items):
            return None, node.items[part]
        return None

    def _lookup(self, path: Path) -> nodes.Node | Entries | None:
        """For `surprises`: the entries of a mapping, or another node, with aliases followed."""
        found = self.walk(path)
        node = nodes.resolve(found[-1][1]) if len(found) == len(path) + 1 else None
        if node is self._root:
            return self._top
        return self._entries(node, path) if isinstance(node, nodes.Mapping) else node

    def _entries(self, node: nodes.Mapping, path: Path) -> Entries:
        try:
            return self._reader.entries(node, path)
        except LimitError as error:
            self._limit(error, node, path)
            return {}

    def _section(self, name: str) -> tuple[nodes.Node, nodes.Node] | None:
        """Key and value of a top-level key, composed now if it was passed over."""
        entry = self._top.get(name)
        if entry is not None and isinstance(entry[1], nodes.Skipped):
            self._compose_more(name, entry[1])
            entry = self._top[name]
        return entry

    def _compose_more(self, name: str, asked: nodes.Skipped) -> None:
        """Compose a section that was passed over: by itself, or along with as many others as cost little."""
        if self._compose_alone(asked, name):
            return
        root = None
        more = {name}
        if self._nodes + asked.size <= MAX_NODES:
            room = MORE_NODES
            for other, (_, node) in self._top.items():
                if isinstance(node, nodes.Skipped) and node.size <= room:
                    more.add(other)
                    room -= node.size
            known_problems = Report(self.text, self.source)
            root, count = compose(self.text, _as_written(self._top, more), known_problems)
            self._nodes += count
        if root is None or self._root is None:
            self._report.add(
                "too_many_values",
                f"`{name}` holds too many values: {MAX_NODES:,} are kept of one file",
                asked.start,
                path=(name,),
                hint="keep placement in a file of its own",
            )
            self._top[name] = (self._top[name][0], nodes.Scalar("", asked.start, asked.start, asked.start, ""))
            return
        skipped = {id(self._top[other][1]): other for other in more}
        for (_, before), pair in zip(self._root.pairs(), root.pairs(), strict=True):
            if id(before) in skipped:
                self._top[skipped[id(before)]] = pair

    def _compose_alone(self, asked: nodes.Skipped, name: str) -> bool:
        if self._root is None or self._nodes + asked.size > MAX_NODES or len(self.text) < LONG_TEXT:
            return False
        index = next((at for at, node in enumerate(self._root.items[1::2]) if node.start == asked.start), -1)
        place = sections.bounds(self.text, self._root, index)
        found = sections.compose_alone(self.text, *place) if place else None
        if found is None:
            return False
        self._nodes += found[2]
        self._top[name] = found[:2]
        return True

    def _value(self, name: str) -> Any:
        entry = self._section(name)
        if entry is None:
            raise KeyError(name)
        try:
            return self._reader.value(entry[1], (name,))
        except LimitError as error:
            self._limit(error, entry[0], (name,))
            return None

    def _limit(self, error: LimitError, node: nodes.Node, path: Path) -> None:
        """Report a limit where it was met first; what comes after merely follows."""
        if all(problem.rule != error.rule for problem in self._report.problems):
            hint = "write out what is needed instead of aliases of aliases"
            self._report.add(error.rule, error.message, node.content, path=path, hint=hint)


class _Config(Mapping[str, Any]):
    """The top level of a document; a section becomes plain values when it is first read."""

    def __init__(self, read: Callable[[str], Any], top: Entries, known: dict[str, Any]) -> None:
        self._read = read
        self._top = top
        self.values_so_far = known
        """Sections that were read already."""

    def __getitem__(self, name: str) -> Any:
        if name not in self.values_so_far:
            self.values_so_far[name] = self._read(name)
        return self.values_so_far[name]

    def __contains__(self, name: object) -> bool:
        return name in self._top

    def __iter__(self) -> Iterator[str]:
        return iter(self._top)

    def __len__(self) -> int:
        return len(self._top)

    def __repr__(self) -> str:
        return f"<{len(self)} sections: {', '.join(self)}>"


def read_mapping(path: str | os.PathLike[str]) -> dict[str, Any]:
    """All of a small YAML file as plain values.

    Raises:
        DocumentError: it cannot be read, or anything in it is wrong.
    """
    document = Document.from_file(path)
    mapping = dict(document.config)
    if document.problems.blocking:
        raise DocumentError(document.problems)
    return mapping


def _text_of(key: nodes.Node) -> str | None:
    return key.text if isinstance(key, nodes.Scalar) else None


def _as_written(top: Entries, names: Iterable[str]) -> set[str]:
    """The text of keys: `on` for the name `True`."""
    keys = (nodes.resolve(top[name][0]) for name in names)
    return {key.text for key in keys if isinstance(key, nodes.Scalar)}


def _shown_as_written(text: str) -> bool:
    try:
        return str(plain(text)) == text
    except ValueError:
        return True

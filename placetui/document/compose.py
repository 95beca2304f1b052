"""From text to nodes in one pass over the parser's events, keeping only what is wanted.

The parser itself does not recurse and does not mind 100,000 brackets; PyYAML's composers do, so they are not used.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import Any

import yaml

from .files import MAX_BYTES
from .nodes import Alias, Mapping, Node, Scalar, Sequence, Skipped, behind_properties
from .report import Report
from .scalars import kind_of

MAX_DEPTH = 200
"""Levels of lists and mappings inside each other."""

MAX_NODES = 250_000
"""Nodes that are kept of one text."""

MAX_EVENTS = 600_000
"""Values, keys, beginnings and ends that are looked at: a second's work."""

MAX_CHARACTERS_WITHOUT_LIBYAML = 256 * 1024
"""The parser in pure Python is ten times slower."""

MAX_CHARACTERS_FOR_TABS = 32 * 1024
"""Longer texts with tabs in them are parsed only once."""

C_LOADER: Any = getattr(yaml, "CSafeLoader", None)

_FORBIDDEN_ASCII = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
_FORBIDDEN = r"\A\ufeff|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]"
"""Compiled only when needed: the wide classes take milliseconds."""


class _UnusableError(Exception):
    """The text cannot be used; the problem is already reported."""


def compose(text: str, wanted: Container[str] | None, report: Report) -> tuple[Mapping | None, int]:
    """Build the nodes of the wanted top-level sections and of everything that has an anchor.

    Args:
        text: YAML without a byte order mark.
        wanted: Names of top-level keys; None for all.
        report: Where problems go: syntax, depth, size, several documents, aliases, the kind of the top level.

    Returns:
        The top level, None when the text cannot be used; what is not wanted is `Skipped`. And the number of nodes.
    """
    composer = _Composer(text, wanted, report)
    try:
        _check_characters(text, report)
        composer.run()
        _check_tabs(text)
    except _UnusableError:
        return None, composer.nodes
    except yaml.YAMLError as error:
        from .syntax import explain  # rarely needed, and full of patterns to compile

        found = explain(error, text)
        report.add("yaml_syntax", found.message, found.index, hint=found.hint)
        return None, composer.nodes
    return composer.root, composer.nodes


def _check_characters(text: str, report: Report) -> None:
    limit = MAX_BYTES if C_LOADER else MAX_CHARACTERS_WITHOUT_LIBYAML
    if len(text) > limit:
        slow = "" if C_LOADER else ", because PyYAML was installed without its C parser"
        report.add(
            "file_too_large",
            f"the text has {len(text):,} characters; up to {limit:,} are read{slow}",
            0,
            hint="keep placement in a file of its own" if C_LOADER else "install PyYAML from a wheel",
        )
        raise _UnusableError
    forbidden = re.search(_FORBIDDEN_ASCII if text.isascii() else _FORBIDDEN, text)
    if forbidden:
        report.add(
            "yaml_character",
            f"the character U+{ord(forbidden[0]):04X} cannot stand in a YAML file",
            forbidden.start(),
            hint="remove it, or write it as an escape in double quotes",
        )
        raise _UnusableError


def _check_tabs(text: str) -> None:
    """Let the Python parser, which RLinf uses, judge tabs: the C parser takes more of them."""
    if C_LOADER and "\t" in text and len(text) <= MAX_CHARACTERS_FOR_TABS:
        for _ in yaml.parse(text, Loader=yaml.SafeLoader):
            pass


class _Composer:
    def __init__(self, text: str, wanted: Container[str] | None, report: Report) -> None:
        self.text = text
        self.wanted = wanted
        self.report = report
        self.root: Mapping | None = None
        self.nodes = 0
        self.building: list[Mapping | Sequence] = []
        self.anchors: dict[str, Node] = {}

    def run(self) -> None:
        """Walk over the events; what is neither wanted nor anchored costs a comparison each."""
        depth = 0
        documents = 0
        size_before = 0
        building = self.building
        # Typed by hand: what kinds of events carry differs from one version of PyYAML's stubs to the next.
        events: Iterator[Any] = yaml.parse(self.text, Loader=C_LOADER or yaml.SafeLoader)
        for number, event in enumerate(events):
            kind = type(event)
            if number > MAX_EVENTS:
                self._too_many(event.start_mark.index)
            if kind is yaml.ScalarEvent or kind is yaml.AliasEvent:
                if building or depth < 2 or event.anchor is not None:
                    self._attach(self._leaf(event), depth)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                depth += 1
                if depth > MAX_DEPTH:
                    self._too_deep(event.start_mark.index)
                if building or depth == 1 or event.anchor is not None or (depth == 2 and self._wants_next()):
                    self._open(event, depth)
                elif depth == 2:
                    self._attach(Skipped(event.start_mark.index, event.end_mark.index), 1)
                    size_before = number
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                if building:
                    self._close(event)
                elif depth == 2 and self.root is not None:
                    skipped = self.root.items[-1]
                    if isinstance(skipped, Skipped):
                        skipped.end, skipped.size = event.end_mark.index, number - size_before
                elif depth == 1 and self.root is not None:
                    self.root.end = event.end_mark.index
                depth -= 1
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    self._second_document(event.start_mark.index)
        if self.root is None:
            self._empty()

    def _leaf(self, event: Any) -> Scalar | Alias:
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.AliasEvent):
            target = self.anchors.get(str(event.anchor))
            if target is None and not self.report.full:
                self.report.add(
                    "undefined_alias",
                    f"`*{event.anchor}` refers to an anchor that does not stand above it",
                    start,
                    hint=f"mark a value with `&{event.anchor}` before this line",
                )
            return Alias(start, end, target)
        tag = event.tag if event.tag != "!" else None
        if tag is None and not event.implicit[0]:
            tag = "tag:yaml.org,2002:str"
        has_properties = event.anchor is not None or event.tag is not None
        content = behind_properties(self.text, start, end) if has_properties else start
        scalar = Scalar(event.value, start, content, end, event.style or "", tag)
        if event.anchor is not None:
            self._anchor(event.anchor, scalar)
        return scalar

    def _open(self, event: Any, depth: int) -> None:
        start = event.start_mark.index
        has_properties = event.anchor is not None or event.tag is not None
        content = behind_properties(self.text, start, len(self.text)) if has_properties else start
        kind: type[Mapping | Sequence] = Mapping if isinstance(event, yaml.MappingStartEvent) else Sequence
        node = kind(start, content, event.end_mark.index, bool(event.flow_style), event.tag)
        if event.anchor is not None:
            self._anchor(event.anchor, node)
        if depth == 1:
            if isinstance(node, Mapping):
                self.root = node
            else:
                self._not_a_mapping("a list", start)
        else:
            self._attach(node, depth - 1)
            self.building.append(node)

    def _close(self, event: Any) -> None:
        node = self.building.pop()
        if node.flow:
            node.end = event.end_mark.index
        elif node.items:
            # The parser ends a block only where the next token begins, after comments that are not part of it.
            node.end = node.items[-1].end

    def _attach(self, node: Node, parent_depth: int) -> None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self._too_many(node.start)
        if self.building:
            self.building[-1].items.append(node)
        elif parent_depth == 1 and self.root is not None:
            self.root.items.append(node)
        elif parent_depth == 0:
            self._root_leaf(node)

    def _anchor(self, name: str, node: Node) -> None:
        earlier = self.anchors.get(name)
        self.anchors[name] = node
        if earlier is not None and not self.report.full:
            self.report.add(
                "duplicate_anchor",
                f"the anchor `&{name}` stands here and already in {self.report.where(earlier.start)}",
                node.start,
                hint="give one of them another name",
            )

    def _wants_next(self) -> bool:
        """Whether the top-level list or mapping that begins now is to be built."""
        items = self.root.items if self.root else []
        if len(items) % 2 == 0:
            return False
        key = items[-1]
        if isinstance(key, Alias) and key.target is not None:
            key = key.target
        if not isinstance(key, Scalar):
            return False
        return self.wanted is None or key.text in self.wanted or (key.tag is None and kind_of(key.text) == "merge")

    def _root_leaf(self, node: Node) -> None:
        if isinstance(node, Scalar) and node.tag is None and not node.text:
            self._empty()
        self._not_a_mapping("a single value", node.start)

    def _empty(self) -> None:
        self.report.add(
            "empty_file",
            "the file is empty",
            0,
            hint="a placement file begins with `cluster:` or `slime:`",
        )
        raise _UnusableError

    def _not_a_mapping(self, what: str, index: int) -> None:
        self.report.add(
            "not_a_mapping",
            f"the file holds {what}, not keys with values",
            index,
            hint="begin with a key at the left edge, such as `cluster:`",
        )
        raise _UnusableError

    def _too_deep(self, index: int) -> None:
        self.report.add(
            "yaml_too_deep",
            f"more than {MAX_DEPTH} lists and mappings stand inside each other",
            index,
            hint="write placement with fewer levels",
        )
        raise _UnusableError

    def _too_many(self, index: int) -> None:
        self.report.add(
            "too_many_values",
            f"the file holds too many values: {MAX_EVENTS:,} are looked at, {MAX_NODES:,} are kept",
            index,
            hint="keep placement in a file of its own",
        )
        raise _UnusableError

    def _second_document(self, index: int) -> None:
        self.report.add(
            "multiple_documents",
            "a second document begins here; a placement file has one",
            index,
            hint="remove the `---`, or split the file",
        )
        raise _UnusableError

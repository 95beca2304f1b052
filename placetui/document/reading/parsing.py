"""From text to a tree with positions, in one pass over the parser's events.

The parser itself does not recurse and does not mind 100,000 brackets; PyYAML's composers do, so they are not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, TypeAlias

import yaml

from placetui.document.report import TextReport
from placetui.document.storage.files import MAX_BYTES

MAX_DEPTH = 200
"""Levels of lists and mappings inside each other."""

MAX_NODES = 250_000
"""Keys, values, lists and mappings of one text; parsing so many takes about a second."""

MAX_VALUES = 200_000
"""Values of one section with aliases expanded; a few anchors can expand to billions."""

MAX_CHARACTERS_WITHOUT_LIBYAML = 256 * 1024
"""The parser in pure Python is ten times slower."""

MAX_CHARACTERS_FOR_TABS = 32 * 1024
"""Longer texts with tabs in them are parsed only once."""

_DOUBLE_QUOTED = r"(?s)\\(?:x..|u.{4}|U.{8}|\r?\n|.)|."
_SINGLE_QUOTED = r"(?s)''|."
_BLANK_ESCAPES = frozenset({"\\n", "\\t", "\\ ", "\\r", "\\\n", "\\\r\n"})

C_LOADER: Any = getattr(yaml, "CSafeLoader", None)

_PROPERTIES = r"(?:[&!]\S*(?:\s|#[^\n]*)*){1,2}"
_FORBIDDEN_ASCII = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
_FORBIDDEN = r"\A\ufeff|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]"
"""Compiled only when needed: most files have none of these, and the wide classes take milliseconds."""


# The tree: positions and text, not yet values. It does not change after parsing.


@dataclass(slots=True, eq=False)
class ScalarNode:
    """One value without parts."""

    text: str
    """Decoded: without quotes and escapes."""

    start: int
    """Where it begins, anchor and tag included; all positions are indices into the text."""

    content: int
    """Where it begins without anchor and tag."""

    end: int
    style: str
    """`'`, `"`, `|` or `>`; empty for a plain scalar."""

    tag: str | None = None
    """In its long form; None when the type follows from the text."""

    size: ClassVar[int] = 1
    depth: ClassVar[int] = 0


@dataclass(slots=True, eq=False)
class CollectionNode:
    """What a list and a mapping have in common."""

    start: int
    content: int
    end: int
    flow: bool
    """Written with brackets."""

    tag: str | None = None
    items: list[Node] = field(default_factory=list)
    """Of a mapping: key, value, key, value …"""

    size: int = 0
    """Number of values with aliases expanded, counted up to the limit; 0 until it is complete."""

    depth: int = 1
    """Levels of nested lists and mappings, aliases expanded."""


class ListNode(CollectionNode):
    """A list."""

    __slots__ = ()


class MappingNode(CollectionNode):
    """Keys and values in the order of the text, duplicates and merge keys included."""

    __slots__ = ()

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        return zip(self.items[::2], self.items[1::2], strict=True)


@dataclass(slots=True, eq=False)
class AliasNode:
    """`*name`: a reference to the node with that anchor."""

    name: str
    start: int
    end: int
    target: Node | None
    """None when there is no such anchor, or when it is recursive."""

    recursive: bool
    """Whether it is part of the value that it refers to."""

    @property
    def content(self) -> int:
        return self.start

    @property
    def size(self) -> int:
        return 1 if self.target is None else self.target.size

    @property
    def depth(self) -> int:
        return 0 if self.target is None else self.target.depth


Node: TypeAlias = ScalarNode | ListNode | MappingNode | AliasNode


def resolve(node: Node) -> ScalarNode | ListNode | MappingNode | None:
    """The node itself, or what an alias stands for."""
    found = node.target if isinstance(node, AliasNode) else node
    return None if isinstance(found, AliasNode) else found


def offset(scalar: ScalarNode, text: str, index: int) -> int:
    """Index in the whole text of character `index` of the scalar's decoded text.

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


# From text to tree


class _UnusableError(Exception):
    """The text cannot be parsed; the problem is already reported."""


def parse(text: str, report: TextReport) -> MappingNode | None:
    """The top level of a YAML text without a byte order mark; None when the text cannot be parsed.

    Reports errors of syntax, depth, size and anchors, several documents, and a top level that is not a mapping.
    """
    try:
        _check_characters(text, report)
        root = _TreeBuilder(text, report).run()
        _check_tabs(text)
    except _UnusableError:
        return None
    except yaml.YAMLError as error:
        from placetui.document.reading.syntax_errors import explain  # rarely needed, and full of patterns to compile

        message, index, hint = explain(error, text)
        report.error("yaml_syntax", message, index, hint=hint)
        return None
    return root


def events(text: str) -> Iterator[Any]:
    """The parser's events. Typed by hand: what they carry differs between versions of PyYAML's stubs."""
    return yaml.parse(text, Loader=C_LOADER or yaml.SafeLoader)


def _check_characters(text: str, report: TextReport) -> None:
    limit = MAX_BYTES if C_LOADER else MAX_CHARACTERS_WITHOUT_LIBYAML
    if len(text) > limit:
        slow = "" if C_LOADER else ", because PyYAML was installed without its C parser"
        message = f"the text has {len(text):,} characters; up to {limit:,} are read{slow}"
        report.error(
            "file_too_large",
            message,
            0,
            hint="keep the placement in a separate file" if C_LOADER else "install PyYAML from a wheel",
        )
        raise _UnusableError
    forbidden = re.search(_FORBIDDEN_ASCII if text.isascii() else _FORBIDDEN, text)
    if forbidden:
        message = f"character U+{ord(forbidden[0]):04X} is not allowed in YAML"
        report.error(
            "yaml_character", message, forbidden.start(), hint="remove it, or write it as an escape in double quotes"
        )
        raise _UnusableError


def _check_tabs(text: str) -> None:
    """Let the Python parser, which RLinf uses, judge tabs: the C parser accepts more of them."""
    if C_LOADER and "\t" in text and len(text) <= MAX_CHARACTERS_FOR_TABS:
        for _ in yaml.parse(text, Loader=yaml.SafeLoader):
            pass


class _TreeBuilder:
    def __init__(self, text: str, report: TextReport) -> None:
        self.text = text
        self.report = report
        self.root: MappingNode | None = None
        self.open: list[MappingNode | ListNode] = []
        """The lists and mappings around the current event, outermost first."""
        self.anchors: dict[str, Node] = {}

    def run(self) -> MappingNode:
        documents = 0
        nodes = 0
        for event in events(self.text):
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self._add(self._scalar(event))
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._begin(event, MappingNode if kind is yaml.MappingStartEvent else ListNode)
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._end(event)
                continue
            elif kind is yaml.AliasEvent:
                self._add(self._alias(event))
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    message = "a second document begins here; only one is supported"
                    self.refuse(
                        "multiple_documents", message, event.start_mark.index, "remove the `---`, or split the file"
                    )
                continue
            nodes += 1
            if nodes > MAX_NODES:
                message = f"the file has more than {MAX_NODES:,} keys and values"
                self.refuse("too_many_values", message, event.start_mark.index, "keep the placement in a separate file")
        if self.root is None:
            self.refuse("empty_file", "the file is empty", 0, "a placement file begins with `cluster:` or `slime:`")
        return self.root

    def _scalar(self, event: Any) -> ScalarNode:
        start, end = event.start_mark.index, event.end_mark.index
        tag = event.tag if event.tag != "!" else None
        if tag is None and not event.implicit[0]:
            tag = "tag:yaml.org,2002:str"
        scalar = ScalarNode(event.value, start, self._content(event, end), end, event.style or "", tag)
        self._anchor(event.anchor, scalar)
        return scalar

    def _alias(self, event: Any) -> AliasNode:
        name, start = str(event.anchor), event.start_mark.index
        target = self.anchors.get(name)
        if target is None and not self.report.full:
            message = f"`*{name}` refers to an anchor that is not defined above"
            self.report.error("undefined_alias", message, start, hint=f"mark a value with `&{name}` before this line")
        recursive = target is not None and target.size == 0
        return AliasNode(name, start, event.end_mark.index, None if recursive else target, recursive)

    def _begin(self, event: Any, kind: type[MappingNode | ListNode]) -> None:
        start = event.start_mark.index
        if len(self.open) == MAX_DEPTH:
            message = f"lists and mappings are nested more than {MAX_DEPTH} levels deep"
            self.refuse("yaml_too_deep", message, start, "use fewer levels")
        content = self._content(event, len(self.text))
        node = kind(start, content, event.end_mark.index, bool(event.flow_style), event.tag)
        self._anchor(event.anchor, node)
        self._add(node)
        self.open.append(node)

    def _end(self, event: Any) -> None:
        node = self.open.pop()
        if node.flow or not self.open:
            node.end = event.end_mark.index
        elif node.items:
            # The parser ends a block only where the next token begins, after comments that are not part of it.
            node.end = node.items[-1].end
        node.size = min(1 + sum(item.size for item in node.items), MAX_VALUES + 1)
        node.depth = min(1 + max((item.depth for item in node.items), default=0), MAX_DEPTH + 1)

    def _add(self, node: Node) -> None:
        if self.open:
            self.open[-1].items.append(node)
        elif isinstance(node, MappingNode):
            self.root = node
        elif not (isinstance(node, ScalarNode) and node.tag is None and not node.text):
            message = f"the file is {'a list' if isinstance(node, ListNode) else 'a single value'}, not a mapping"
            self.refuse("not_a_mapping", message, node.start, "begin with a key at the left edge, such as `cluster:`")

    def _content(self, event: Any, end: int) -> int:
        """Where a node begins without its anchor and tag."""
        start: int = event.start_mark.index
        if event.anchor is None and event.tag is None:
            return start
        match = re.compile(_PROPERTIES).match(self.text, start, end)
        return match.end() if match else start

    def _anchor(self, name: str | None, node: Node) -> None:
        if name is None:
            return
        earlier = self.anchors.get(name)
        self.anchors[name] = node
        if earlier is not None and not self.report.full:
            message = f"the anchor `&{name}` is already defined in {self.report.lines.describe(earlier.start)}"
            self.report.error("duplicate_anchor", message, node.start, hint="rename one of them")

    def refuse(self, rule: str, message: str, index: int, hint: str) -> NoReturn:
        """Report a problem that ends parsing."""
        self.report.error(rule, message, index, hint=hint)
        raise _UnusableError

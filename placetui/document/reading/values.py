"""From the tree to plain Python values: keys become text, aliases and merge keys are followed."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from placetui.document.reading.parsing import (
    MAX_DEPTH,
    MAX_VALUES,
    AliasNode,
    ListNode,
    MappingNode,
    Node,
    ScalarNode,
    resolve,
)
from placetui.document.report import TextReport, shorten
from placetui.placement.problems import Path
from placetui.placement.yaml_text import Kind, ScalarValue, construct, kind_of

Entries: TypeAlias = dict[str, tuple[Node, Node]]
"""Key and value node by the key's text."""

TAG_PREFIX = "tag:yaml.org,2002:"
_TYPED = ("str", "int", "float", "bool", "null")
_MERGE = f"{TAG_PREFIX}merge"


class ValueReader:
    """Builds the values of one section; reports each bad node once."""

    def __init__(self, report: TextReport) -> None:
        self._report = report
        self._known: dict[MappingNode, Entries] = {}
        self._reported: set[Node] = set()

    def section(self, key: Node, value: Node, path: Path, most: int = MAX_VALUES) -> Any:
        """The plain value of a section; None when it expands to more than `most` values."""
        return self._value(value, path) if self._within_limits(value, key, path, most) else None

    def entries(self, node: MappingNode, path: Path) -> Entries:
        """Keys and values of a mapping: merged ones first, own ones win."""
        known = self._known.get(node)
        if known is not None:
            return known
        merged: Entries = {}
        own: Entries = {}
        for key, value in node.pairs():
            scalar = resolve(key)
            if not isinstance(scalar, ScalarNode):
                self._bad_key("a key must be text or a number, not a list or mapping", key, path)
            elif is_merge(scalar):
                merged.update(self._merged(value, path, MAX_VALUES - len(merged)))
            else:
                typed = self._scalar(scalar, path, at_key=True)
                if typed is None:
                    self._bad_key("a key is empty", key, path)
                    continue
                name = str(typed)
                if name in own and not self._report.full:
                    self._duplicate(name, own[name][0], key, path)
                own[name] = (key, value)
        entries = {**merged, **own} if merged else own
        self._known[node] = entries
        return entries

    def _value(self, node: Node, path: Path) -> Any:
        if isinstance(node, AliasNode):
            if node.recursive:
                self._recursive(node, path)
            if node.target is None:
                return None
            node = node.target
        if isinstance(node, ScalarNode):
            return self._scalar(node, path)
        if isinstance(node, ListNode):
            self._check_tag(node, "seq", path)
            return [self._value(item, (*path, index)) for index, item in enumerate(node.items)]
        if isinstance(node, MappingNode):
            self._check_tag(node, "map", path)
            return {name: self._value(item, (*path, name)) for name, (_, item) in self.entries(node, path).items()}
        return None

    def _scalar(self, node: ScalarNode, path: Path, *, at_key: bool = False) -> ScalarValue:
        """The typed value of a scalar; its text where it is invalid."""
        kind = kind_of(node.text) if node.tag is None else node.tag.removeprefix(TAG_PREFIX)
        if node.tag is not None and kind not in _TYPED:
            self._bad_tag(node, node.tag, path, at_key=at_key)
            return node.text
        try:
            return construct(cast(Kind, kind), node.text)
        except ValueError as error:
            reason = shorten(str(error))
            message = f"`{shorten(node.text)}` cannot be read as a value of type {kind}: {reason}"
            self._once("yaml_value", message, node, path, at_key=at_key, hint="put it in quotes if text is meant")
            return node.text

    def _merged(self, value: Node, path: Path, most: int) -> Entries:
        node = resolve(value)
        sources = node.items if isinstance(node, ListNode) else [value]
        found: Entries = {}
        for source in sources:
            base = resolve(source)
            if isinstance(source, AliasNode) and source.recursive:
                self._recursive(source, path)
            elif not isinstance(base, MappingNode):
                if base is not None:
                    message = "a merge key `<<` takes a mapping or a list of mappings"
                    self._once("merge_not_mapping", message, source, path, hint="refer to a mapping: `<<: *name`")
            elif self._within_limits(base, source, path, most - len(found)):
                for name, entry in self.entries(base, path).items():
                    found.setdefault(name, entry)
        return found

    def _within_limits(self, node: Node, place: Node, path: Path, most: int) -> bool:
        hint = "write the values out instead of nesting aliases"
        if node.depth >= MAX_DEPTH:
            message = f"aliases nest more than {MAX_DEPTH} lists and mappings"
            self._once("yaml_too_deep", message, place, path, hint=hint)
        elif node.size > most:
            message = f"aliases expand to more than {MAX_VALUES:,} values"
            self._once("too_many_values", message, place, path, hint=hint)
        return node.depth < MAX_DEPTH and node.size <= most

    def _check_tag(self, node: MappingNode | ListNode, plain: str, path: Path) -> None:
        if node.tag not in (None, "!", TAG_PREFIX + plain):
            self._bad_tag(node, str(node.tag), path)

    def _bad_tag(self, node: Node, tag: str, path: Path, *, at_key: bool = False) -> None:
        short = f"!!{tag.removeprefix(TAG_PREFIX)}" if tag.startswith(TAG_PREFIX) else tag
        hint = "remove the tag; plain text, numbers, lists and mappings need none"
        self._once("yaml_tag", f"the tag `{shorten(short)}` is not supported", node, path, at_key=at_key, hint=hint)

    def _duplicate(self, name: str, first: Node, second: Node, path: Path) -> None:
        here, there = map(self._report.lines.describe, (second.start, first.start))
        message = f"`{shorten(name)}` is defined here ({here}) and in {there}"
        self._once("duplicate_key", message, second, (*path, name), at_key=True, hint="remove one of them")

    def _bad_key(self, message: str, key: Node, path: Path) -> None:
        self._once("key_not_scalar", message, key, path, hint='write the key as text, in quotes if need be: `"a,b"`')

    def _recursive(self, node: Node, path: Path) -> None:
        message = "this alias is part of the value that it refers to"
        self._once("recursive_alias", message, node, path, hint="write the value out")

    def _once(self, rule: str, message: str, node: Node, path: Path, *, hint: str, at_key: bool = False) -> None:
        if node not in self._reported:
            self._reported.add(node)
            self._report.error(rule, message, node.start, path=path, hint=hint, at_key=at_key)


def is_merge(key: ScalarNode) -> bool:
    """Whether a key is `<<`."""
    return key.tag == _MERGE or (key.tag is None and key.text == "<<")

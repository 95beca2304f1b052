"""From nodes to plain Python values, within bounds: keys become text, merge keys and aliases are followed."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from placetui.placement.problems import Path

from .compose import MAX_DEPTH
from .nodes import Alias, Mapping, Node, Scalar, Sequence, resolve
from .report import Report, shorten
from .scalars import TAG_PREFIX, Kind, Value, construct, kind_of

MAX_VALUES = 200_000
"""Values built of one text; few anchors can ask for billions."""

Entries: TypeAlias = dict[str, tuple[Node, Node]]
"""Key and value node by the key's text."""

_TYPED = ("str", "int", "float", "bool", "null")
_MERGE = f"{TAG_PREFIX}merge"


class LimitError(Exception):
    """Too many values, or too deep."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message


class Reader:
    """Builds values and reports what is wrong in them, once per node."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._entries: dict[int, Entries] = {}
        self._active: set[int] = set()
        self._reported: set[int] = set()
        self._count = 0

    def value(self, node: Node, path: Path, depth: int = 1) -> Any:
        """The plain value of a node.

        Raises:
            LimitError: there are more values than anybody writes.
        """
        self._spend(1)
        if isinstance(node, Alias):
            if node.target is None:
                return None
            if id(node.target) in self._active:
                self._recursive(node, path)
                return None
            node = node.target
        if isinstance(node, Scalar):
            return self.scalar(node, path)
        if depth > MAX_DEPTH:
            raise LimitError("yaml_too_deep", f"aliases nest more than {MAX_DEPTH} lists and mappings")
        self._active.add(id(node))
        try:
            if isinstance(node, Sequence):
                self._check_tag(node, "seq", path)
                items = []
                for index, item in enumerate(node.items):
                    items.append(self.value(item, (*path, index), depth + 1))
                return items
            if isinstance(node, Mapping):
                self._check_tag(node, "map", path)
                built = {}
                for name, (_, item) in self.entries(node, path, depth).items():
                    built[name] = self.value(item, (*path, name), depth + 1)
                return built
            return None
        finally:
            self._active.discard(id(node))

    def scalar(self, node: Scalar, path: Path, *, at_key: bool = False) -> Value:
        """The typed value of a scalar; its text where it has none."""
        kind = kind_of(node.text) if node.tag is None else node.tag.removeprefix(TAG_PREFIX)
        if node.tag is not None and kind not in _TYPED:
            self._once(
                "yaml_tag",
                f"the tag `{shorten(_short_tag(node.tag))}` is not supported",
                node,
                path,
                at_key=at_key,
                hint="remove the tag; plain text, numbers, lists and mappings need none",
            )
            return node.text
        try:
            return construct(cast(Kind, kind), node.text)
        except ValueError as error:
            self._once(
                "yaml_value",
                f"`{shorten(node.text)}` cannot be read as a value of type {kind}: {shorten(str(error))}",
                node,
                path,
                at_key=at_key,
                hint="put it in quotes if text is meant",
            )
            return node.text

    def entries(self, node: Mapping, path: Path, depth: int = 1) -> Entries:
        """Keys and values of a mapping: merged ones first, own ones win.

        Raises:
            LimitError: merge keys ask for more than anybody writes.
        """
        known = self._entries.get(id(node))
        if known is not None:
            return known
        if depth > MAX_DEPTH:
            raise LimitError("yaml_too_deep", f"more than {MAX_DEPTH} merge keys refer to each other")
        merged: Entries = {}
        own: Entries = {}
        for key, value in node.pairs():
            scalar = resolve(key)
            if not isinstance(scalar, Scalar):
                self._bad_key("a key must be text or a number, not a list or a mapping", key, path)
            elif scalar.tag == _MERGE or (scalar.tag is None and kind_of(scalar.text) == "merge"):
                merged.update(self._merged(value, path, depth, {id(node)}))
            else:
                typed = self.scalar(scalar, path, at_key=True)
                if typed is None:
                    self._bad_key("a key is empty", key, path)
                    continue
                name = str(typed)
                if name in own and not self._report.full:
                    self._duplicate(name, own[name][0], key, path)
                own[name] = (key, value)
        result = {**merged, **own}
        self._entries[id(node)] = result
        return result

    def _merged(self, value: Node, path: Path, depth: int, within: set[int]) -> Entries:
        """What a merge key brings in."""
        node = resolve(value)
        sources = node.items if isinstance(node, Sequence) else [value]
        found: Entries = {}
        for source in sources:
            base = resolve(source)
            if not isinstance(base, Mapping):
                if base is not None:
                    self._once(
                        "merge_not_mapping",
                        "a merge key `<<` takes a mapping or a list of mappings",
                        source,
                        path,
                        hint="refer to a mapping: `<<: *name`",
                    )
                continue
            if id(base) in self._active or id(base) in within:
                self._recursive(source, path)
                continue
            self._active.add(id(base))
            try:
                entries = self.entries(base, path, depth + 1)
            finally:
                self._active.discard(id(base))
            self._spend(len(entries))
            for name, entry in entries.items():
                found.setdefault(name, entry)
        return found

    def _check_tag(self, node: Mapping | Sequence, plain: str, path: Path) -> None:
        if node.tag not in (None, "!", TAG_PREFIX + plain):
            self._once(
                "yaml_tag",
                f"the tag `{shorten(_short_tag(str(node.tag)))}` is not supported",
                node,
                path,
                hint="remove the tag; plain text, numbers, lists and mappings need none",
            )

    def _duplicate(self, name: str, first: Node, second: Node, path: Path) -> None:
        self._once(
            "duplicate_key",
            f"`{shorten(name)}` stands here ({self._report.where(second.start)}) "
            f"and already in {self._report.where(first.start)}",
            second,
            (*path, name),
            at_key=True,
            hint="keep one of the two",
        )

    def _bad_key(self, message: str, key: Node, path: Path) -> None:
        self._once("key_not_scalar", message, key, path, hint='write the key as text, in quotes if need be: `"a,b"`')

    def _recursive(self, node: Node, path: Path) -> None:
        self._once(
            "recursive_alias",
            "this alias stands inside the value that it refers to",
            node,
            path,
            hint="write the value out",
        )

    def _spend(self, number: int) -> None:
        self._count += number
        if self._count > MAX_VALUES:
            raise LimitError("too_many_values", f"anchors and aliases ask for more than {MAX_VALUES:,} values")

    def _once(self, rule: str, message: str, node: Node, path: Path, *, hint: str, at_key: bool = False) -> None:
        if id(node) not in self._reported:
            self._reported.add(id(node))
            self._report.add(rule, message, node.start, path=path, hint=hint, at_key=at_key)


def _short_tag(tag: str) -> str:
    return f"!!{tag.removeprefix(TAG_PREFIX)}" if tag.startswith(TAG_PREFIX) else tag

"""Warnings where YAML 1.1 types a value differently from what its author probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from placetui.document.document import Document
from placetui.document.reading.parsing import ListNode, MappingNode, Node, ScalarNode, resolve
from placetui.frameworks.base import EACH_ITEM, EACH_KEY
from placetui.placement.problems import Path, Problem
from placetui.placement.yaml_text import misread


def misreadings(document: Document, patterns: Iterable[Path]) -> list[Problem]:
    """Warnings in the order of the text.

    The patterns are of values that placement reads as text whatever type YAML gives them, see `Framework.texts`.
    """
    found: list[tuple[int, Problem]] = []
    for pattern in patterns:
        for path, key, value in _matching(document, pattern):
            if pattern[-1] == EACH_KEY:
                found += _check(key, path, at_key=True)
            found += _no_space(key, value, path) or _check(value, path)
    found.sort(key=lambda one: one[0])
    return [document.place_at(problem, index) for index, problem in found]


def _matching(document: Document, pattern: Path) -> Iterator[tuple[Path, Node | None, Node]]:
    """Path, key and value of everything that a pattern means."""
    found: list[tuple[Path, Node | None, Node]] = [((), None, node) for _, node in document.walk(())]
    for part in pattern:
        below: list[tuple[Path, Node | None, Node]] = []
        for path, _, parent in found:
            node = resolve(parent)
            if isinstance(node, MappingNode):
                entries = document.entries(node)
                names = list(entries) if part == EACH_KEY else [str(part)] if part in entries else []
                below += [((*path, name), *entries[name]) for name in names]
            elif isinstance(node, ListNode) and part == EACH_ITEM:
                below += [((*path, index), None, item) for index, item in enumerate(node.items)]
        found = below
    return iter(found)


def _check(node: Node | None, path: Path, *, at_key: bool = False) -> list[tuple[int, Problem]]:
    scalar = None if node is None else resolve(node)
    if not isinstance(scalar, ScalarNode) or scalar.tag is not None:
        return []
    found = misread(scalar.text)
    if found is None:
        return []
    rule, message, hint = found
    return [(scalar.content, Problem(rule, message, "warning", hint, path=path, at_key=at_key))]


def _no_space(key: Node | None, value: Node, path: Path) -> list[tuple[int, Problem]]:
    """`{actor:0-7}` is a key without a value."""
    if not (isinstance(key, ScalarNode) and isinstance(value, ScalarNode)) or key.style or value.end > value.start:
        return []
    name, colon, rule = key.text.partition(":")
    if not (colon and rule.strip()):
        return []
    message = f"`{key.text}` is read as a key without a value, because no space follows the colon"
    return [(key.content, Problem("yaml_null", message, "warning", f"write `{name}: {rule.strip()}`", path=path))]

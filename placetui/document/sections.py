"""One top-level section read by itself, where that surely gives the same as reading all of the text.

A section begins with a key at the left edge and ends where the next one begins. What stands before it has been read
before and ended there; what comes after it begins at the left edge, where nothing of a sound section can reach.
Sections depend on each other only through anchors and merge keys, so those are left to a reading of the whole.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from .compose import compose
from .nodes import Alias, Mapping, Node, Scalar, Sequence, Skipped
from .report import Report
from .scalars import kind_of
from .splice import Splice

_ENTANGLED = re.compile(r"[&*\t]|^(?:---|\.\.\.|%)", re.MULTILINE)
"""Anchors and aliases; tabs, on which parsers disagree; signs between documents. Or what looks like them."""


def is_entangled(part: str) -> bool:
    """Whether a section may mean something to others, or they to it."""
    return bool(_ENTANGLED.search(part))


def compose_alone(text: str, start: int, end: int) -> tuple[Scalar, Node, int] | None:
    """Key, value and the value's number of nodes of the section between two indices.

    None when it may depend on the rest, or is broken.
    """
    part = text[start:end]
    if is_entangled(part) or (end < len(text) and not part.endswith("\n")):
        return None
    report = Report(part, "")
    root, _ = compose(part, None, report)
    if root is None or report.problems or root.flow or root.start or len(root.items) != 2:
        return None
    key, value = root.items
    if not isinstance(key, Scalar) or key.start or (key.tag is None and kind_of(key.text) in ("merge", "null")):
        return None
    _shift(key, start)
    _shift(value, start)
    return key, value, size(value)


def bounds(text: str, root: Mapping, index: int) -> tuple[int, int] | None:
    """Where the section of the `index`-th key begins and ends; None when it does not stand at the left edge."""
    keys = root.items[::2]
    if root.flow or not 0 <= index < len(keys):
        return None
    start = keys[index].start
    end = keys[index + 1].start if index + 1 < len(keys) else len(text)
    return (start, end) if _at_edge(text, start) and (end == len(text) or _at_edge(text, end)) else None


def section_of(root: Mapping, splice: Splice) -> int | None:
    """Which section a splice lies in, behind its key and before the next one; None if it touches another place."""
    keys = root.items[::2]
    index = bisect_right([key.start for key in keys], splice.start) - 1
    if index < 0 or splice.start < keys[index].end:
        return None
    return index if index + 1 == len(keys) or splice.end <= keys[index + 1].start else None


def moved(node: Node, by: int) -> Node:
    """A node of a section that stands elsewhere now: what it is made of is read again when somebody asks."""
    if isinstance(node, Scalar):
        return Scalar(node.text, node.start + by, node.content + by, node.end + by, node.style, node.tag)
    if isinstance(node, Alias):
        return Alias(node.start + by, node.end + by, node.target)
    skipped = Skipped(node.start + by, node.end + by)
    skipped.size = size(node)
    return skipped


def size(node: Node) -> int:
    """About how many nodes there are below and including this one."""
    if isinstance(node, Skipped):
        return node.size
    return 1 + sum(map(size, node.items)) if isinstance(node, Mapping | Sequence) else 1


def _shift(node: Node, by: int) -> None:
    node.start += by
    node.end += by
    if isinstance(node, Scalar | Mapping | Sequence):
        node.content += by
    if isinstance(node, Mapping | Sequence):
        for item in node.items:
            _shift(item, by)


def _at_edge(text: str, index: int) -> bool:
    return index == 0 or text[index - 1] == "\n"

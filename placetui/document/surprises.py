"""Where YAML 1.1 reads a placement otherwise than a person would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from placetui.placement.problems import Path, Problem

from .nodes import Node, Scalar, Sequence, resolve
from .scalars import construct, kind_of
from .values import Entries

Lookup: TypeAlias = Callable[[Path], Node | Entries | None]
"""The entries of a mapping or another node at a path, aliases followed; None where there is nothing."""

PLACEMENT: Path = ("cluster", "component_placement")
NODE_GROUPS: Path = ("cluster", "node_groups")


def surprises(lookup: Lookup) -> Iterator[tuple[Problem, int]]:
    """Warnings, each with the index of the text it is about."""
    top = lookup(())
    if isinstance(top, dict) and "defaults" in top:
        yield _hydra_defaults(), top["defaults"][0].start
    placement = lookup(PLACEMENT)
    if isinstance(placement, dict):
        for name, (key, value) in placement.items():
            path = (*PLACEMENT, name)
            yield from _check(resolve(key), path, at_key=True)
            yield from _no_space(key, value, path) or _check(resolve(value), path)
            for field in ("placement", "node_group"):
                yield from _check_field(lookup, path, field)
    groups = lookup(NODE_GROUPS)
    if isinstance(groups, Sequence):
        for index in range(len(groups.items)):
            for field in ("label", "node_ranks"):
                yield from _check_field(lookup, (*NODE_GROUPS, index), field)


def _check_field(lookup: Lookup, parent: Path, field: str) -> Iterator[tuple[Problem, int]]:
    entries = lookup(parent)
    if not isinstance(entries, dict) or field not in entries:
        return
    value = resolve(entries[field][1])
    path = (*parent, field)
    if isinstance(value, Sequence):
        for index, item in enumerate(value.items):
            yield from _check(resolve(item), (*path, index))
    else:
        yield from _check(value, path)


def _check(node: Node | None, path: Path, *, at_key: bool = False) -> Iterator[tuple[Problem, int]]:
    if not isinstance(node, Scalar) or node.tag is not None:
        return
    found = misread(node.text)
    if found:
        rule, message, hint = found
        yield Problem(rule, message, "warning", hint, path=path, at_key=at_key), node.content


def _no_space(key: Node, value: Node, path: Path) -> list[tuple[Problem, int]]:
    """`{actor:0-7}` is a key without a value."""
    if not (isinstance(key, Scalar) and isinstance(value, Scalar)) or key.style or value.end > value.start:
        return []
    name, colon, rule = key.text.partition(":")
    if not (colon and rule.strip()):
        return []
    message = f"`{key.text}` is read as a key without a value, because no space follows the colon"
    return [(Problem("yaml_null", message, "warning", f"write `{name}: {rule.strip()}`", path=path), key.content)]


def misread(text: str) -> tuple[str, str, str] | None:
    """Rule, sentence and hint when a plain scalar becomes something else than its own text."""
    kind = kind_of(text)
    try:
        shown = str(construct(kind, text))
    except ValueError:
        return None
    if kind == "null":
        written = f"`{text}`" if text else "an empty value"
        return "yaml_null", f"{written} means no value, which placement sees as the text `None`", "write the value"
    if shown == text or text == f"+{shown}":
        return None
    digits = text.lstrip("+-")
    hint = f'if text is meant, put it in quotes: `"{text}"`'
    if kind == "bool":
        return "yaml_bool", f"`{text}` is read as the truth value {shown}", hint
    if ":" in text:
        return "yaml_base60", f"`{text}` is read as {shown}, a number in base 60", hint
    if kind == "int" and digits.startswith("0") and digits.isdecimal():
        return "yaml_octal", f"`{text}` is read as {shown}, because a leading 0 makes it octal", hint
    return "yaml_number", f"`{text}` is read as the number {shown}", hint


def _hydra_defaults() -> Problem:
    return Problem(
        "hydra_defaults",
        "`defaults:` names other files, which are not read here",
        "warning",
        "pass the composed file: run your program with `--cfg job` and save what it prints",
        path=("defaults",),
        at_key=True,
    )

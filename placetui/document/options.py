"""Options of a plan as text: `--cluster NxG|FILE` and `--set key.path=value`."""

from __future__ import annotations

import os
import re
from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any, cast

from placetui.document.document import Document
from placetui.document.report import DocumentError, refuse, shorten
from placetui.frameworks.base import Override
from placetui.placement.config.settings_section import parse_cluster, read_topology
from placetui.placement.problems import Path, Problems
from placetui.placement.topology import Node
from placetui.placement.wording import dotted

_KEY = "value"
_PATH = re.compile(r"[^.\[\]]+(?:\.[^.\[\]]+|\[\d{1,6}\])*")
_PART = re.compile(r"(?P<name>[^.\[\]]+)|\[(?P<index>\d{1,6})\]")


def read_cluster_option(text: str) -> list[Node]:
    """Nodes of `--cluster NxG` or `--cluster FILE`; `DocumentError` if it is neither."""
    nodes = parse_cluster(text)
    if nodes is not None:
        return nodes
    if not os.path.exists(text):
        message = f"`{text}` is neither nodes x GPUs nor a file"
        raise refuse(
            "bad_cluster", message, "write for example `2x8`, or name a file with `nodes:` and `gpus_per_node:`"
        )
    document = Document.from_file(text)
    value: Any = dict(document.config)
    path: Path = ()
    for key in ("placetui", "topology"):
        if isinstance(value, dict) and key in value:
            value, path = value[key], (*path, key)
    problems = Problems()
    nodes = read_topology(value, problems, path)
    broken = document.problems_in(document.config)
    if nodes is None or any(problem.blocking for problem in broken):
        raise DocumentError([*broken, *map(document.place, problems)])
    return nodes


def parse_override(text: str) -> Override:
    """`a.b[0].c=0-7` as path and value, typed as in a file; nothing is null.

    Raises:
        DocumentError: `bad_override`.
    """
    name, equals, written = text.partition("=")
    path = _parse_path(name.strip())
    if not equals or not path:
        message = f"`{shorten(text)}` is not of the form `key.path=value`"
        raise refuse(
            "bad_override", message, "write for example `cluster.num_nodes=2` or `cluster.node_groups[0].label=a800`"
        )
    document = Document(f"{_KEY}: {written}")
    value = document.config.get(_KEY)
    problems = document.problems_in(document.config)
    if problems or len(document.config) != 1:
        reason = problems[0].message if problems else "it is more than one value"
        message = f"the value in `{shorten(text)}` is not valid YAML: {reason}"
        raise refuse(
            "bad_override", message, f"put quotes around the value, and another pair for the shell: `'{name}=\"…\"'`"
        )
    return path, value


def with_overrides(config: Mapping[str, Any], overrides: Iterable[Override]) -> Mapping[str, Any]:
    """`config` with values replaced or added; `config` itself stays as it is, and sections not named stay unread.

    Raises:
        DocumentError: `bad_override`: a path leads through something that is neither a mapping nor a list.
    """
    changed: dict[str, Any] = {}
    for path, value in overrides:
        section = str(path[0])
        current = changed[section] if section in changed else config.get(section) if len(path) > 1 else None
        changed[section] = _replaced(current, path, 1, value)
    return ChainMap(changed, cast(dict[str, Any], config)) if changed else config


def _parse_path(text: str) -> Path | None:
    if not _PATH.fullmatch(text):
        return None
    return tuple(int(part["index"]) if part["index"] else part["name"] for part in _PART.finditer(text))


def _replaced(current: Any, path: Path, depth: int, value: Any) -> Any:
    """A copy of `current` in which the rest of the path leads to `value`; only what the path touches is copied."""
    if depth == len(path):
        return value
    part = path[depth]
    if isinstance(current, list):
        index = int(part) if isinstance(part, str) and part.isdecimal() else part
        if not isinstance(index, int) or index >= len(current):
            message = (
                f"`{dotted(path[:depth])}` is a list of {len(current)}, and `{dotted(path[: depth + 1])}` is not in it"
            )
            raise refuse("bad_override", message, f"write `{dotted(path[:depth])}[0]` and so on")
        copy = list(current)
        copy[index] = _replaced(current[index], path, depth + 1, value)
        return copy
    if isinstance(current, dict) or current is None:
        if isinstance(part, int):
            raise refuse("bad_override", f"`{dotted(path[:depth])}` is not a list", "name a key after a dot")
        mapping = dict(current or {})
        mapping[part] = _replaced(mapping.get(part), path, depth + 1, value)
        return mapping
    message = f"`{dotted(path[:depth])}` is `{shorten(str(current))}`, which is neither a mapping nor a list"
    raise refuse("bad_override", message, f"override `{dotted(path[:depth])}` as a whole")

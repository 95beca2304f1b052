"""Hydra's `defaults:` list, followed without hydra-core as far as most files need it.

Files of groups are found, with their packages and their own lists. What the command line chooses or deletes, and
entries that refer to other values, take hydra-core.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from placetui.document.document import Document
from placetui.document.report import DocumentError
from placetui.placement.problems import Path

SELF = "_self_"
_GLOBAL, _GROUP = "_global_", "_group_"
_HEADER = re.compile(r"^#\s*@package\s+(\S+)", re.MULTILINE)
_DEEPEST = 8
"""Lists inside of lists that are followed."""


class _Entry(NamedTuple):
    name: str
    """Of the file without its suffix: below the group of the file with the list, or from the top with a slash."""

    package: str
    """Where its content goes; empty: as the file says, else by its group."""

    optional: bool


class DefaultsList:
    """Merges the files that a list names."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = folders
        self.files: list[tuple[str, Path]] = []
        """Those that were merged, each with the place of its content."""

        self.missing: list[str] = []
        """Names of files that are not there, or that only Hydra could tell."""

    def compose(self, config: Mapping[str, Any], group: str = "", package: Path = (), depth: int = 0) -> dict[str, Any]:
        """A configuration with the files of its list; its own values come last, unless the list says where."""
        listed = config.get("defaults")
        entries = listed if isinstance(listed, list) and depth < _DEEPEST else []
        found: dict[str, Any] = {}
        for entry in [*entries, *([] if SELF in entries else [SELF])]:
            if entry == SELF:
                own = {key: value for key, value in config.items() if key != "defaults"}
                for key in reversed(package):
                    own = {str(key): own}
                _merge(found, own)
            elif (read := _read(entry)) is not None:
                self._add(found, read, group, package, depth)
        return found

    def _add(self, found: dict[str, Any], entry: _Entry, group: str, package: Path, depth: int) -> None:
        path = posixpath.normpath(posixpath.join("/", group, entry.name))[1:]
        places = (os.path.join(folder, f"{path}.yaml") for folder in self._folders)
        file = next((place for place in places if os.path.isfile(place)), "")
        try:
            other = Document.from_file(file) if file and "$" not in entry.name else None
        except DocumentError:
            other = None
        if other is None:
            self.missing += [] if entry.optional else [entry.name]
            return
        header = _HEADER.search(other.text)
        by_group = posixpath.dirname(entry.name).strip("/").replace("/", ".")
        asked = entry.package or (header[1] if header else _GROUP)
        inside = () if asked.startswith(_GLOBAL) else package
        place = (*inside, *filter(None, asked.removeprefix(_GLOBAL).replace(_GROUP, by_group).split(".")))
        self.files.append((file, place))
        _merge(found, self.compose(other.config, posixpath.dirname(path), place, depth + 1))


def _read(entry: Any) -> _Entry | None:
    """An entry of a list; None for one that names no file."""
    if isinstance(entry, str):
        name, _, package = entry.partition("@")
        return _Entry(name, package, False)
    if not isinstance(entry, Mapping) or len(entry) != 1:
        return None
    ((key, option),) = entry.items()
    optional, _, group = str(key).rpartition(" ")
    if not isinstance(option, str) or "override" in optional.split():
        return None
    group, _, package = group.partition("@")
    return _Entry(f"{group}/{option}", package, optional == "optional")


def _merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    """Add values: mappings are merged, everything else is replaced."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            known = into.get(name)
            inner = into[name] = known if isinstance(known, dict) else {}
            _merge(inner, value)
        else:
            into[name] = value

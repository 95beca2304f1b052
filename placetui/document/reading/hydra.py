"""The files that Hydra's `defaults:` name: composed by hydra-core where that is installed (`placetui[hydra]`), else as
far as `DefaultsList` goes.
"""

from __future__ import annotations

import os
import posixpath
import re
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from placetui.document.document import Document
from placetui.document.report import DocumentError
from placetui.placement.problems import Path, Problem
from placetui.placement.wording import listing

_LOCK = threading.Lock()
"""Hydra keeps its state in one global object."""

_VARIABLE = re.compile(r"\$\{oc\.env:(\w+)(?:,([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Composition:
    """A configuration with the files that its `defaults:` name."""

    config: Mapping[str, Any] = field(default_factory=dict)
    """All that could be composed, interpolations as written; empty where nothing could."""

    files: tuple[tuple[str, Path], ...] = ()
    """Other files in the order in which they are merged, each with the place of its content."""

    reason: str = ""
    """Why not all of it can be composed, in a sentence."""

    def place(self, problem: Problem, document: Document) -> Problem:
        """The problem in the file that has its value; in the document itself where that has it."""
        if problem.line is None and len(document.walk(problem.path)) <= len(problem.path):
            for file, package in reversed(self.files):
                inside = problem.path[len(package) :]
                if problem.path[: len(package)] != package or not inside:
                    continue
                try:
                    other = Document.from_file(file)
                except DocumentError:
                    continue
                if len(other.walk(inside)) > len(inside):
                    placed = other.place(replace(problem, path=inside))
                    return replace(placed, path=problem.path)
        return document.place(problem)


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
    """Merges the files that a list names, without hydra-core, as far as most files need it. What the command line
    chooses or deletes, and entries that refer to other values, take hydra-core.
    """

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


def compose(document: Document) -> Composition:
    """The configuration of a document with the files that its `defaults:` name."""
    if not isinstance(document.config.get("defaults"), list) or not os.path.isfile(document.source):
        return Composition(reason="it does not lie in a Hydra configuration directory")
    try:
        import hydra  # noqa: F401
    except ImportError:
        return _compose_alone(document)
    folder = os.path.dirname(os.path.abspath(document.source))
    name = os.path.splitext(os.path.basename(document.source))[0]
    with _LOCK, warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="placetui-") as here:
        warnings.simplefilter("ignore")  # Hydra's advice about the file is for its author
        # The text as it is now, which may not be saved yet.
        with open(os.path.join(here, f"{name}.yaml"), "w", encoding="utf-8") as file:
            file.write(document.text)
        try:
            return _compose(here, name, [folder, *_search_path(document, folder)])
        except Exception as error:  # whatever Hydra, OmegaConf and their plug-ins raise for what a user wrote
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            return Composition(reason=f"Hydra cannot compose it: {lines[0] if lines else type(error).__name__}")


def _compose_alone(document: Document) -> Composition:
    folder = os.path.dirname(os.path.abspath(document.source))
    found = DefaultsList([folder, *_search_path(document, folder)])
    config = found.compose(document.config)
    reason = "hydra-core is not installed: pip install 'placetui[hydra]'"
    reason = f"{listing(found.missing)} cannot be read here, and {reason}" if found.missing else ""
    return Composition(config, tuple(found.files), reason)


def _compose(here: str, name: str, folders: Sequence[str]) -> Composition:
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.types import RunMode
    from omegaconf import OmegaConf

    path = [f"hydra.searchpath=[{','.join(f'file://{folder}' for folder in folders)}]"]
    with initialize_config_dir(here, version_base="1.1"):
        config = OmegaConf.to_container(hydra_compose(name, path), resolve=False)
        loader = GlobalHydra.instance().config_loader()
        parts = loader.compute_defaults_list(name, path, RunMode.RUN).defaults
    files = []
    for part in parts:
        found = next(
            (
                file
                for folder in folders
                if part.config_path and os.path.isfile(file := os.path.join(folder, f"{part.config_path}.yaml"))
            ),
            None,
        )
        if found is not None and part.config_path != name:
            files.append((found, tuple(part.package.split(".")) if part.package else ()))
    assert isinstance(config, dict)
    return Composition({str(key): value for key, value in config.items()}, tuple(files))


def _search_path(document: Document, folder: str) -> Iterator[str]:
    """Folders that the file names under `hydra.searchpath`; packages are looked for beside it and never imported."""
    section = document.config.get("hydra")
    listed = section.get("searchpath") if isinstance(section, dict) else None
    for entry in listed if isinstance(listed, list) else ():
        scheme, _, rest = str(entry).rpartition("://")
        text = _VARIABLE.sub(lambda found: os.environ.get(found[1], found[2] or "$"), rest)
        if scheme == "pkg":
            text = _package(text, folder) or "$"
        if scheme in ("", "file", "pkg") and "$" not in text and os.path.isdir(text):
            yield os.path.abspath(text)


def _package(name: str, folder: str) -> str | None:
    """The folder of a package that the configuration directory is part of, or lies beside."""
    parts = name.split(".")
    while True:
        found = os.path.join(folder, *parts)
        if os.path.isdir(found):
            return found
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above

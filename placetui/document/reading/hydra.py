"""The files that Hydra's `defaults:` name: composed by hydra-core where that is installed (`placetui[hydra]`), else as
far as `DefaultsList` goes.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from placetui.document.document import Document
from placetui.document.reading.defaults_list import DefaultsList
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

"""Files that a configuration names, such as slime's `sglang_config`, read so that a plan depends on texts alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from placetui.document.document import Document
from placetui.document.report import DocumentError
from placetui.placement.config.reader import Reader, Unresolved
from placetui.placement.problems import Path, Problem, Problems


@dataclass(frozen=True, slots=True)
class ReferencedFile:
    """A YAML file that a configuration names."""

    named: str
    """As the configuration writes it."""

    file: str
    """Where it was looked for."""

    document: Document | None
    """Its text with positions; None when it cannot be read."""

    problems: tuple[Problem, ...] = ()
    """What is wrong with it, each with its file. How bad that is depends on what the file is for."""

    @property
    def config(self) -> Mapping[str, Any]:
        """What it says; nothing when it cannot be read."""
        return {} if self.document is None else self.document.config


def read_references(source: str, config: Mapping[str, Any], paths: Iterable[Path]) -> dict[Path, ReferencedFile]:
    """The files that values of a configuration name; values that are missing or no text are left out.

    Args:
        source: the configuration's own file. Relative names count from its folder.
        config: with its interpolations; values with unresolvable ones are skipped.
        paths: of the values that name files.
    """
    reader = Reader(config, Problems())
    found: dict[Path, ReferencedFile] = {}
    for path in paths:
        named = reader.get(*path, default=None)
        if isinstance(named, str) and named.strip() and not isinstance(named, Unresolved):
            file = os.path.join(os.path.dirname(source), os.path.expanduser(named.strip()))
            found[path] = _read(named, file)
    return found


def _read(named: str, file: str) -> ReferencedFile:
    try:
        document = Document.from_file(file)
    except DocumentError as error:
        return ReferencedFile(named, file, None, tuple(error.problems))
    return ReferencedFile(named, file, document, tuple(document.problems_in(document.config)))

"""What placetui remembers from one run to the next. Losing it costs a person two keystrokes, so nothing here raises."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from placetui import locations
from placetui.locations import read_json, write_private

MOST_RECENT = 20
"""Recent files that are kept."""

MOST_BYTES = 256 * 1024
"""A larger file is not ours."""

LONGEST_NAME = 200
LONGEST_PATH = 4096


@dataclass(frozen=True, slots=True)
class State:
    """What is remembered; None where nothing is."""

    theme: str | None = None
    recent: tuple[str, ...] = ()
    """Absolute paths of files that were opened, latest first."""

    def opened(self, file: str | os.PathLike[str]) -> State:
        path = os.path.abspath(file)
        return replace(self, recent=(path, *(one for one in self.recent if one != path))[:MOST_RECENT])


def load(path: Path | None = None) -> State:
    """What is remembered, by default in the user's own state file; of a damaged file, what can still be used."""
    found = read_json(path or locations.state_file(), MOST_BYTES)
    if not isinstance(found, dict):
        return State()
    theme, recent = found.get("theme"), found.get("recent")
    named = isinstance(theme, str) and 0 < len(theme) <= LONGEST_NAME
    return State(
        theme=str(theme) if named else None,
        recent=_paths(recent if isinstance(recent, list) else []),
    )


def update(change: Callable[[State], State], path: Path | None = None) -> bool:
    """Change what is remembered; return whether it could be written.

    The file is read just before it is written, so that of two dashboards neither forgets what the other remembers.
    """
    target = path or locations.state_file()
    before = load(target)
    after = change(before)
    if after == before and target.exists():
        return True
    text = json.dumps({"schema": 1, **asdict(after)}, indent=2) + "\n"
    try:
        locations.make_private(target.parent)
        write_private(target, text)
    except (OSError, ValueError):
        return False
    return True


def _paths(found: list[Any]) -> tuple[str, ...]:
    usable = (one for one in found if isinstance(one, str) and len(one) <= LONGEST_PATH and os.path.isabs(one))
    return tuple(dict.fromkeys(one for one in usable if "\0" not in one))[:MOST_RECENT]

"""Where placetui keeps things: every path of a user's own, in one place.

The directories follow the XDG base directory specification. Asking for a path never creates anything.
"""

from __future__ import annotations

import os
from pathlib import Path

NAME = "placetui"


def config_dir() -> Path:
    """What the user writes: `~/.config/placetui`."""
    return _base("XDG_CONFIG_HOME", ".config") / NAME


def config_file() -> Path:
    """The user's settings; often not there."""
    return config_dir() / "config.yaml"


def themes_dir() -> Path:
    """The user's own themes."""
    return config_dir() / "themes"


def state_dir() -> Path:
    """What placetui remembers: `~/.local/state/placetui`."""
    return _base("XDG_STATE_HOME", ".local/state") / NAME


def state_file() -> Path:
    """The last density, the last theme and recent files."""
    return state_dir() / "state.json"


def logs_dir() -> Path:
    """What child processes print."""
    return state_dir() / "logs"


def make_private(directory: Path) -> Path:
    """Create a directory that is about to be written to, closed to other users; return it.

    What exists keeps its permissions.

    Raises:
        OSError: it cannot be created.
    """
    missing = [directory, *directory.parents]
    for parent in reversed(missing):
        if not parent.is_dir():
            parent.mkdir(mode=0o700, exist_ok=True)
    return directory


def _base(variable: str, below_home: str) -> Path:
    value = os.environ.get(variable, "")
    # The specification: a relative path there is invalid and must be ignored.
    return Path(value) if os.path.isabs(value) else _home() / below_home


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        # A user id without a name and without HOME, as in some containers: nothing to read, nowhere to write.
        return Path(os.sep)

"""The user's own files: where they are, and how they are read without trust and written in one step.

The directories follow the XDG base directory specification. Asking for a path never creates anything.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

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
    """The last theme and recent files."""
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


def read_json(path: str | os.PathLike[str], most: int, *, owned: bool = False) -> Any:
    """The JSON in a file; None for whatever goes wrong.

    Args:
        path: the file.
        most: a file of more bytes is not ours.
        owned: whether a file of another user is refused.
    """
    import json

    try:
        # Without O_NONBLOCK, a pipe of this name would hold us up forever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > most:
                return None
            if owned and hasattr(os, "getuid") and status.st_uid != os.getuid():
                return None
            return json.loads(file.read(most))
    except (OSError, ValueError, RecursionError):
        return None


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step: readers see the old or the new one, never a half. Only its owner may read it.

    Raises:
        OSError: it cannot be written; the old file is unchanged.
    """
    import tempfile  # seldom needed, and slow to load

    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # created with 0600
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


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

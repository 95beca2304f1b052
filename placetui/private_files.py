"""Small JSON files of the user's own: read without trust, written in one step, closed to other users."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any


def read_json(path: str | os.PathLike[str], most: int, *, owned: bool = False) -> Any:
    """The JSON in a file; None for whatever goes wrong.

    Args:
        path: the file.
        most: a file of more bytes is not ours.
        owned: whether a file of another user is refused.
    """
    try:
        # Without O_NONBLOCK, a pipe of this name would hold us up for ever.
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
        OSError: it cannot be written; the old one is as it was.
    """
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

"""Crash recovery of unsaved work, and lock notes that warn when a file is open elsewhere.

Neither is essential, so nothing here raises or blocks.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from placetui import locations
from placetui.document.storage.files import MAX_BYTES
from placetui.locations import read_json, write_private

MOST_BYTES = 8 * MAX_BYTES
"""Larger records are ignored; escapes make a text at most a few times longer."""

LOCK_SUFFIX = ".placetui-open"
FOREIGN_SECONDS = 3 * 24 * 3600.0
"""Age after which the note of another machine, whose processes cannot be checked from here, is stale."""


@dataclass(frozen=True, slots=True)
class Unsaved:
    """Unsaved work on a file."""

    path: str
    """The file, as an absolute path."""

    text: str
    """Without the byte order mark."""

    base: str
    """Digest of the file that it is based on; empty for a new file."""

    time: float
    """When it was stored, in seconds since 1970."""


def unsaved_dir() -> Path:
    """Where unsaved work is stored, one record per file."""
    return locations.state_dir() / "unsaved"


def keep(path: str | os.PathLike[str], text: str, base: str) -> bool:
    """Store unsaved work, readable by its owner only, in place of the last record; whether that succeeded."""
    record = Unsaved(os.path.abspath(path), text, base, time.time())
    try:
        locations.make_private(unsaved_dir())
        write_private(_record_file(path), json.dumps({"schema": 1, **asdict(record)}))
    except (OSError, ValueError):
        return False
    return True


def find(path: str | os.PathLike[str]) -> Unsaved | None:
    """The unsaved work on a file; None if there is none or the record is damaged."""
    try:
        found = read_json(_record_file(path), MOST_BYTES, owned=True)
    except ValueError:  # a path that no file can have
        return None
    if not isinstance(found, dict):
        return None
    text, base, kept = found.get("text"), found.get("base"), found.get("time")
    usable = isinstance(text, str) and isinstance(base, str) and found.get("path") == os.path.abspath(path)
    if not usable or isinstance(kept, bool) or not isinstance(kept, int | float):
        return None
    return Unsaved(os.path.abspath(path), str(text), str(base), float(kept))


def discard(path: str | os.PathLike[str]) -> None:
    """Delete the record of unsaved work on a file."""
    with suppress(OSError, ValueError):
        os.unlink(_record_file(path))


def _record_file(path: str | os.PathLike[str]) -> Path:
    name = os.path.abspath(path).encode("utf-8", "surrogateescape")
    return unsaved_dir() / f"{hashlib.sha256(name).hexdigest()[:32]}.json"


# Who has a file open


@dataclass(frozen=True, slots=True)
class Holder:
    """A placetui that has a file open for writing."""

    user: str
    host: str
    pid: int
    started: str
    """Distinguishes the process from a later one with the same pid."""

    opened: float
    """When it opened the file, in seconds since 1970."""

    def __str__(self) -> str:
        return f"{self.user} on {self.host} (process {self.pid})"


def announce(path: str | os.PathLike[str]) -> bool:
    """Leave a note beside the file that this process has it open for writing. Returns whether it succeeded.

    It is stored beside the file, not in the state directory: the other process may belong to another user.
    """
    me = Holder(_user(), socket.gethostname(), os.getpid(), _started(os.getpid()), time.time())
    try:
        note = _note(path, me)
        # Without waiting: a pipe of that name would have us wait for its reader.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(note, flags, 0o644)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump({"schema": 1, **asdict(me)}, file)
    except (OSError, ValueError):
        return False
    return True


def withdraw(path: str | os.PathLike[str]) -> None:
    """Delete the note of this process."""
    with suppress(OSError, ValueError):
        os.unlink(_note(path, Holder("", socket.gethostname(), os.getpid(), "", 0)))


def others(path: str | os.PathLike[str]) -> list[Holder]:
    """Other processes that have the file open for writing, earliest first; stale notes are deleted."""
    me = (socket.gethostname(), os.getpid())
    found: list[Holder] = []
    with suppress(OSError, ValueError):
        for note in _notes(path):
            holder = _holder(read_json(note, MOST_BYTES))
            if holder is None or (holder.host, holder.pid) == me:
                continue
            if _left_behind(holder):
                with suppress(OSError):
                    os.unlink(note)
            else:
                found.append(holder)
    return sorted(found, key=lambda holder: holder.opened)


def _beside(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Directory and name prefix of the notes of a file; a link shares those of its target."""
    directory, name = os.path.split(os.path.realpath(path))
    return directory, f".{name[:120]}."


def _note(path: str | os.PathLike[str], holder: Holder) -> str:
    directory, beginning = _beside(path)
    host = "".join(one if one.isalnum() else "-" for one in holder.host[:60])
    return os.path.join(directory, f"{beginning}{host}.{holder.pid}{LOCK_SUFFIX}")


def _notes(path: str | os.PathLike[str]) -> Iterator[Path]:
    directory, beginning = _beside(path)
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(beginning) and entry.name.endswith(LOCK_SUFFIX):
                yield Path(entry.path)


def _holder(found: Any) -> Holder | None:
    if not isinstance(found, dict):
        return None
    user, host, pid, started, opened = (found.get(name) for name in ("user", "host", "pid", "started", "opened"))
    if not (isinstance(user, str) and isinstance(host, str) and isinstance(started, str)):
        return None
    if type(pid) is not int or not 0 < pid < 1 << 31 or not isinstance(opened, int | float):
        return None
    return Holder(user[:80], host[:80], pid, started, float(opened))


def _left_behind(holder: Holder) -> bool:
    if holder.host != socket.gethostname():
        return time.time() - holder.opened > FOREIGN_SECONDS
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it is there, and somebody else's
    return _started(holder.pid) != holder.started


def _started(pid: int) -> str:
    """Start time of a process in the system's own units; empty where unknown."""
    try:
        # The second field is a name in parentheses that may hold anything; the 22nd is the start.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return fields[19]
    except (OSError, IndexError):
        return ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return str(os.getuid())

"""Who started a job: `user@host`, as its record has it."""

from __future__ import annotations

import getpass
import os
import socket


def this_user() -> str:
    """Name of the user who runs this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        # A user without a name, as in a container.
        return str(os.getuid())


def this_owner() -> str:
    """Who runs this process, and where."""
    return f"{this_user()}@{socket.gethostname()}"


def is_other(owner: str) -> bool:
    """Whether somebody else started a job; a job without a known owner is nobody else's."""
    return owner.partition("@")[0] not in ("", this_user())

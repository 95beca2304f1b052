"""The configuration of a running job, as the command line of its driver names it."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JobConfiguration:
    """Where the configuration of a running job is: in a text made of its command line, or in files."""

    text: str = ""
    """A file that says the same as the command line; empty where that names files."""

    folders: tuple[str, ...] = ()
    """Where the named file may be, in order."""

    name: str = ""
    """Of the file, with or without its suffix."""

    overrides: tuple[str, ...] = ()
    """Values that the command line replaces, as Hydra writes them: `a.b=c`, `+a=b`, `~a`."""

    script: str = ""
    """Path of the script that runs, where that is known."""

    notes: tuple[str, ...] = ()


_TOKEN = re.compile(r'(?P<slashes>\\*)(?P<quote>")|(?P<blanks>[ \t]+)|\\+|[^\\" \t]+')


def split_command(text: str) -> list[str]:
    """The words that `subprocess.list2cmdline` joined.

    Only double quotes group, and a backslash is special only before one.
    """
    words: list[str] = []
    word: str | None = None
    quoted = False
    for token in _TOKEN.finditer(text):
        if token["blanks"] and not quoted:
            words += [] if word is None else [word]
            word = None
        elif token["quote"]:
            escaped = len(token["slashes"]) % 2
            word = (word or "") + "\\" * (len(token["slashes"]) // 2) + '"' * escaped
            quoted ^= not escaped
        else:
            word = (word or "") + token[0]
    return words if word is None else [*words, word]

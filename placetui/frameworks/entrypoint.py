"""The configuration of a running job, as the command line of its driver names it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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

    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables of the environment that the file may refer to."""

    script: str = ""
    """Path of the script that runs, where that is known."""

    notes: tuple[str, ...] = ()
    """What the reader should know, in sentences."""


def split_command(text: str) -> list[str]:
    """The words that `subprocess.list2cmdline` joined.

    Only double quotes group, and a backslash is special only before one.
    """
    words: list[str] = []
    word: list[str] | None = None
    quoted = False
    place = 0
    while place < len(text):
        sign = text[place]
        if sign == "\\":
            start = place
            while place < len(text) and text[place] == "\\":
                place += 1
            slashes = place - start
            before_quote = place < len(text) and text[place] == '"'
            word = word if word is not None else []
            word.append("\\" * (slashes // 2 if before_quote else slashes))
            if before_quote and slashes % 2:
                word.append('"')
                place += 1
            continue
        if sign == '"':
            quoted = not quoted
            word = word if word is not None else []
        elif sign in " \t" and not quoted:
            if word is not None:
                words.append("".join(word))
            word = None
        else:
            word = word if word is not None else []
            word.append(sign)
        place += 1
    return words if word is None else [*words, "".join(word)]

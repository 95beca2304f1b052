"""What stands in the blocks of the documentation."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from placetui.cli.parser import COMMANDS

NOT_RUN = "# not run:"
"""How a block begins that cannot be run, before the reason."""


def blocks(language: str, documents: Iterable[Path]) -> list[tuple[str, str]]:
    """A name and the text of each block in a language."""
    fence = re.compile(rf"^```{language}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [
        (f"{path.name}-{number}", text)
        for path in documents
        for number, text in enumerate(fence.findall(path.read_text(encoding="utf-8")), 1)
    ]


def lines(block: str) -> Iterator[str]:
    """The commands of a block."""
    for line in block.replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line


def words(line: str) -> list[str]:
    first, *others = shlex.split(line, comments=True)
    return [first.removeprefix(".venv/bin/"), *others]


def command_of(line: str) -> str:
    """The command of placetui that a line begins with; empty for the dashboard."""
    first = words(line)[1:2]
    return first[0] if first and first[0] in COMMANDS else ""

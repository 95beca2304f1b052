"""Problems with line and column, and the exception for a file that cannot be read."""

from __future__ import annotations

from dataclasses import replace

from placetui.placement.problems import Path, PlacementError, Problem

MOST_PROBLEMS = 100
"""Further problems are dropped."""


class DocumentError(PlacementError):
    """A file or an option cannot be read at all; `problems` says why."""


def refuse(rule: str, message: str, hint: str, file: str = "") -> DocumentError:
    """The error for a single problem."""
    return DocumentError([Problem(rule, message, hint=hint, file=file)])


class Lines:
    """Converts an index to line and column."""

    def __init__(self, text: str) -> None:
        self._text = text

    def place(self, index: int) -> tuple[int, int]:
        """Line and column of a character, both counted from 1."""
        index = min(max(index, 0), len(self._text))
        return self._text.count("\n", 0, index) + 1, index - self._text.rfind("\n", 0, index)

    def describe(self, index: int) -> str:
        """`line 4, column 5`, for use in a sentence."""
        line, column = self.place(index)
        return f"line {line}, column {column}"


class TextReport:
    """Collects the problems of a text, or of one of its sections."""

    def __init__(self, lines: Lines, source: str) -> None:
        self.lines = lines
        self.source = source
        self.problems: list[Problem] = []

    def error(
        self, rule: str, message: str, index: int, *, hint: str = "", path: Path = (), at_key: bool = False
    ) -> None:
        if not self.full:
            line, column = self.lines.place(index)
            problem = Problem(rule, message, "error", hint, path=path, at_key=at_key)
            self.problems.append(replace(problem, file=self.source, line=line, column=column))

    @property
    def full(self) -> bool:
        return len(self.problems) >= MOST_PROBLEMS


def shorten(text: str, most: int = 60) -> str:
    """Text for a sentence: on one line and not too long."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"

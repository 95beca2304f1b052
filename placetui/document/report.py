"""Problems with a place in a text."""

from __future__ import annotations

from placetui.placement.problems import Path, Problem, Problems, Severity

MOST_PROBLEMS = 100
"""Nobody reads more, and each one costs time to locate."""

_BLOCK = 1 << 14


class Lines:
    """Turns an index into line and column without keeping the start of every line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._breaks_before: list[int] | None = None

    def place(self, index: int) -> tuple[int, int]:
        """Line and column of a character, both counted from 1."""
        text = self._text
        index = min(max(index, 0), len(text))
        if self._breaks_before is None:
            self._breaks_before = [0]
            for start in range(0, len(text), _BLOCK):
                self._breaks_before.append(self._breaks_before[-1] + text.count("\n", start, start + _BLOCK))
        block = index // _BLOCK
        line = self._breaks_before[block] + text.count("\n", block * _BLOCK, index)
        return line + 1, index - text.rfind("\n", 0, index)


class Report:
    """Collects what is wrong in one text."""

    def __init__(self, text: str, source: str) -> None:
        self.lines = Lines(text)
        self.source = source
        self.problems = Problems()

    def add(
        self,
        rule: str,
        message: str,
        index: int,
        *,
        hint: str = "",
        path: Path = (),
        at_key: bool = False,
        severity: Severity = "error",
    ) -> None:
        """Report a problem at a character of the text."""
        if not self.full:
            line, column = self.lines.place(index)
            self.problems.append(
                Problem(
                    rule,
                    message,
                    severity,
                    hint,
                    path=path,
                    at_key=at_key,
                    file=self.source,
                    line=line,
                    column=column,
                )
            )

    @property
    def full(self) -> bool:
        """Whether anything more would be left out."""
        return len(self.problems) >= MOST_PROBLEMS

    def where(self, index: int) -> str:
        """`line 4, column 5`, for use in a sentence."""
        line, column = self.lines.place(index)
        return f"line {line}, column {column}"


def shorten(text: str, most: int = 60) -> str:
    """Text for a sentence: on one line and not too long."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"

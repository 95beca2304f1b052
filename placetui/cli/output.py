"""The boundary to the terminal: whatever a command prints, only its own code can control the terminal.

Names, hosts, command lines and log lines come from other people. Cleaning them where they are printed would be
forgotten somewhere; so the streams themselves let no control character pass, and code that draws asks for `raw`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, TextIO, cast

from placetui.placement.wording import clean, plain


def speaks_utf8() -> bool:
    """Whether every character can be printed."""
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def shows_color() -> bool:
    """Whether the user wants colours, and the terminal has some."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class SafeStream:
    """A text stream without control characters and direction marks, other than line ends and tabs."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(harmless(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def harmless(text: str) -> str:
    """Text of several lines, with a dot for everything that a terminal could obey."""
    if text.isprintable():
        return text
    return "\n".join(line if line.isprintable() else _harmless_line(line) for line in text.split("\n"))


def raw(stream: IO[str]) -> IO[str]:
    """The stream behind a safe one, for code that controls the terminal."""
    return stream.stream if isinstance(stream, SafeStream) else stream


def open_missing_streams() -> None:
    """Replace streams that were closed before the program started, for which Python has None."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


@contextmanager
def safe_streams() -> Iterator[None]:
    """Standard streams through which no printed text can control the terminal."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", SafeStream(raw(stream))) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def complain(prog: str, sentence: str, hint: str = "", quoted: Sequence[str] = ()) -> None:
    """Print on stderr what is wrong, the lines it quotes, and what to do."""
    print(f"{prog}: {plain(sentence)}", *(f"  | {line}" for line in quoted), sep="\n", file=sys.stderr)
    if hint:
        print(f"  hint: {plain(hint)}", file=sys.stderr)


def _harmless_line(line: str) -> str:
    return "\t".join(clean(part) for part in line.split("\t"))


SLOW = 1.0
"""Seconds after which a person wants to know what takes so long."""


class WaitingLine:
    """Says on a terminal, after a second, what the command is waiting for; the line is gone afterwards."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._since = time.monotonic()
        self._shown = False

    def update(self) -> None:
        """Call now and then while waiting."""
        if not self._shown and time.monotonic() - self._since >= SLOW and sys.stderr.isatty():
            self._shown = True
            raw(sys.stderr).write(f"\r{harmless(self._what)} ...")
            sys.stderr.flush()

    def clear(self) -> None:
        """There is something to print, or nothing more to wait for."""
        if self._shown:
            raw(sys.stderr).write("\r\x1b[K")
            sys.stderr.flush()
        self._shown = False
        self._since = time.monotonic()

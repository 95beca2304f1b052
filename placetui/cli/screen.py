"""A full screen that is redrawn in place, and leaves the terminal as it found it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from placetui.cli.output import raw

_ENTER = "\x1b[?1049h\x1b[?25l"
"""The alternate screen, without a cursor."""

_LEAVE = "\x1b[?25h\x1b[?1049l"
_HOME = "\x1b[H"
_REST_OF_LINE = "\x1b[K"
_REST_OF_SCREEN = "\x1b[J"


def terminal_size() -> tuple[int, int]:
    """Columns and lines."""
    size = shutil.get_terminal_size()
    return size.columns, size.lines


def draw(lines: Sequence[str]) -> None:
    """Replace what is on the screen; lines that do not fit are counted."""
    room = max(1, terminal_size()[1])
    if len(lines) > room:
        lines = [*lines[: room - 1], f"... {len(lines) - room + 1} more lines"]
    _write(_HOME + "\r\n".join(f"{line}{_REST_OF_LINE}" for line in lines) + _REST_OF_SCREEN)


@contextmanager
def full_screen(resized: Callable[[], None]) -> Iterator[None]:
    """Take over the terminal, and restore it however this ends, also while the program is suspended."""
    keyboard = _Keyboard()

    def enter() -> None:
        keyboard.take()
        _write(_ENTER)

    def leave() -> None:
        _write(_LEAVE)
        keyboard.give_back()

    def stop(number: int, frame: FrameType | None) -> None:
        leave()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        # Resumed.
        signal.signal(signal.SIGTSTP, stop)
        enter()
        resized()

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {
        signal.SIGTSTP: signal.signal(signal.SIGTSTP, stop),
        signal.SIGTERM: signal.signal(signal.SIGTERM, end),
        signal.SIGWINCH: signal.signal(signal.SIGWINCH, lambda *_: resized()),
    }
    try:
        enter()
        yield
    finally:
        leave()
        for number, handler in before.items():
            signal.signal(number, handler)


def _write(text: str) -> None:
    raw(sys.stdout).write(text)
    sys.stdout.flush()


class _Keyboard:
    """Reads single keys instead of lines, without echo."""

    def __init__(self) -> None:
        self._before: list[Any] | None = None

    def take(self) -> None:
        if not sys.stdin.isatty():
            return
        import termios
        import tty

        descriptor = sys.stdin.fileno()
        self._before = termios.tcgetattr(descriptor)
        tty.setcbreak(descriptor)

    def give_back(self) -> None:
        if self._before is None:
            return
        import termios

        with suppress(termios.error):
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)
        self._before = None

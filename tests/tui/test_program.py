"""The real program in a pseudo-terminal: start, press keys, read the screen, leave; the terminal is left as it was."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyte
import pytest

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample_configs" / "collocated.yaml"
PATIENCE = 60.0
NOBODY = "127.0.0.1:1"
"""The cluster that is there unless a test names another one: none, whatever else runs on this machine."""

# What pyte takes for text: keyboard protocols and questions about modes.
UNKNOWN = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p|\x1b_.*?\x1b\\|\x1bP.*?\x1b\\")


class Terminal:
    """A terminal with a program in it."""

    def __init__(self, *arguments: str, size: tuple[int, int] = (120, 36), **environment: str) -> None:
        self.screen = pyte.Screen(*size)
        self.output = b""
        self._stream = pyte.ByteStream(self.screen)
        self._master, self.slave = pty.openpty()
        self._resize(*size)
        self._modes_before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "placetui", *arguments],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            cwd=ROOT,
            env={**os.environ, "RAY_ADDRESS": NOBODY, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment},
            start_new_session=True,
        )
        self.lock = threading.Lock()
        self._stop, self._stopper = os.pipe()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        rest = b""
        with suppress(OSError):
            while self._master in select.select([self._master, self._stop], [], [])[0]:
                data = os.read(self._master, 65536)
                with self.lock:
                    self.output += data
                    # A sequence can come in two pieces: its beginning waits for its end.
                    data, rest = _whole(rest + data)
                    self._stream.feed(UNKNOWN.sub(b"", data))

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    @property
    def text(self) -> str:
        with self.lock:
            return "\n".join(self.screen.display)

    def sees(self, *words: str) -> None:
        self.until(lambda: all(word in self.text for word in words), f"{words} on the screen")

    def until(self, condition: Callable[[], object], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"did not happen: {what}\n{self.text}"
            time.sleep(0.02)

    def _resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def ends(self) -> int:
        """The exit code."""
        return self.process.wait(PATIENCE)

    def cook(self) -> None:
        """Give the terminal the modes of a shell."""
        termios.tcsetattr(self.slave, termios.TCSANOW, self._modes_before)

    def hang_up(self) -> None:
        """Close the window."""
        self._stop_reading()
        os.close(self._master)
        self._master = -1

    def children(self) -> list[int]:
        """Processes that the program started."""
        pid = self.process.pid
        found: list[int] = []
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text().split())
        return found

    def is_clean(self) -> None:
        """Everything that was switched on is off again, once all that the program wrote has come through."""
        self.until(lambda: not self._left_on(), f"a clean terminal: {self._left_on()}")
        assert termios.tcgetattr(self.slave) == self._modes_before

    def _left_on(self) -> list[str]:
        """What the program has not put back yet."""
        modes = {int(number): flag == b"h" for number, flag in re.findall(rb"\x1b\[\?(\d+)([hl])", self.output)}
        left = [] if modes.get(1049) is False else ["alternate screen"]
        left += [] if modes.get(25) is True else ["hidden cursor"]
        mouse_and_paste = (1000, 1002, 1003, 1004, 1006, 1015, 2004, 2048)
        left += [f"mode {number}" for number in mouse_and_paste if modes.get(number)]
        pushed, popped = len(re.findall(rb"\x1b\[>\d+u", self.output)), len(re.findall(rb"\x1b\[<\d*u", self.output))
        return left if pushed == popped else [*left, "keyboard protocol"]

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self._master >= 0:
            self.hang_up()
        os.close(self.slave)

    def _stop_reading(self) -> None:
        """Before anything is closed: a reader that came late would read from the next who gets the same number."""
        os.close(self._stopper)
        self._reader.join()
        os.close(self._stop)


def _whole(data: bytes) -> tuple[bytes, bytes]:
    """What can be fed, and an escape sequence that has no end yet."""
    start = data.rfind(b"\x1b")
    if start < 0 or re.match(rb"\x1b(\[[0-9;<>=?$]*[@-~]|[^\[])", data[start:]):
        return data, b""
    return data[:start], data[start:]


@contextmanager
def terminal(*arguments: str, size: tuple[int, int] = (120, 36), **environment: str) -> Iterator[Terminal]:
    opened = Terminal(*arguments, size=size, **environment)
    try:
        yield opened
    finally:
        opened.close()


def is_gone(pid: int) -> bool:
    """Whether a process has ended, also if nobody has asked for its exit code yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")


@needs_proc
def test_a_session_with_the_simulated_cluster() -> None:
    with terminal(str(SAMPLE), "--demo") as desk:
        desk.sees("collocated.yaml", "node1", "A15", "simulated", "GiB")
        children = desk.children()
        assert len(children) == 1
        desk.press("l")
        desk.sees("node0 · GPU 1")
        desk.press("\x1b[B")
        desk.sees("node1 · GPU 1")
        desk.press("?")
        desk.sees("Move to the device on the left.")
        desk.press("\x1b")
        desk.until(lambda: "Move to the device on the left." not in desk.text, "the help closed")
        desk.press("2")
        desk.sees("rollout,reward: all")
        desk.press("q")
        assert desk.ends() == 0
        desk.is_clean()
        desk.until(lambda: all(map(is_gone, children)), "the child ended")


def test_a_terminal_without_a_screen_is_told_so() -> None:
    with terminal(str(SAMPLE), TERM="dumb") as desk:
        assert desk.ends() == 2
        desk.sees("placetui: TERM is dumb, a terminal without a screen", "hint: set TERM=xterm-256color")
        assert b"\x1b" not in desk.output


@pytest.mark.parametrize(
    ("theme", "hint"), [("placetui-drak", "did you mean placetui-dark?"), ("zz", "the themes are placetui-")]
)
def test_a_theme_that_is_not_there_is_told_before_anything_is_painted(theme: str, hint: str) -> None:
    with terminal(str(SAMPLE), "--theme", theme) as desk:
        assert desk.ends() == 2
        desk.sees(f"placetui: there is no theme {theme}", hint)
        assert b"\x1b[?1049h" not in desk.output


@pytest.mark.parametrize("keys", ["\x03", "/act\x03", "w\x03", "o\x03"], ids=["grid", "find", "dialog", "picker"])
def test_ctrl_c_leaves_at_once(keys: str) -> None:
    with terminal(str(SAMPLE)) as desk:
        desk.sees("node1", "A15")
        desk.press(keys)
        assert desk.ends() == 0
        desk.is_clean()


@needs_proc
def test_a_child_that_hangs_does_not_keep_the_program() -> None:
    with terminal(str(SAMPLE), "--demo") as desk:
        desk.sees("GiB")
        child = desk.children()[0]
        os.kill(child, signal.SIGSTOP)
        desk.press("q")
        start = time.monotonic()
        assert desk.ends() == 0
        assert time.monotonic() - start < 30
        desk.is_clean()
        desk.until(lambda: is_gone(child), "the child ended")


@needs_proc
def test_a_child_that_is_killed_is_started_again() -> None:
    with terminal(str(SAMPLE), "--demo") as desk:
        desk.sees("GiB")
        child = desk.children()[0]
        os.kill(child, signal.SIGKILL)
        desk.sees("lost")
        assert "GiB" in desk.text, "the last picture stays"
        desk.until(lambda: any(one != child and not is_gone(one) for one in desk.children()), "another child")
        desk.sees("simulated every")
        before = desk.text
        desk.until(lambda: desk.text != before, "new data")
        children = desk.children()
        desk.press("q")
        assert desk.ends() == 0
        desk.is_clean()
        desk.until(lambda: all(map(is_gone, children)), "the children ended")


@needs_proc
def test_a_program_that_is_killed_takes_its_child_along() -> None:
    with terminal(str(SAMPLE), "--demo") as desk:
        desk.sees("GiB")
        children = desk.children()
        desk.process.kill()
        desk.process.wait()
        desk.until(lambda: all(map(is_gone, children)), "the child ended")


def test_without_a_file_there_is_a_picker() -> None:
    # No other cluster is looked for than one of its own, whatever else runs on this machine.
    with terminal("--address", "local") as desk:
        desk.sees("Type to filter", "collocated.yaml")
        desk.press("collocated")
        desk.until(lambda: "heterogeneous.yaml" not in desk.text, "the list filtered")
        desk.press("\r")
        desk.sees("node1", "A15")
        desk.press("q")
        assert desk.ends() == 0
        desk.is_clean()


def test_plain_is_plain() -> None:
    with terminal(str(SAMPLE), "--ascii", "--no-color", "--no-mouse") as desk:
        desk.sees("node1", "A15")
        desk.press("w")
        desk.sees("GPUs per node")
        desk.press("\x03")
        assert desk.ends() == 0
        desk.is_clean()
    assert desk.output.isascii()
    assert b"\x1b[?1000h" not in desk.output
    styles = [
        style for style in re.findall(rb"\x1b\[([0-9;]*)m", desk.output) if re.search(rb"(^|;)(3[0-8]|4[0-8])", style)
    ]
    assert not styles


def test_the_last_theme_and_file_are_remembered(quiet_environment: Path) -> None:
    with terminal(str(SAMPLE)) as desk:
        desk.sees("A15")
        desk.press("t")
        desk.sees("theme placetui-")
        theme = re.search(r"theme (placetui-[a-z-]+)", desk.text)
        assert theme is not None
        desk.press("q")
        assert desk.ends() == 0
    saved = (quiet_environment / "state" / "placetui" / "state.json").read_text()
    assert theme[1] in saved
    assert str(SAMPLE) in saved


def test_a_wrong_file_is_said_before_anything_is_drawn(tmp_path: Path) -> None:
    with terminal(str(tmp_path / "nothing.yaml")) as desk:
        assert desk.ends() == 2
        desk.sees("nothing.yaml")
        assert b"\x1b[?1049h" not in desk.output

"""What `placetui doctor` looks at: each finding is fine, a warning or a problem, and says what to do."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from placetui import __version__, locations
from placetui.bridge.calls import BridgeError
from placetui.bridge.client import Bridge
from placetui.bridge.messages import Message
from placetui.bridge.process import NVML_CHILD, child_command
from placetui.cli.cluster import RUNTIME
from placetui.cli.output import Patience, speaks_utf8
from placetui.cli.versions import installed
from placetui.placement.problems import count

State: TypeAlias = Literal["fine", "warning", "problem"]

OLDEST = (3, 10)
RAY_PATIENCE = 30.0
"""Seconds: importing Ray alone takes some on a busy machine, and finding out that nobody answers takes some more."""

NVML_PATIENCE = 10.0
SMALLEST = (80, 24)
_LOOK = 0.1

CLIPBOARD = ("kitty", "ghostty", "wezterm", "iterm.app", "foot", "alacritty", "contour", "rio", "vscode", "tmux")
"""Terminals known to take a copy by OSC 52, some of them after a setting."""

NO_CLIPBOARD = ("apple_terminal", "linux", "vt100", "dumb")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    topic: str
    state: State
    text: str
    hint: str = ""
    """What to do; never empty unless all is fine."""

    def format(self) -> str:
        """As a line, and what to do below it."""
        mark = {"fine": "fine", "warning": "warning:", "problem": "problem:"}[self.state]
        below = f"\n{'':<10}  hint: {self.hint}" if self.hint else ""
        return f"{mark:<9}{self.text}{below}"

    def to_dict(self) -> dict[str, str]:
        return {"topic": self.topic, "state": self.state, "text": self.text, "hint": self.hint}


def python() -> Iterator[Finding]:
    """The interpreter, and the packages that are needed in any case."""
    version = platform.python_version()
    if sys.version_info < OLDEST:
        yield Finding("python", "problem", f"Python {version}", "placetui needs Python 3.10 or newer")
    else:
        yield Finding("python", "fine", f"Python {version}, placetui {__version__}")
    for package in ("textual", "pyyaml"):
        found = installed(package)
        if found:
            yield Finding("python", "fine", f"{package} {found}")
        else:
            yield Finding("python", "problem", f"{package} is not installed", f"pip install {package}")


def terminal(environment: Mapping[str, str] | None = None) -> Iterator[Finding]:
    """What the terminal can do, as far as it can be known without asking it."""
    environment = os.environ if environment is None else environment
    if not sys.stdout.isatty():
        yield Finding("terminal", "fine", "the output is not a terminal: size and colours are not known")
    else:
        yield from _size()
        yield _colors(environment)
        yield _clipboard(environment)
    if speaks_utf8():
        yield Finding("terminal", "fine", "UTF-8")
    else:
        hint = "set LC_ALL=C.UTF-8; until then the dashboard draws in ASCII"
        yield Finding("terminal", "warning", f"{(sys.stdout.encoding or 'ascii').lower()} instead of UTF-8", hint)


def _size() -> Iterator[Finding]:
    columns, rows = shutil.get_terminal_size()
    small = columns < SMALLEST[0] or rows < SMALLEST[1]
    hint = "the dashboard is made for 80×24 and more; parts of it will be hidden" if small else ""
    yield Finding("terminal", "warning" if small else "fine", f"{columns}×{rows} characters", hint)


def _colors(environment: Mapping[str, str]) -> Finding:
    kind = environment.get("TERM", "")
    if environment.get("NO_COLOR"):
        return Finding("terminal", "fine", "no colours, as NO_COLOR asks")
    if environment.get("COLORTERM") in ("truecolor", "24bit"):
        return Finding("terminal", "fine", "16 million colours")
    if "256" in kind or "direct" in kind or kind in ("xterm-kitty", "xterm-ghostty", "foot", "alacritty"):
        return Finding("terminal", "fine", "256 colours", "if yours has all colours, set COLORTERM=truecolor")
    if kind in ("", "dumb"):
        return Finding("terminal", "problem", "TERM names no terminal", "set TERM, for example to xterm-256color")
    return Finding(
        "terminal", "warning", "few colours", "set TERM=xterm-256color if yours has more; else use --no-color"
    )


def _clipboard(environment: Mapping[str, str]) -> Finding:
    """Copying goes through the terminal (OSC 52), which none tells about."""
    if environment.get("TMUX"):
        hint = "`tmux set -g set-clipboard on` lets copies through"
        return Finding("terminal", "fine", "copying (OSC 52) goes through tmux", hint)
    names = [environment.get(name, "").lower() for name in ("TERM_PROGRAM", "TERM")]
    known = any(name in text for text in names for name in CLIPBOARD) or "WT_SESSION" in environment
    vte = environment.get("VTE_VERSION", "")
    if known or (vte.isdecimal() and int(vte) >= 7600):
        return Finding("terminal", "fine", "copying (OSC 52) is known to work here")
    if any(text in NO_CLIPBOARD for text in names) or vte:
        hint = "select with the mouse while holding shift, or start with --no-mouse"
        return Finding("terminal", "warning", "this terminal takes no copies (OSC 52)", hint)
    return Finding("terminal", "fine", "whether copying (OSC 52) works is not known for this terminal")


def config() -> Iterator[Finding]:
    """The settings, and whether placetui can remember and log."""
    from placetui.document.settings_file import read_settings
    from placetui.tui.actions import ACTIONS

    file = locations.config_file()
    if not file.exists():
        yield Finding("config", "fine", f"no {_home(file)}: the defaults apply")
    else:
        _, problems = read_settings(file, actions=[action.id for action in ACTIONS])
        state: State = "problem" if problems else "fine"
        hint = "`placetui config validate` names them" if problems else ""
        yield Finding("config", state, f"{_home(file)}: {count(len(problems), 'problem')}", hint)
    yield _directory(locations.state_dir())


def _directory(directory: Path) -> Finding:
    there = next((one for one in (directory, *directory.parents) if one.exists()), directory)
    if not os.access(there, os.W_OK | os.X_OK):
        hint = "without it nothing is remembered and `up` has no log; set XDG_STATE_HOME to a directory of yours"
        return Finding("config", "problem", f"{_home(directory)} cannot be written", hint)
    if there == directory and stat.S_IMODE(there.stat().st_mode) & 0o077:
        return Finding("config", "warning", f"{_home(directory)} is open to others", f"chmod 700 {_home(directory)}")
    return Finding("config", "fine", f"{_home(directory)}: what is remembered, and logs")


def themes() -> Iterator[Finding]:
    """Ours and the user's."""
    from placetui.tui.themes import load_themes

    loaded, problems = load_themes(locations.themes_dir())
    if problems:
        text = f"{count(len(loaded), 'theme')}, and {count(len(problems), 'problem')}"
        yield Finding("themes", "problem", text, "`placetui config validate` names them")
    else:
        yield Finding("themes", "fine", count(len(loaded), "theme"))


class Questions:
    """What only other processes can find out: Ray and NVML are never loaded into one that prints."""

    def __init__(self, address: str, patience: Patience) -> None:
        self._address = address
        self._patience = patience
        self._bridges = ExitStack()

    def __enter__(self) -> Questions:
        self._ray = self._ask(RUNTIME, "versions", RAY_PATIENCE, address=self._address)
        self._nvml = self._ask(NVML_CHILD, "driver", NVML_PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._bridges.close()

    def answers(self) -> Iterator[Finding]:
        yield from self._about_ray()
        yield from self._about_gpus()

    def _ask(self, module: str, kind: str, timeout: float, **body: Any) -> Future[Message] | str:
        """The answer to come, or why there is none."""
        try:
            bridge = self._bridges.enter_context(Bridge(locations.logs_dir(), child_command(module)))
            bridge.start()
        except OSError as problem:
            return f"no process can be started for it: {problem.strerror or problem}"
        return bridge.request(kind, timeout=timeout, **body)

    def _answer(self, asked: Future[Message] | str) -> Mapping[str, Any]:
        if isinstance(asked, str):
            return {"problem": asked}
        try:
            while True:
                try:
                    return asked.result(_LOOK).body
                except (FutureTimeout, TimeoutError):
                    if asked.done():
                        return {"problem": "no answer in time"}
                    self._patience.look()
        except (BridgeError, CancelledError) as problem:
            return {"problem": str(problem)}
        finally:
            self._patience.end()

    def _about_ray(self) -> Iterator[Finding]:
        found = self._answer(self._ray)
        version = installed("ray")
        if version is None:
            yield Finding("ray", "problem", "Ray is not installed", "pip install 'ray==THE CLUSTER’S VERSION'")
            return
        yield Finding("ray", "fine", f"Ray {found.get('ray') or version}")
        if notice := found.get("notice"):
            yield Finding("ray", "warning", str(notice), "should something not work, look for a newer placetui")
        if cluster := found.get("cluster"):
            size = f"{count(cluster['nodes'], 'node')}, {count(cluster['gpus'], 'GPU')}"
            runs = f"Ray {cluster['ray'] or '?'} on Python {cluster['python'] or '?'}"
            yield Finding("ray", "fine", f"the cluster at {cluster['address']} has {size} and runs {runs}")
        if problem := found.get("problem"):
            state: State = "fine" if found.get("looked_for") else "problem"
            hint = str(found.get("hint") or "placetui plans and checks without it; launching needs it")
            yield Finding("ray", state, str(problem), hint)

    def _about_gpus(self) -> Iterator[Finding]:
        found = self._answer(self._nvml)
        if problem := found.get("problem"):
            hint = "only needed where the GPUs of this very machine are to be read"
            yield Finding("gpus", "warning", str(problem), hint)
            return
        names = found["gpus"]
        kinds = ", ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names)) or "no GPU"
        yield Finding("gpus", "fine", f"{kinds}; driver {found['driver']}, NVML {found['nvml']}")


def _home(path: Path) -> str:
    """Without the name of the user: a report is passed on."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except (ValueError, RuntimeError):
        return str(path)

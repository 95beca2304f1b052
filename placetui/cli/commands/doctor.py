"""`placetui doctor`: check everything that placetui depends on. Each finding says what to do about it."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import stat
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from placetui import __version__, locations
from placetui.bridge.client import Bridge, BridgeError
from placetui.bridge.messages import Message
from placetui.bridge.process import NVML_CHILD, child_command
from placetui.cli import exits
from placetui.cli.cluster import RUNTIME, add_address
from placetui.cli.output import WaitingLine, speaks_utf8
from placetui.cli.versions import installed, versions
from placetui.observe.operations import INSTALL_RAY
from placetui.placement.wording import count, plain

State: TypeAlias = Literal["fine", "warning", "problem"]

RAY_PATIENCE = 30.0
"""Seconds: on a busy machine importing Ray takes some, and so does waiting for a head that does not answer."""

NVML_PATIENCE = 10.0
SMALLEST = (80, 24)
_POLL = 0.1

CLIPBOARD = ("kitty", "ghostty", "wezterm", "iterm.app", "foot", "alacritty", "contour", "rio", "vscode", "tmux")
"""Terminals known to support copying with OSC 52, some of them after a setting."""

NO_CLIPBOARD = ("apple_terminal", "linux", "vt100", "dumb")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    state: State
    text: str
    hint: str = ""
    """What to do; empty only if the state is fine."""

    def format(self) -> str:
        mark = {"fine": "fine", "warning": "warning:", "problem": "problem:"}[self.state]
        below = f"\n{'':<10}  hint: {plain(self.hint)}" if self.hint else ""
        return f"{mark:<9}{plain(self.text)}{below}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_address(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    found = list(_findings(args.address, aloud=not args.json))
    states = Counter(one.state for _, one in found)
    if args.json:
        findings = [{"topic": topic, **asdict(one)} for topic, one in found]
        print(json.dumps({"schema": 1, "versions": versions(), "findings": findings}, indent=2))
    else:
        print(f"{count(states['problem'], 'problem')}, {count(states['warning'], 'warning')}", file=sys.stderr)
    return exits.PROBLEMS if states["problem"] else exits.FINE


def _findings(address: str, *, aloud: bool) -> Iterator[tuple[str, Finding]]:
    """All of them by topic; printed as they come if `aloud`."""
    with ChildProbes(address, WaitingLine("asking Ray and the GPU driver")) as probes:
        topics = {"python": python, "terminal": terminal, "config": config, "themes": themes}
        for topic, find in {**topics, "ray": probes.about_ray, "gpus": probes.about_gpus}.items():
            for place, one in enumerate(find()):
                if aloud:
                    print(f"{'' if place else topic:<10}{one.format()}", flush=True)
                yield topic, one


def python() -> Iterator[Finding]:
    """The interpreter, and the packages that every command or the dashboard needs."""
    yield Finding("fine", f"Python {platform.python_version()}, placetui {__version__}")
    for package in ("textual", "pyyaml"):
        found = installed(package)
        if found:
            yield Finding("fine", f"{package} {found}")
        else:
            yield Finding("problem", f"{package} is not installed", f"pip install {package}")


def terminal(environment: Mapping[str, str] | None = None) -> Iterator[Finding]:
    """What the terminal can do, as far as the environment tells."""
    environment = os.environ if environment is None else environment
    if not sys.stdout.isatty():
        yield Finding("fine", "the output is not a terminal: size and colours are unknown")
    else:
        yield _size()
        yield _colors(environment)
        yield _clipboard(environment)
    if speaks_utf8():
        yield Finding("fine", "UTF-8")
    else:
        hint = "set LC_ALL=C.UTF-8; until then the dashboard draws in ASCII"
        yield Finding("warning", f"{(sys.stdout.encoding or 'ascii').lower()} instead of UTF-8", hint)


def _size() -> Finding:
    columns, rows = shutil.get_terminal_size()
    small = columns < SMALLEST[0] or rows < SMALLEST[1]
    hint = "the dashboard needs 80×24; below that, parts of it are hidden" if small else ""
    return Finding("warning" if small else "fine", f"{columns}×{rows} characters", hint)


def _colors(environment: Mapping[str, str]) -> Finding:
    kind = environment.get("TERM", "")
    if environment.get("NO_COLOR"):
        return Finding("fine", "no colours, because NO_COLOR is set")
    if environment.get("COLORTERM") in ("truecolor", "24bit"):
        return Finding("fine", "16 million colours")
    if "256" in kind or "direct" in kind or kind in ("xterm-kitty", "xterm-ghostty", "foot", "alacritty"):
        return Finding("fine", "256 colours", "if yours has more, set COLORTERM=truecolor")
    if kind in ("", "dumb"):
        return Finding("problem", "TERM is not set to a terminal", "set TERM, for example to xterm-256color")
    return Finding("warning", "few colours", "set TERM=xterm-256color if yours has more; else use --no-color")


def _clipboard(environment: Mapping[str, str]) -> Finding:
    """Copying goes through the terminal (OSC 52), and no terminal says whether it supports that."""
    if environment.get("TMUX"):
        hint = "enable it with: tmux set -g set-clipboard on"
        return Finding("fine", "copying (OSC 52) goes through tmux", hint)
    names = [environment.get(name, "").lower() for name in ("TERM_PROGRAM", "TERM")]
    known = any(name in text for text in names for name in CLIPBOARD) or "WT_SESSION" in environment
    vte = environment.get("VTE_VERSION", "")
    if known or (vte.isdecimal() and int(vte) >= 7600):
        return Finding("fine", "copying (OSC 52) works in this terminal")
    if any(text in NO_CLIPBOARD for text in names) or vte:
        hint = "select with the mouse while holding shift, or start with --no-mouse"
        return Finding("warning", "copying (OSC 52) does not work in this terminal", hint)
    return Finding("fine", "copying (OSC 52) is untested in this terminal")


def config() -> Iterator[Finding]:
    """The settings, and whether placetui can store its state and logs."""
    from placetui.settings import read_settings
    from placetui.tui.actions import ACTIONS

    file = locations.config_file()
    if not file.exists():
        yield Finding("fine", f"no {_home(file)}: the defaults apply")
    else:
        _, problems = read_settings(file, actions=[action.id for action in ACTIONS])
        state: State = "problem" if problems else "fine"
        hint = "list them with: placetui config validate" if problems else ""
        yield Finding(state, f"{_home(file)}: {count(len(problems), 'problem')}", hint)
    yield _directory(locations.state_dir())


def _directory(directory: Path) -> Finding:
    there = next((one for one in (directory, *directory.parents) if one.exists()), directory)
    if not os.access(there, os.W_OK | os.X_OK):
        hint = "placetui stores its state and logs there; set XDG_STATE_HOME to a writable directory"
        return Finding("problem", f"{_home(directory)} is not writable", hint)
    if there == directory and stat.S_IMODE(there.stat().st_mode) & 0o077:
        return Finding("warning", f"{_home(directory)} is accessible to others", f"chmod 700 {_home(directory)}")
    return Finding("fine", f"{_home(directory)}: state and logs")


def themes() -> Iterator[Finding]:
    """The shipped themes and the user's."""
    from placetui.tui.themes import load_themes

    loaded, problems = load_themes(locations.themes_dir())
    if problems:
        text = f"{count(len(loaded), 'theme')}, and {count(len(problems), 'problem')}"
        yield Finding("problem", text, "list them with: placetui config validate")
    else:
        yield Finding("fine", count(len(loaded), "theme"))


class ChildProbes:
    """Asks Ray and NVML, in child processes: they are never loaded into one that prints."""

    def __init__(self, address: str, waiting: WaitingLine) -> None:
        self._address = address
        self._waiting = waiting
        self._bridges = ExitStack()

    def __enter__(self) -> ChildProbes:
        self._ray = self._ask(RUNTIME, "versions", RAY_PATIENCE, address=self._address)
        self._nvml = self._ask(NVML_CHILD, "driver", NVML_PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._bridges.close()

    def _ask(self, module: str, kind: str, timeout: float, **body: Any) -> Future[Message]:
        bridge = self._bridges.enter_context(Bridge(locations.logs_dir(), child_command(module)))
        try:
            bridge.start()
        except OSError as problem:
            failed: Future[Message] = Future()
            failed.set_exception(BridgeError(f"cannot start a child process: {problem.strerror or problem}"))
            return failed
        return bridge.request(kind, timeout=timeout, **body)

    def _answer(self, asked: Future[Message]) -> Mapping[str, Any]:
        try:
            while True:
                try:
                    return asked.result(_POLL).body
                except (FutureTimeout, TimeoutError):
                    if asked.done():
                        return {"problem": "no answer in time"}
                    self._waiting.update()
        except (BridgeError, CancelledError) as problem:
            return {"problem": str(problem)}
        finally:
            self._waiting.clear()

    def about_ray(self) -> Iterator[Finding]:
        found = self._answer(self._ray)
        version = installed("ray")
        if version is None:
            yield Finding("problem", "Ray is not installed", INSTALL_RAY)
            return
        yield Finding("fine", f"Ray {found.get('ray') or version}")
        if notice := found.get("notice"):
            yield Finding("warning", str(notice), "if something does not work, try a newer placetui")
        if cluster := found.get("cluster"):
            size = f"{count(cluster['nodes'], 'node')}, {count(cluster['gpus'], 'GPU')}"
            runs = f"Ray {cluster['ray'] or '?'} on Python {cluster['python'] or '?'}"
            yield Finding("fine", f"the cluster at {cluster['address']} has {size} and runs {runs}")
        if problem := found.get("problem"):
            state: State = "fine" if found.get("looked_for") else "problem"
            hint = str(found.get("hint") or "planning and checking work without a cluster; launching does not")
            yield Finding(state, str(problem), hint)

    def about_gpus(self) -> Iterator[Finding]:
        found = self._answer(self._nvml)
        if problem := found.get("problem"):
            hint = "only needed to read the GPUs of this machine"
            yield Finding("warning", str(problem), hint)
            return
        names = found["gpus"]
        kinds = ", ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names)) or "no GPU"
        yield Finding("fine", f"{kinds}; driver {found['driver']}, NVML {found['nvml']}")


def _home(path: Path) -> str:
    """Without the name of the user: reports are shared."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except (ValueError, RuntimeError):
        return str(path)

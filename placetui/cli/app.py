"""`placetui [FILE]`: the dashboard."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from placetui import locations, resources, state
from placetui.cli import exits
from placetui.cli.cluster import RUNTIME, add_address, python_path, remove_old_logs
from placetui.cli.options import CommandParser, DocumentError, add_plan_options, open_plan, print_problems, wishes_of
from placetui.cli.output import speaks_utf8
from placetui.document.settings_file import AppSettings, read_settings
from placetui.observe.operations import LOCAL

if TYPE_CHECKING:
    from placetui.bridge.client import Bridge
    from placetui.observe.playback import Recording
    from placetui.observe.ports import ClusterSource
    from placetui.placement.plan import Plan
    from placetui.placement.problems import Problem
    from placetui.tui.app import Options
    from placetui.tui.screens.picker import Choice


AFTER_LOSS = "another one is started; what was begun shows in the list of jobs, and can be stopped there"
"""What to do when the process that does things has ended in the middle of one."""


def run(arguments: Sequence[str]) -> int:
    """Run the dashboard."""
    args = _parser().parse_args(arguments)
    recording = None
    if args.replay:
        from placetui.observe.playback import Recording, RecordingError

        try:
            recording = Recording(args.replay)
        except RecordingError as error:
            print(f"placetui: {error}", file=sys.stderr)
            return exits.USAGE
    # Textual is slow to import: what can be wrong is said before.
    from placetui.tui.session import Session

    try:
        wishes = wishes_of(args)
        new = bool(args.file) and args.write and not os.path.lexists(args.file)
        session = Session.open(args.file, wishes) if args.file and not new else None
    except DocumentError as error:
        print_problems(error.problems)
        return exits.USAGE
    if not (os.environ.get("TEXTUAL_DRIVER") or (sys.stdin.isatty() and sys.stdout.isatty())):
        print("placetui: the dashboard needs a terminal", file=sys.stderr)
        print("  hint: `placetui show FILE` prints the grid, `placetui check FILE` its problems", file=sys.stderr)
        return exits.USAGE
    if os.environ.get("TERM") in ("dumb", "unknown") and not os.environ.get("TEXTUAL_DRIVER"):
        print(f"placetui: TERM is `{os.environ['TERM']}`, a terminal without a screen", file=sys.stderr)
        print("  hint: set TERM=xterm-256color if yours has one, or use `placetui show FILE`", file=sys.stderr)
        return exits.USAGE
    if args.theme and (wrong := _wrong_theme(args.theme)):
        print(f"placetui: {wrong}", file=sys.stderr)
        return exits.USAGE
    if args.file and not new:
        state.update(lambda remembered: remembered.opened(args.file))
    from placetui.tui.actions import ACTIONS

    settings, problems = read_settings(locations.config_file(), actions=[action.id for action in ACTIONS])
    bridge = _bridge() if args.demo else None
    cluster = None if bridge or recording else _Cluster(args)
    from placetui.tui.app import Dashboard

    options = _options(args, settings, problems, args.file if new else "", _source_for(bridge, recording))
    if cluster is not None:
        options = replace(options, **cluster.options())
        if not args.file and args.address != LOCAL:
            options = replace(options, picture=cluster.look_around)
    elif recording is not None and not args.file:
        options = replace(options, picture=partial(_replayed, recording))
    app = Dashboard(session, options)
    try:
        code = app.run(mouse=settings.mouse and not args.no_mouse)
    finally:
        if bridge is not None:
            bridge.close()
        if cluster is not None and not app.hurried:
            cluster.close()
    return exits.FINE if code is None else code


def check(args: argparse.Namespace) -> int | None:
    """Say what would keep the dashboard from opening; the exit code if something would."""
    try:
        wishes = wishes_of(args)
        if args.file and not (args.write and not os.path.lexists(args.file)):
            open_plan(args.file, wishes)
    except DocumentError as error:
        print_problems(error.problems)
        return exits.USAGE
    if args.replay:
        from placetui.observe.playback import Recording, RecordingError

        try:
            Recording(args.replay)
        except RecordingError as error:
            print(f"placetui: {error}", file=sys.stderr)
            return exits.USAGE
    if args.theme and (wrong := _wrong_theme(args.theme)):
        print(f"placetui: {wrong}", file=sys.stderr)
        return exits.USAGE
    return None


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser("placetui", "See which process sits on which GPU.")
    add_options(parser)
    return parser


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add everything that the dashboard understands."""
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a placement file; without it, the cluster as it is, or else a file to choose",
    )
    add_plan_options(parser)
    add_address(parser, local=True)
    parser.add_argument("--no-sample", action="store_true", help="start no samplers on the cluster's nodes")
    parser.add_argument(
        "--write", action="store_true", help="edits may be saved to FILE, a missing FILE is made, jobs may be changed"
    )
    parser.add_argument("--theme", metavar="NAME", help="colours; ctrl+p lists the themes")
    parser.add_argument("--ascii", action="store_true", help="print nothing but ASCII")
    parser.add_argument("--no-color", action="store_true", help="use no colours")
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    behind = parser.add_mutually_exclusive_group()
    behind.add_argument("--demo", action="store_true", help="show a simulated cluster behind the plan")
    behind.add_argument("--replay", metavar="F", help="show what `placetui top --record F` has seen behind the plan")


def _options(
    args: argparse.Namespace,
    settings: AppSettings,
    problems: Sequence[Problem],
    new: str,
    source_for: Callable[[Plan], ClusterSource] | None,
) -> Options:
    """The command line before the settings, the settings before what is remembered."""
    from placetui.observe.alerts import Thresholds
    from placetui.tui.app import Options

    remembered = state.load()
    theme = args.theme or (settings.theme if "theme" in settings.given else remembered.theme or settings.theme)
    density = settings.density if "density" in settings.given else remembered.density or settings.density
    plain = args.ascii or (not speaks_utf8() if settings.ascii is None else settings.ascii)
    return Options(
        theme=theme,
        density=density,
        ascii=plain,
        color=not (args.no_color or os.environ.get("NO_COLOR")),
        keys=settings.keys,
        interval=settings.interval,
        thresholds=Thresholds(**settings.alerts),
        user_themes=locations.themes_dir(),
        choices=tuple(_choices(remembered.recent)),
        notices=problems,
        remember=_remember,
        write=args.write,
        new=new,
        source_for=source_for,
    )


def _wrong_theme(name: str) -> str:
    """What is wrong with a theme that was asked for; empty if it is there."""
    from difflib import get_close_matches

    from placetui.tui.themes import load_themes, theme_names

    names = theme_names(load_themes(locations.themes_dir())[0])
    near = get_close_matches(name, names, 1)
    hint = f"did you mean `{near[0]}`?" if near else f"the themes are {', '.join(names)}"
    return "" if name in names else f"there is no theme `{name}`\n  hint: {hint}"


def _source_for(bridge: Bridge | None, recording: Recording | None) -> Callable[[Plan], ClusterSource] | None:
    """What is behind a plan."""
    if recording is not None:
        from placetui.observe.replay import Replays

        return Replays(recording)
    if bridge is not None:
        from placetui.bridge.source import simulated_source

        return partial(simulated_source, bridge)
    return None


def _replayed(recording: Recording) -> ClusterSource:
    """A recording, shown as it is."""
    from placetui.observe.replay import ReplaySource

    return ReplaySource(recording)


class _Cluster:
    """A Ray cluster: one process looks at it, another does things. Each can be lost without the other."""

    def __init__(self, args: argparse.Namespace) -> None:
        from placetui.bridge.child import WORK_GRACE
        from placetui.bridge.client import Bridge
        from placetui.bridge.process import child_command

        self._args = args
        self._looking = Bridge(locations.logs_dir(), child_command(RUNTIME))
        self._doing = Bridge(locations.logs_dir(), child_command(RUNTIME), patience=WORK_GRACE)

    def options(self) -> dict[str, Any]:
        """What the dashboard needs of it."""
        from placetui.bridge.operations import BridgeOperations
        from placetui.observe.operations import Operations, Refusing

        operations: Operations = BridgeOperations(self._doing, AFTER_LOSS)
        if not self._args.write:
            operations = Refusing(operations, "started without --write")
        return {
            "cluster": self._look,
            "operations": operations,
            "address": self._args.address,
            "launch_with": {"python_path": python_path()},
            "child_log": lambda: self._doing.log or self._looking.log,
        }

    def _look(self, plan: Plan, address: str, job: str) -> ClusterSource:
        from placetui.bridge.source import ray_source

        sample = not self._args.no_sample
        return ray_source(self._looking, address, job=job, mode=plan.mode, nodes=len(plan.nodes), sample=sample)

    def look_around(self) -> ClusterSource:
        """The cluster as it is, without a plan."""
        from placetui.bridge.source import ray_source

        return ray_source(self._looking, self._args.address, sample=not self._args.no_sample)

    def close(self) -> None:
        """End the processes; what they had begun is taken back."""
        self._looking.close()
        self._doing.close()
        remove_old_logs()


def _bridge() -> Bridge:
    from placetui.bridge.client import Bridge

    return Bridge(locations.logs_dir())


def _remember(key: str, value: Any) -> None:
    """Keep something for the next start."""
    if key == "recent":
        state.update(lambda remembered: remembered.opened(value))
    else:
        state.update(lambda remembered: replace(remembered, **{key: value}))


def _choices(recent: Sequence[str]) -> Iterator[Choice]:
    """Files to offer: recent ones that are still there, then the samples."""
    from placetui.tui.screens.picker import Choice

    for path in recent:
        if os.path.isfile(path):
            yield Choice(path, _about(path), recent=True)
    for sample in resources.samples():
        if not sample.name.startswith("broken-") and str(sample) not in recent:
            yield Choice(str(sample), _about(str(sample)))


def _about(path: str) -> str:
    """The first comment of a file, which says what it shows."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            first = file.readline(200).strip()
    except OSError:
        return ""
    return first.lstrip("# ") if first.startswith("#") else ""

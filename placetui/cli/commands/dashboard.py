"""`placetui [FILE]`: the dashboard."""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from placetui import locations, resources
from placetui.bridge.child import WORK_GRACE
from placetui.bridge.client import Bridge
from placetui.bridge.operations import BridgeOperations
from placetui.bridge.process import child_command
from placetui.bridge.source import ray_source, simulated_source
from placetui.cli import exits
from placetui.cli.cluster import RUNTIME, add_address, python_path, remove_old_logs
from placetui.cli.options import add_plan_options, open_plan, plan_options, unreadable
from placetui.cli.output import speaks_utf8
from placetui.cli.parser import without_collecting
from placetui.document import DocumentError
from placetui.observe.following import PlanOutline
from placetui.observe.operations import LOCAL, Operations, Refusing
from placetui.observe.ports import WatchOptions
from placetui.placement.wording import did_you_mean
from placetui.settings import AppSettings, read_settings, state

if TYPE_CHECKING:
    from placetui.observe.ports import ClusterSource
    from placetui.observe.recording.reader import Recording
    from placetui.placement.plan import Plan
    from placetui.placement.problems import Problem
    from placetui.tui.app import Choice, Options
    from placetui.tui.options import ChoiceKind


MOST_READ = 16_384
"""Characters of a file that are read to tell what it is."""

AFTER_LOSS = "a new one has been started; a job that was being launched is in the list of jobs and can be stopped there"
"""The hint when the process that runs operations has died during one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="a placement file; default: the running cluster, else a start screen"
    )
    add_options(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add everything but FILE."""
    add_plan_options(parser)
    add_address(parser, local=True)
    parser.add_argument("--no-sample", action="store_true", help="start no samplers on the nodes of the cluster")
    parser.add_argument(
        "--write", action="store_true", help="allow saving edits to FILE, creating it, and changing jobs"
    )
    parser.add_argument("--theme", metavar="NAME", help="colour theme; ctrl+p lists them")
    parser.add_argument("--ascii", action="store_true", help="draw only ASCII characters")
    parser.add_argument("--no-color", action="store_true", help="draw without colours")
    parser.add_argument("--reduced-motion", action="store_true", help="no animation and no highlights of changes")
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    behind = parser.add_mutually_exclusive_group()
    behind.add_argument("--demo", action="store_true", help="show a simulated cluster")
    behind.add_argument("--replay", metavar="F", help="show a recording made with placetui top --record F")


def run(args: argparse.Namespace) -> int:
    recording = open_recording(args)
    if args.demo and not args.file:
        args.file = demo_file()
    # Textual is slow to import: what can be wrong is reported before.
    from placetui.tui.session import Session

    options = replace(plan_options(args), letters=read_settings(locations.config_file())[0].role_letters)
    new = _is_new(args)
    try:
        session = Session.open(args.file, options) if args.file and not new else None
    except DocumentError as error:
        raise unreadable(error) from None
    if not os.environ.get("TEXTUAL_DRIVER"):
        _require_screen()
    check_theme(args)
    if session is not None:
        state.update(lambda remembered: remembered.opened(args.file))
    from placetui.tui.actions import ACTIONS

    settings, problems = read_settings(locations.config_file(), actions=[action.id for action in ACTIONS])
    bridge = Bridge(locations.logs_dir())  # nothing is started before it is needed
    cluster = None if args.demo or recording else _Cluster(args)
    with without_collecting():
        from placetui.tui.app import Dashboard

        gc.freeze()  # what is loaded now stays
    demo = partial(simulated_source, bridge)
    if recording is not None:
        from placetui.observe.recording.replay import Replays, ReplaySource

        behind = {"source_for": Replays(recording), "picture": partial(ReplaySource, recording)}
    elif cluster is not None:
        behind = {**cluster.options(), "picture": cluster.look_around if args.address != LOCAL else None}
    else:
        behind = {"source_for": demo}
    if args.file:
        behind["picture"] = None
    new_file = args.file if new else ""
    more = {**behind, "new": new_file, "plan_request": options, "demo": demo, "demo_file": demo_file()}
    app = Dashboard(session, _options(args, settings, problems, **more))
    try:
        code = app.run(mouse=settings.mouse and not args.no_mouse)
    finally:
        bridge.close()
        if cluster is not None and not app.cluster.launches.hurried:
            cluster.close()
    if app.crash is not None:
        raise stopped(app.crash)
    return exits.FINE if code is None else code


def stopped(error: Exception) -> exits.Abort:
    """Say that a bug ended the dashboard; where it is goes to a file."""
    import traceback

    where = "".join(traceback.format_exception(error))
    try:
        path = locations.make_private(locations.logs_dir()) / "dashboard.log"
        locations.write_private(path, where)
    except OSError:
        said = where
    else:
        said = f"the details are in {path}"
    message = f"the dashboard stopped because of a bug: {type(error).__name__}: {error}"
    hint = f"unsaved changes are kept: open the file again and press ctrl+r; {said}"
    return exits.Abort(exits.PROBLEMS, message, hint)


def check(args: argparse.Namespace) -> None:
    """Abort if the dashboard would not open."""
    options = plan_options(args)
    if args.file and not _is_new(args):
        open_plan(args.file, options)
    open_recording(args)
    check_theme(args)


def demo_file() -> str:
    """The sample that a demonstration without a file shows."""
    return str(resources.folder("sample_configs") / "collocated.yaml")


def _is_new(args: argparse.Namespace) -> bool:
    return bool(args.file) and args.write and not os.path.lexists(args.file)


def open_recording(args: argparse.Namespace) -> Recording | None:
    """The recording that --replay names; aborts if it is none."""
    if not args.replay:
        return None
    from placetui.observe.recording.reader import Recording, RecordingError

    try:
        return Recording(args.replay)
    except RecordingError as error:
        raise exits.Abort(exits.USAGE, str(error)) from None


def _require_screen() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = "`placetui show FILE` prints the grid, `placetui check FILE` its problems"
        raise exits.Abort(exits.USAGE, "the dashboard needs a terminal", hint)
    if os.environ.get("TERM") in ("dumb", "unknown"):
        hint = "set TERM=xterm-256color if yours has one, or use `placetui show FILE`"
        raise exits.Abort(exits.USAGE, f"TERM is `{os.environ['TERM']}`, a terminal without a screen", hint)


def check_theme(args: argparse.Namespace) -> None:
    """Abort if --theme names none."""
    if not args.theme:
        return
    from placetui.tui.themes import load_themes, theme_names

    names = theme_names(load_themes(locations.themes_dir())[0])
    if args.theme not in names:
        hint = did_you_mean(args.theme, names) or f"the themes are {', '.join(names)}"
        raise exits.Abort(exits.USAGE, f"there is no theme `{args.theme}`", hint)


def _options(args: argparse.Namespace, settings: AppSettings, problems: Sequence[Problem], **more: Any) -> Options:
    """The command line before the settings, the settings before what is remembered."""
    from placetui.observe.alerts import Thresholds
    from placetui.tui.app import Options

    remembered = state.load()
    theme = args.theme or (settings.theme if "theme" in settings.given else remembered.theme or settings.theme)
    plain = args.ascii or (not speaks_utf8() if settings.ascii is None else settings.ascii)
    return Options(
        theme=theme,
        density=settings.density,
        role_colors=settings.role_colors,
        ascii=plain,
        color=not (args.no_color or os.environ.get("NO_COLOR")),
        motion=settings.motion and not args.reduced_motion,
        keys=settings.keys,
        interval=settings.interval,
        thresholds=Thresholds(**settings.alerts),
        user_themes=locations.themes_dir(),
        choices=tuple(choices(remembered.recent)),
        notices=problems,
        remember=_remember,
        write=args.write,
        **more,
    )


class _Cluster:
    """A Ray cluster: one process watches it, another runs operations. Each can be lost without the other."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._looking = Bridge(locations.logs_dir(), child_command(RUNTIME))
        self._doing = Bridge(locations.logs_dir(), child_command(RUNTIME), patience=WORK_GRACE)

    def options(self) -> dict[str, Any]:
        operations: Operations = BridgeOperations(self._doing, AFTER_LOSS)
        if not self._args.write:
            operations = Refusing(operations, "started without --write")
        return {
            "cluster": self._look,
            "operations": operations,
            "address": self._args.address,
            "launch_with": {"python_path": python_path()},
            "picture_of": self.look_around,
            "child_log": lambda: self._doing.log or self._looking.log,
        }

    def _look(self, plan: Plan, address: str, job: str) -> ClusterSource:
        outline = PlanOutline.of(plan).to_dict()
        sample = not self._args.no_sample
        return ray_source(self._looking, WatchOptions(address, job, plan.mode, len(plan.nodes), sample, plan=outline))

    def look_around(self, address: str = "") -> ClusterSource:
        """The cluster as it is, without a plan; by default the one that the command line names."""
        options = WatchOptions(address or self._args.address, sample=not self._args.no_sample)
        return ray_source(self._looking, options)

    def close(self) -> None:
        """Stop the processes; unfinished launches are rolled back."""
        self._looking.close()
        self._doing.close()
        remove_old_logs()


def _remember(key: str, value: Any) -> None:
    if key == "recent":
        state.update(lambda remembered: remembered.opened(value))
    else:
        state.update(lambda remembered: replace(remembered, **{key: value}))


def choices(recent: Sequence[str] = ()) -> Iterator[Choice]:
    """Files to offer: recent ones that are still there, then the samples."""
    from placetui.tui.app import Choice

    for path in recent:
        if os.path.isfile(path):
            yield Choice(path, *_about(path, "recent"))
    for sample in resources.samples():
        if not sample.name.startswith("broken-") and str(sample) not in recent:
            yield Choice(str(sample), *_about(str(sample), "sample"))


def _about(path: str, kind: ChoiceKind) -> tuple[str, ChoiceKind, str]:
    """The first comment of a file, which says what it shows; and its framework, as its sections tell it."""
    from placetui.frameworks.registry import frameworks

    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(MOST_READ)
    except OSError:
        return "", kind, ""
    lines = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    about = " ".join(line.lstrip("# ").rstrip() for line in lines)
    sections = set(re.findall(r"^(\w+):", text, re.MULTILINE))
    framework = next((one.title for one in frameworks() if one.sections and one.sections[0] in sections), "")
    return about.partition(". ")[0].rstrip("."), kind, framework

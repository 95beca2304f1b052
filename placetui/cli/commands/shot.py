"""`placetui shot`: the whole dashboard as a picture."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from placetui import locations
from placetui.cli import exits
from placetui.cli.commands import dashboard
from placetui.cli.options import add_plan_options, has_errors, plan_options, print_problems, unreadable
from placetui.document import DocumentError

if TYPE_CHECKING:
    from placetui.observe.model import Observation
    from placetui.observe.recording.reader import Recording
    from placetui.placement.plan import Plan

SIZE = (120, 36)
LEAST, MOST = (20, 5), (500, 200)
"""Columns and lines."""

START = 1_767_268_800.0
"""When the simulated job starts, seconds since the epoch."""

PLAYED = 120
"""Observations that are played before the picture is taken: as much history as there is room for."""

AFTERMATH = 14
"""Seconds for which a rank has been dead in a picture: what happened has different ages then."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Draw the whole dashboard as an SVG picture. The same input gives the same bytes."
    parser.add_argument("file", nargs="?", metavar="FILE", help="a placement file; optional with --demo")
    add_plan_options(parser)
    parser.add_argument("--size", type=_size, default=SIZE, metavar="WxH", help="columns x lines; default 120x36")
    parser.add_argument("--theme", metavar="NAME", help="colour theme; default: the dashboard's own")
    parser.add_argument("--ascii", action="store_true", help="draw only ASCII characters")
    parser.add_argument("--no-color", action="store_true", help="draw without colours")
    parser.add_argument("--press", metavar="KEY,...", default="", help="keys to press first, as in right,down,d")
    behind = parser.add_mutually_exclusive_group()
    behind.add_argument("--demo", action="store_true", help="with a simulated cluster")
    behind.add_argument("--replay", metavar="F", help="show the end of a recording made with placetui top --record F")
    parser.add_argument("-o", "--output", metavar="X.svg", help="default: standard output")


def run(args: argparse.Namespace) -> int:
    recording = dashboard.open_recording(args)
    dashboard.check_theme(args)
    file = args.file or (dashboard.demo_file() if args.demo else None)
    if file is None and recording is None:
        raise exits.UsageError("FILE is missing")
    from placetui.observe.alerts import Thresholds
    from placetui.settings import AppSettings
    from placetui.tui.app import Dashboard, Options
    from placetui.tui.session import Session
    from placetui.tui.shot import PlayedSource, take_picture

    options = plan_options(args)
    try:
        session = None if file is None else Session.open(file, options)
    except DocumentError as error:
        raise unreadable(error) from None
    observations: Iterable[Observation] = ()
    source = None
    if recording is not None:
        source, observations = PlayedSource("replay"), list(_last(recording))
    elif args.demo and session is not None:
        source, observations = PlayedSource("simulated"), _simulated(session.plan)
    app_options = Options(
        theme=args.theme,
        ascii=args.ascii,
        color=not args.no_color,
        motion=False,
        thresholds=Thresholds(**AppSettings().alerts),
        user_themes=locations.themes_dir(),
        plan_request=options,
        choices=tuple(dashboard.choices()),
    )
    if source is not None:
        played = source
        app_options = replace(
            app_options, source_for=lambda _plan: played, picture=(lambda: played) if session is None else None
        )
    app = Dashboard(session, app_options)
    keys = [key for key in args.press.split(",") if key]
    svg = asyncio.run(take_picture(app, args.size, source=source, observations=observations, keys=keys))
    _write(svg, args.output)
    problems = () if session is None else session.problems
    print_problems(problems)
    return exits.PROBLEMS if has_errors(problems) else exits.FINE


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,4})[x×](\d{1,4})", text)
    width, height = (int(match[1]), int(match[2])) if match else (0, 0)
    if not (LEAST[0] <= width <= MOST[0] and LEAST[1] <= height <= MOST[1]):
        least, most = ("x".join(map(str, one)) for one in (LEAST, MOST))
        raise argparse.ArgumentTypeError(f"expected columns x lines from {least} to {most}, not `{text}`")
    return width, height


def _simulated(plan: Plan) -> Iterator[Observation]:
    """A job of the plan until a rank has been dead for a while: a picture of trouble says more."""
    from placetui.observe.simulation import Simulation, SimulationOptions, layout_of

    simulation = Simulation(layout_of(plan), SimulationOptions(seed=9, node_stale_every=None, story=True))
    dead = 0
    for second in range(PLAYED):
        observation = simulation.step(START + second)
        yield observation
        dead = dead + 1 if any(one.state == "dead" for one in observation.all_ranks) else 0
        if dead > AFTERMATH:
            return


def _last(recording: Recording) -> Iterator[Observation]:
    recording.scan()
    count = len(recording.times)
    if not count:
        raise exits.Abort(exits.USAGE, f"{recording.path}: {recording.problem or 'nothing was recorded'}")
    for number in range(max(0, count - PLAYED), count):
        yield recording.observation(number)


def _write(svg: str, path: str | None) -> None:
    if path is None or path == "-":
        sys.stdout.write(svg)
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(svg)
    except OSError as error:
        raise exits.Abort(exits.USAGE, f"{path}: {error.strerror or error}") from None

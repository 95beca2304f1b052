"""`placetui top`: the memory of the GPUs, and who is on them."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from placetui.cli import exits
from placetui.cli.cluster import Failed, add_address, print_failure, refuse_local
from placetui.cli.feed import Feed
from placetui.cli.options import DocumentError, add_plan_options, command_parser, open_plan, print_problems, wishes_of
from placetui.cli.output import speaks_utf8
from placetui.cli.screen import draw, full_screen, terminal_size
from placetui.cli.top_drift import DoesNotFit, NoSuchNode, Opened, Reality
from placetui.cli.top_source import open_source
from placetui.cli.top_text import Look, lines
from placetui.grid.drift_text import drift_lines
from placetui.observe.operations import AUTO

if TYPE_CHECKING:
    from placetui.observe.drift import Drift
    from placetui.observe.model import Observation
    from placetui.observe.ports import ClusterSource

PATIENCE = 10.0
"""Seconds until `--once` gives up."""

RAY_PATIENCE = 30.0
"""The same, where samplers have to be started first."""

_QUICK = 0.1
"""Seconds between looks until there is something to see."""

_QUIT = frozenset(b"qQ")


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    args = _parse(arguments)
    opened = None
    if args.file:
        try:
            wishes = wishes_of(args)
            document, plan = open_plan(args.file, wishes)
        except DocumentError as error:
            print_problems(error.problems)
            return exits.USAGE
        # On the nodes that are really there it may look otherwise.
        assumed = plan.topology_source == "assumed" and not args.no_ray
        if not assumed:
            print_problems(plan.problems)
            if any(problem.blocking for problem in plan.problems):
                return exits.PROBLEMS
        opened = Opened(document, wishes, plan)
    try:
        with open_source(args, opened.plan if opened else None, _QUICK if args.once else args.interval) as source:
            return _watch(source, args, opened)
    except Failed as problem:
        print_failure("top", problem)
        return exits.CLUSTER
    except NoSuchNode as problem:
        print(f"placetui top: {problem}", file=sys.stderr)
        return exits.USAGE
    except DoesNotFit as problem:
        print_problems(problem.problems)
        return exits.PROBLEMS


def _watch(source: ClusterSource, args: argparse.Namespace, opened: Opened | None) -> int:
    recorded = None
    if args.record:
        from placetui.observe.recording import Recorded, Recorder

        try:
            source = recorded = Recorded(source, Recorder(args.record))
        except OSError as problem:
            print(f"placetui top: {args.record}: {problem.strerror or problem}", file=sys.stderr)
            return exits.USAGE
    try:
        with Feed(source) as feed:
            return _show(feed, args, None if opened is None else Reality(opened))
    finally:
        if recorded is not None and recorded.problem:
            print(f"placetui top: {args.record}: {recorded.problem}", file=sys.stderr)


def _show(feed: Feed, args: argparse.Namespace, reality: Reality | None) -> int:
    if args.once:
        return _print_once(feed, reality, args.json)
    if args.json or not sys.stdout.isatty():
        return _stream(feed, reality, args.interval, args.json)
    return _screen(feed, reality, args.interval)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = command_parser(
        "top", "Show the GPUs of a Ray cluster, or of this node: memory, load, and who is on them. q or Ctrl-C ends it."
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="a placement file, to say what differs from it")
    add_plan_options(parser)
    add_address(parser, local=False)
    parser.add_argument("--no-ray", action="store_true", help="only this node, read directly")
    parser.add_argument("--job", metavar="NAME", help="the job to watch; by default that of FILE")
    parser.add_argument("--no-sample", action="store_true", help="start no samplers: only what Ray itself knows")
    parser.add_argument(
        "--once",
        action="store_true",
        help="print once; exit 3 if there is nothing to read, 1 if something differs from FILE",
    )
    parser.add_argument("--json", action="store_true", help="print JSON: one object per line, or one with --once")
    parser.add_argument("--interval", type=_seconds, default=1.0, metavar="S", help="seconds between looks; default 1")
    parser.add_argument("--record", metavar="F", help="also write what is seen to a new file, for --replay")
    args = parser.parse_args(arguments)
    refuse_local(parser, args.address)
    if args.no_ray and args.address != AUTO:
        parser.error("--no-ray looks at this node alone: it does not go with --address")
    return args


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if 0.1 <= seconds <= 3600:
        return seconds
    raise argparse.ArgumentTypeError(f"seconds from 0.1 to 3600, not `{text}`")


def _print_once(feed: Feed, reality: Reality | None, as_json: bool) -> int:
    deadline = time.monotonic() + (RAY_PATIENCE if feed.source_name == "ray" else PATIENCE)
    while (seen := feed.latest()) is None and not _is_over(feed) and time.monotonic() < deadline:
        feed.wait(deadline - time.monotonic())
    if seen is None:
        said = "no node of the cluster has a GPU" if feed.is_empty else "the GPUs do not answer"
        print(f"placetui top: {feed.status.message or said}", file=sys.stderr)
        return exits.CLUSTER
    # On a cluster there may be nodes without GPUs.
    failed = [node for node in seen.nodes if node.stale or (not node.devices and seen.source == "nvml")]
    seen, drifts = _compare(seen, reality)
    if as_json:
        print(json.dumps(_as_dict(seen, drifts), indent=2))
    elif any(node.devices for node in seen.nodes):
        _print(seen, drifts, reality)
    for node in failed:
        print(f"placetui top: {node.name}: {node.error or 'there is no GPU'}", file=sys.stderr)
    # On a cluster a node of the plan that is silent is drift itself.
    if drifts and seen.source == "ray":
        return exits.PROBLEMS
    if failed:
        return exits.CLUSTER
    return exits.PROBLEMS if drifts else exits.FINE


def _is_over(feed: Feed) -> bool:
    """Whether there is no use in waiting."""
    return feed.status.link == "failed" or (feed.source_name == "ray" and feed.is_empty)


def _stream(feed: Feed, reality: Reality | None, interval: float, as_json: bool) -> int:
    """One after the other, until interrupted."""
    printed = None
    said = ""
    while feed.status.link != "failed":
        feed.wait(max(1.0, interval))
        seen = feed.latest()
        if feed.status.message != said:
            said = feed.status.message
            if said:
                print(f"placetui top: {said}", file=sys.stderr)
        if seen is None or seen == printed:
            continue
        first, printed = printed is None, seen
        seen, drifts = _compare(seen, reality)
        if as_json:
            print(json.dumps(_as_dict(seen, drifts)), flush=True)
        else:
            if not first:
                print()
            _print(seen, drifts, reality)
            sys.stdout.flush()
    print(f"placetui top: {feed.status.message}", file=sys.stderr)
    return exits.CLUSTER


def _screen(feed: Feed, reality: Reality | None, interval: float) -> int:
    """In place, until `q` or an interrupt."""
    keyboard = [sys.stdin.fileno()] if sys.stdin.isatty() else []
    plain, color = not speaks_utf8(), _wants_color()
    with full_screen(feed.wake):
        while True:
            for descriptor in feed.wait(max(1.0, interval), keyboard):
                keys = os.read(descriptor, 64)
                if not keys:
                    # The keyboard has gone: nobody can press a key any more.
                    keyboard = []
                if _QUIT.intersection(keys):
                    return exits.FINE
            seen = feed.latest()
            look = Look(terminal_size()[0], plain, color)
            shown = [look.fit(feed.status.message or "looking for GPUs ...")]
            if seen is not None:
                shown = [*lines(seen, look), *_drift_lines(_compare(seen, reality)[1], reality, look)]
            draw([*shown, "", look.paint(look.fit("q quits"), "muted")])


def _compare(seen: Observation, reality: Reality | None) -> tuple[Observation, Sequence[Drift]]:
    return (seen, ()) if reality is None else reality.compare(seen)


def _print(seen: Observation, drifts: Sequence[Drift], reality: Reality | None) -> None:
    look = Look(ascii=not speaks_utf8())
    for line in [*lines(seen, look), *_drift_lines(drifts, reality, look)]:
        print(line)


def _drift_lines(drifts: Sequence[Drift], reality: Reality | None, look: Look) -> list[str]:
    if reality is None:
        return []
    if not drifts:
        return ["", look.paint(look.fit(f"no drift from {reality.plan.source}"), "muted")]
    found = drift_lines(drifts, look.width, ascii=look.ascii)
    return ["", *(look.paint(line, "warning") for line in found)]


def _as_dict(seen: Observation, drifts: Sequence[Drift]) -> dict[str, object]:
    return {**seen.to_dict(), "drift": [one.to_dict() for one in drifts]}


def _wants_color() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

"""`placetui top`: the memory of the GPUs, and who is on them."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence

from placetui import locations
from placetui.bridge.client import Bridge
from placetui.bridge.process import NVML_CHILD, child_command
from placetui.bridge.source import nvml_source
from placetui.cli import exits
from placetui.cli.feed import Feed
from placetui.cli.options import command_parser
from placetui.cli.screen import draw, full_screen, terminal_size
from placetui.cli.top_text import Look, lines
from placetui.observe.model import Observation

PATIENCE = 10.0
"""Seconds until `--once` gives up."""

_QUICK = 0.1
"""Seconds between looks until there is something to see."""

_QUIT = frozenset(b"qQ")


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    args = _parse(arguments)
    if not args.no_ray:
        print("note: without Ray for now: these are the GPUs of this node (as with --no-ray)", file=sys.stderr)
    bridge = Bridge(locations.logs_dir(), child_command(NVML_CHILD))
    with bridge, Feed(nvml_source(bridge, _QUICK if args.once else args.interval)) as feed:
        if args.once:
            return _print_once(feed, args.json)
        if args.json or not sys.stdout.isatty():
            return _stream(feed, args.interval, args.json)
        return _screen(feed, args.interval)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = command_parser("top", "Show the memory, load and processes of the GPUs of this node; q or Ctrl-C ends it.")
    parser.add_argument("--no-ray", action="store_true", help="only this node, read directly")
    parser.add_argument("--once", action="store_true", help="print once; exit 3 if there is nothing to read")
    parser.add_argument("--json", action="store_true", help="print JSON: one object per line, or one with --once")
    parser.add_argument("--interval", type=_seconds, default=1.0, metavar="S", help="seconds between looks; default 1")
    return parser.parse_args(arguments)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if 0.1 <= seconds <= 3600:
        return seconds
    raise argparse.ArgumentTypeError(f"seconds from 0.1 to 3600, not `{text}`")


def _print_once(feed: Feed, as_json: bool) -> int:
    deadline = time.monotonic() + PATIENCE
    while (seen := feed.latest()) is None and feed.status.link != "failed" and time.monotonic() < deadline:
        feed.wait(deadline - time.monotonic())
    if seen is None:
        print(f"placetui top: {feed.status.message or 'the GPUs do not answer'}", file=sys.stderr)
        return exits.CLUSTER
    failed = [node for node in seen.nodes if node.stale or not node.devices]
    if as_json:
        print(json.dumps(_as_dict(seen), indent=2, ensure_ascii=False))
    elif any(node.devices for node in seen.nodes):
        _print(seen)
    for node in failed:
        print(f"placetui top: {node.name}: {node.error or 'there is no GPU'}", file=sys.stderr)
    return exits.CLUSTER if failed else exits.FINE


def _stream(feed: Feed, interval: float, as_json: bool) -> int:
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
        if as_json:
            print(json.dumps(_as_dict(seen), ensure_ascii=False), flush=True)
        else:
            if printed is not None:
                print()
            _print(seen)
            sys.stdout.flush()
        printed = seen
    print(f"placetui top: {feed.status.message}", file=sys.stderr)
    return exits.CLUSTER


def _screen(feed: Feed, interval: float) -> int:
    """In place, until `q` or an interrupt."""
    keyboard = [sys.stdin.fileno()] if sys.stdin.isatty() else []
    plain, color = not _speaks_utf8(), _wants_color()
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
            shown = list(lines(seen, look)) if seen else [look.fit(feed.status.message or "looking for GPUs ...")]
            draw([*shown, "", look.paint(look.fit("q quits"), "muted")])


def _print(seen: Observation) -> None:
    for line in lines(seen, Look(ascii=not _speaks_utf8())):
        print(line)


def _as_dict(seen: Observation) -> dict[str, object]:
    # Drift is a difference to a plan, and there is none here.
    return {**seen.to_dict(), "drift": []}


def _speaks_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def _wants_color() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

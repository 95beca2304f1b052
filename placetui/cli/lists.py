"""Commands that list what a cluster has, once or again and again."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from placetui.cli import exits
from placetui.cli.cluster import add_address, runtime
from placetui.cli.output import raw
from placetui.placement.wording import count

TIMEOUT = 30.0


def add_list_options(parser: argparse.ArgumentParser, interval: int) -> None:
    """Add the options of such a command, which looks again after `interval` seconds."""
    add_address(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    every = "second" if interval == 1 else count(interval, "second")
    parser.add_argument("--watch", action="store_true", help=f"refresh every {every} until Ctrl-C")
    parser.set_defaults(interval=interval)


def run_list(
    args: argparse.Namespace, kind: str, keys: Sequence[str], show: Callable[[Mapping[str, Any]], None]
) -> int:
    """Ask for a list and print it: these keys as JSON, or what `show` prints; with `--watch` again and again."""
    with runtime() as child:
        while True:
            found = child.ask(kind, TIMEOUT, address=args.address)
            if args.json:
                print(json.dumps({key: found[key] for key in keys}), flush=True)
            else:
                show_on(sys.stdout, found, show, again=args.watch)
            if not args.watch:
                return exits.FINE
            time.sleep(args.interval)


def show_on(
    stream: IO[str], found: Mapping[str, Any], show: Callable[[Mapping[str, Any]], None], *, again: bool
) -> None:
    """Print for people; `again` and again, each time on an empty screen."""
    if again and stream.isatty():
        # Home, and clear what is below.
        raw(stream).write("\x1b[H\x1b[2J")
        stream.flush()
    show(found)
    stream.flush()

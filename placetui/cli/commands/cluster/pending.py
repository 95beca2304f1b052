"""`placetui pending`: placement groups and actors that wait, of any program, and why."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from typing import Any

from placetui.cli import exits
from placetui.cli.cluster import add_address, runtime
from placetui.cli.display import table
from placetui.cli.output import raw
from placetui.placement.wording import age

TIMEOUT = 30.0
INTERVAL = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "List the placement groups and actors that wait for resources, of any program: what each needs, what is "
        "missing on which node, and who holds it. This starts nothing."
    )
    add_address(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--watch", action="store_true", help="refresh every two seconds until Ctrl-C")


def run(args: argparse.Namespace) -> int:
    with runtime() as child:
        while True:
            found = child.ask("pending", TIMEOUT, address=args.address)
            show(found, as_json=args.json, again=args.watch)
            if not args.watch:
                return exits.FINE
            time.sleep(INTERVAL)


def show(found: Mapping[str, Any], *, as_json: bool, again: bool) -> None:
    """Print what waits; `again` and again, each time on an empty screen."""
    waiting = found["waiting"]
    if as_json:
        print(json.dumps({"schema": found["schema"], "waiting": waiting}), flush=True)
        return
    if again and sys.stdout.isatty():
        # Home, and clear what is below.
        raw(sys.stdout).write("\x1b[H\x1b[2J")
        sys.stdout.flush()
    if not waiting:
        print(f"nothing waits on {found['address']}", file=sys.stderr)
        return
    header, *lines = table([("KIND", "NAME", "JOB", "WAITS"), *map(_row, waiting)])
    print(header)
    for one, line in zip(waiting, lines, strict=True):
        print(line)
        print(f"  {one['reason']}")
        print(f"  hint: {one['hint']}")
    sys.stdout.flush()


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    return one["kind"], one["name"] or one["id"][:12], one["job"] or "?", age(one["since"] or 0.0, time.time()) or "?"

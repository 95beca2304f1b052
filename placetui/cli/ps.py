"""`placetui ps`: list the jobs of a Ray cluster."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from placetui.cli import exits
from placetui.cli.cluster import Failed, add_address, give_up, refuse_local, runtime
from placetui.cli.options import command_parser
from placetui.cli.output import raw
from placetui.observe.ages import age

TIMEOUT = 30.0
INTERVAL = 1.0
TROUBLES = 8
"""Ranks of a job that are listed when something is wrong with them."""


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = command_parser("ps", "List the jobs of a cluster. Looking starts nothing there.")
    add_address(parser, local=False)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--watch", action="store_true", help="again every second, until Ctrl-C")
    args = parser.parse_args(arguments)
    refuse_local(parser, args.address)
    try:
        with runtime() as child:
            while True:
                found = child.ask("ps", TIMEOUT, address=args.address)
                _show(found, as_json=args.json, again=args.watch)
                if not args.watch:
                    return exits.FINE
                time.sleep(INTERVAL)
    except Failed as problem:
        return give_up("ps", problem)


def _show(found: Mapping[str, Any], *, as_json: bool, again: bool) -> None:
    jobs = found["jobs"]
    if as_json:
        print(json.dumps({"jobs": jobs}), flush=True)
        return
    if again and sys.stdout.isatty():
        # Home, and clear what is below.
        raw(sys.stdout).write("\x1b[H\x1b[2J")
        sys.stdout.flush()
    if not jobs:
        print(f"no jobs on {found['address']}", file=sys.stderr)
        return
    troubles = found.get("troubles", {})
    rows = [("JOB", "STATE", "RANKS", "AGE", "FILE"), *map(_row, jobs)]
    widths = [max(len(row[place]) for row in rows) for place in range(4)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        print("  ".join([*cells, row[4]]).rstrip())
        for trouble in troubles.get(row[0], [])[:TROUBLES]:
            print(f"  {trouble}")
        if len(troubles.get(row[0], [])) > TROUBLES:
            print(f"  … and {len(troubles[row[0]]) - TROUBLES} more")
    sys.stdout.flush()


def _row(job: Mapping[str, Any]) -> tuple[str, ...]:
    groups = ", ".join(f"{name} {one['alive']}/{one['world_size']}" for name, one in job["groups"].items())
    return job["name"], job["state"], groups or "?", age(job["created"], time.time()) or "?", job["file"] or "?"

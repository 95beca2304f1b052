"""`placetui pending`: placement groups and actors that wait, of any program, and why."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from typing import Any

from placetui.cli.lists import add_list_options, run_list
from placetui.grid.look.text import table
from placetui.placement.wording import age


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "List the placement groups and actors that wait for resources, of any program: what each needs, what is "
        "missing on which node, and who has it. Nothing is started."
    )
    add_list_options(parser, 2)


def run(args: argparse.Namespace) -> int:
    return run_list(args, "pending", ("schema", "waiting"), show)


def show(found: Mapping[str, Any]) -> None:
    """Print what waits."""
    waiting = found["waiting"]
    if not waiting:
        print(f"nothing waits on {found['address']}", file=sys.stderr)
        return
    header, *lines = table([("KIND", "NAME", "JOB", "WAITS"), *map(_row, waiting)])
    print(header)
    for one, line in zip(waiting, lines, strict=True):
        print(line)
        print(f"  {one['reason']}")
        print(f"  hint: {one['hint']}")


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    return one["kind"], one["name"] or one["id"][:12], one["job"] or "?", age(one["since"] or 0.0, time.time()) or "?"

"""`placetui logs`: what a rank of a running job writes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from placetui.cli import exits
from placetui.cli.cluster import Failed, add_address, give_up, refuse_local, runtime
from placetui.cli.options import command_parser
from placetui.observe.operations import FOREVER

TIMEOUT = 90.0
DEFAULT_LINES = 100


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = command_parser("logs", "Print what a rank writes to stdout and stderr, also after it has died.")
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("target", metavar="COMPONENT:RANK", type=_target, help="such as actor:3")
    add_address(parser, local=False)
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the rank is dead, or Ctrl-C")
    parser.add_argument(
        "-n", "--lines", type=_lines, default=DEFAULT_LINES, metavar="N", help="last lines of each stream; default 100"
    )
    args = parser.parse_args(arguments)
    refuse_local(parser, args.address)
    component, rank = args.target
    told: set[Any] = set()

    def show(event: Mapping[str, Any]) -> None:
        told.add(event.get("step"))
        _show(event)

    try:
        with runtime() as child:
            child.ask(
                "logs",
                FOREVER if args.follow else TIMEOUT,
                show,
                address=args.address,
                job=args.job,
                component=component,
                rank=rank,
                lines=args.lines,
                follow=args.follow,
            )
    except Failed as problem:
        return give_up("logs", problem)
    if not told:
        print(f"{component}:{rank} has written nothing", file=sys.stderr)
    return exits.FINE


def _show(event: Mapping[str, Any]) -> None:
    if event.get("step") == "lines":
        print("\n".join(event["lines"]), flush=True)
    elif event.get("step") == "rank":
        why = f": {event['reason']}" if event.get("reason") else ""
        print(f"{event['component']}:{event['rank']} is {event['state']}{why}", file=sys.stderr, flush=True)


def _target(text: str) -> tuple[str, int]:
    component, _, rank = text.rpartition(":")
    if not component or not rank.isdecimal():
        raise argparse.ArgumentTypeError(f"a rank such as actor:3, not `{text}`")
    return component, int(rank)


def _lines(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a number of lines, not `{text}`")
    return int(text)

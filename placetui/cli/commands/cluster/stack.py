"""`placetui stack`: where a rank that hangs is."""

from __future__ import annotations

import argparse
import sys

from placetui.cli import exits
from placetui.cli.cluster import add_address, runtime

TIMEOUT = 90.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print the Python stacks of a rank, to see where it hangs. Uses py-spy if it is installed on the node, "
        "else Python's faulthandler in workers of placetui."
    )
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("target", metavar="COMPONENT:RANK", type=_target, help="such as actor:3")
    add_address(parser)


def run(args: argparse.Namespace) -> int:
    component, rank = args.target
    with runtime() as child:
        found = child.ask("stack", TIMEOUT, address=args.address, job=args.job, component=component, rank=rank)
    print(f"{component}:{rank}, read by {found['by']}", file=sys.stderr)
    print(str(found["text"]).rstrip("\n"))
    return exits.FINE


def _target(text: str) -> tuple[str, int]:
    component, _, rank = text.rpartition(":")
    if not component or not rank.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a rank such as actor:3, not `{text}`")
    return component, int(rank)

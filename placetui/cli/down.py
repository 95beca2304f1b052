"""`placetui down`: end a job."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from placetui.cli import exits
from placetui.cli.cluster import Failed, add_address, confirm, give_up, has_terminal, refuse_local, runtime
from placetui.cli.options import command_parser
from placetui.placement.problems import count, listing

TIMEOUT = 60.0


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = command_parser("down", "End a job: its ranks, its placement group, its record. Nothing else.")
    parser.add_argument("job", metavar="JOB")
    add_address(parser, local=False)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    args = parser.parse_args(arguments)
    refuse_local(parser, args.address)
    if not args.yes and not has_terminal():
        print("placetui down: a job is to be ended and nobody can be asked", file=sys.stderr)
        print("  hint: say --yes", file=sys.stderr)
        return exits.USAGE
    try:
        with runtime() as child:
            if not args.yes:
                job = child.ask("down", TIMEOUT, address=args.address, job=args.job, look=True)["job"]
                groups = listing(f"{name} {one['alive']}" for name, one in job["groups"].items())
                if not confirm(f"end {args.job} ({job['state']}; ranks alive: {groups or 'none'})?"):
                    return exits.INTERRUPTED
            ended = child.ask("down", TIMEOUT, address=args.address, job=args.job)
    except Failed as problem:
        return give_up("down", problem)
    print(f"{args.job} is down: {count(ended['actors'], 'actor')} ended", file=sys.stderr)
    return exits.FINE

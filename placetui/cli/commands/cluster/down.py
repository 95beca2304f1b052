"""`placetui down`: stop a job."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from placetui.cli import exits
from placetui.cli.cluster import add_address, confirm, require_terminal, runtime
from placetui.observe.operations import is_other, may_still_run
from placetui.placement.wording import count, listing

TIMEOUT = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Stop a job: its ranks, its placement group, its record. For a job that placetui did not launch, stop its "
        "submission or its driver. Asks for confirmation; for a job of another user or program, you type its name."
    )
    parser.add_argument("job", metavar="JOB")
    add_address(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    parser.add_argument(
        "--owner", metavar="USER", default="", help="with --yes: the owner, to stop a job of another user"
    )


def run(args: argparse.Namespace) -> int:
    if not args.yes:
        require_terminal("stop a job")
    with runtime() as child:
        job = child.ask("down", TIMEOUT, address=args.address, job=args.job, look=True)["job"]
        if args.yes:
            _check_owner(job, args)
        elif not _is_confirmed(job, args.job):
            return exits.PROBLEMS
        ended = child.ask("down", TIMEOUT, address=args.address, job=args.job)
    by = f"its {ended['ended']} and " if ended.get("ended") else ""
    print(f"{args.job} stopped: {by}{count(ended['actors'], 'actor')} ended", file=sys.stderr)
    if ended.get("left"):
        print(f"warning: detached actors outlive it: {listing(ended['left'])}", file=sys.stderr)
    for sentence in may_still_run(ended.get("silent", ())):
        print(f"warning: {sentence}", file=sys.stderr)
    return exits.FINE


def _check_owner(job: Mapping[str, Any], args: argparse.Namespace) -> None:
    """In a script nobody can be asked about the job of another user, so it has to be named."""
    owner = job.get("owner") or ""
    user = owner.partition("@")[0]
    if is_other(owner) and args.owner not in (owner, user):
        raise exits.Abort(
            exits.USAGE, f"{args.job} belongs to {owner}, and --yes alone does not stop it", f"add --owner {user}"
        )


def _is_confirmed(job: Mapping[str, Any], name: str) -> bool:
    """Ask; the job of another user, and one that placetui did not launch, needs its name instead of a yes."""
    groups = listing(f"{component} {one['alive']}" for component, one in job["groups"].items())
    what = f"stop {name} ({job['state']}; ranks alive: {groups or 'none'})"
    owner = job.get("owner") or ""
    if job.get("framework", "placetui") != "placetui":
        of = f" of {owner}" if owner else ""
        started = f", started by {job['entrypoint']}" if job.get("entrypoint") else ""
        return confirm(f"{what}, a job{of} that placetui did not launch{started}? Type its name:", name)
    if not is_other(owner):
        return confirm(f"{what}?")
    return confirm(f"{what}, which belongs to {owner}? Type its name:", name)

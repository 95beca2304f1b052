"""`placetui call`: call a method on all ranks of a component of a running job."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from placetui.cli import exits
from placetui.cli.cluster import Failed, add_address, give_up, refuse_local, runtime, seconds
from placetui.cli.options import command_parser
from placetui.placement.problems import listing

DEFAULT_TIMEOUT = 60.0
_SPARE = 60.0
"""Seconds for connecting: the child has deadlines of its own for all it does."""

_NAMED = 12
"""Ranks that a message names."""


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    args = _parse(arguments)
    screen = _Screen(args)
    try:
        with runtime() as child:
            found = child.ask(
                "call",
                args.timeout + _SPARE,
                screen.show,
                address=args.address,
                job=args.job,
                component=args.component,
                method=args.method,
                args=args.args,
                patience=args.timeout,
            )
    except Failed as problem:
        return give_up("call", problem)
    return screen.sum_up(found)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = command_parser("call", "Call a method on all ranks of a component at once; their results as they come.")
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("component", metavar="COMPONENT")
    parser.add_argument("method", metavar="METHOD", help="of the worker; the built-in one has init, train, eval, …")
    add_address(parser, local=False)
    parser.add_argument(
        "--args", type=_arguments, default=[], metavar="JSON", help="a list, or an object with the arguments' names"
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=DEFAULT_TIMEOUT,
        metavar="S",
        help="seconds to wait for answers; who has given none is named and goes on; default 60",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object when all is over")
    args = parser.parse_args(arguments)
    refuse_local(parser, args.address)
    return args


def _arguments(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(f"not JSON: {problem}") from None
    if not isinstance(found, (list, dict)):
        raise argparse.ArgumentTypeError(f"a list or an object, not `{text}`")
    return found


class _Screen:
    """Results on stdout, as they come or as one JSON object; what went wrong on stderr."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args

    def show(self, event: Mapping[str, Any]) -> None:
        if event.get("step") != "result":
            return
        rank = f"{event['component']}:{event['rank']}"
        if "error" in event:
            print(f"placetui call: {rank} failed: {event['error']}", file=sys.stderr)
            for line in event.get("traceback") or ():
                print(f"  | {line}", file=sys.stderr)
        elif not self._args.json:
            print(f"{rank:<16}{json.dumps(event['value'], ensure_ascii=False)}", flush=True)

    def sum_up(self, found: Mapping[str, Any]) -> int:
        """Say what is left to be said, and give the exit code."""
        args, waiting = self._args, found["waiting"]
        if args.json:
            named = {"schema": 1, "job": args.job, "component": args.component, "method": args.method}
            print(json.dumps({**named, **{name: found[name] for name in ("results", "failed", "waiting")}}))
        if waiting:
            who = listing((f"{args.component}:{rank}" for rank in waiting), _NAMED)
            print(f"placetui call: no answer within {args.timeout:g} s from {who}", file=sys.stderr)
            print(f"  hint: `{args.method}` may still run there; give it longer with --timeout", file=sys.stderr)
        return exits.CLUSTER if waiting or found["failed"] else exits.FINE

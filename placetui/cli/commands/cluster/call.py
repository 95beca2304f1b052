"""`placetui call`: call a method on all ranks of a component of a running job."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from placetui.cli import exits
from placetui.cli.cluster import add_address, add_timeout, runtime
from placetui.cli.output import complain
from placetui.placement.wording import listing

_SPARE = 60.0
"""Seconds for connecting: the child has its own deadlines for all it does."""

_NAMED = 12
"""Ranks that a message names."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Call a method on all ranks of a component at once, and print the results as they arrive."
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("component", metavar="COMPONENT")
    parser.add_argument("method", metavar="METHOD", help="of the worker; the built-in one has init, train, eval, …")
    add_address(parser)
    parser.add_argument(
        "--args", type=_arguments, default=[], metavar="JSON", help="a list, or an object with the arguments' names"
    )
    add_timeout(parser, 60.0, "seconds to wait for results; ranks that take longer are listed and continue")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")


def run(args: argparse.Namespace) -> int:
    results = Results(args)
    with runtime() as child:
        found = child.ask(
            "call",
            args.timeout + _SPARE,
            results.show,
            address=args.address,
            job=args.job,
            component=args.component,
            method=args.method,
            args=args.args,
            patience=args.timeout,
        )
    return results.sum_up(found)


def _arguments(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(f"not JSON: {problem}") from None
    if not isinstance(found, (list, dict)):
        raise argparse.ArgumentTypeError(f"expected a list or an object, not `{text}`")
    return found


class Results:
    """Results on stdout, as they come or as one JSON object; what went wrong on stderr."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args

    def show(self, event: Mapping[str, Any]) -> None:
        if event.get("step") != "result":
            return
        rank = f"{event['component']}:{event['rank']}"
        if "error" in event:
            complain("placetui call", f"{rank} failed: {event['error']}", quoted=event.get("traceback") or ())
        elif not self._args.json:
            print(f"{rank:<16}{json.dumps(event['value'], ensure_ascii=False)}", flush=True)

    def sum_up(self, found: Mapping[str, Any]) -> int:
        """Print the rest, and give the exit code."""
        args, waiting = self._args, found["waiting"]
        if args.json:
            named = {"schema": 1, "job": args.job, "component": args.component, "method": args.method}
            print(json.dumps({**named, **{name: found[name] for name in ("results", "failed", "waiting")}}))
        if waiting:
            who = listing((f"{args.component}:{rank}" for rank in waiting), _NAMED)
            hint = f"`{args.method}` may still run there; wait longer with --timeout"
            complain("placetui call", f"no answer within {args.timeout:g} s from {who}", hint)
        return exits.CLUSTER if waiting or found["failed"] else exits.FINE

"""`placetui logs`: the output of ranks of a job."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from typing import Any

from placetui.cli import exits
from placetui.cli.cluster import add_address, runtime
from placetui.observe.operations import FOREVER
from placetui.placement.names import Numbers

TIMEOUT = 90.0
DEFAULT_LINES = 100
MOST_RANKS = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print stdout and stderr of ranks, even of dead ones. Lines of several ranks are merged, each with its rank. "
        "Without COMPONENT, print the log of the driver."
    )
    parser.add_argument("job", metavar="JOB")
    parser.add_argument(
        "target",
        nargs="?",
        metavar="COMPONENT[:RANKS]",
        type=_target,
        default=("", None),
        help="such as actor, actor:3 or actor:0-3,8",
    )
    add_address(parser)
    parser.add_argument(
        "-f", "--follow", action="store_true", help="follow the output until all of these ranks are dead, or Ctrl-C"
    )
    parser.add_argument("--grep", metavar="RE", type=_pattern, help="only lines that match this regular expression")
    parser.add_argument(
        "-n", "--lines", type=_lines, default=DEFAULT_LINES, metavar="N", help="last lines of each stream; default 100"
    )


def run(args: argparse.Namespace) -> int:
    component, ranks = args.target
    shown = LogLines(prefixed=bool(component) and (ranks is None or len(ranks) > 1))
    with runtime() as child:
        child.ask(
            "logs",
            FOREVER if args.follow else TIMEOUT,
            shown.show,
            address=args.address,
            job=args.job,
            component=component,
            ranks=ranks,
            lines=args.lines,
            follow=args.follow,
            grep=args.grep,
        )
    if shown.is_empty:
        print("no matching lines" if args.grep else "no output yet", file=sys.stderr)
    return exits.FINE


class LogLines:
    """Prints lines to stdout, and to stderr what becomes of the ranks."""

    def __init__(self, *, prefixed: bool) -> None:
        self.is_empty = True
        self._prefixed = prefixed
        self._width = 0
        """Of the widest rank so far."""

    def show(self, step: Mapping[str, Any]) -> None:
        self.is_empty = False
        if step.get("step") == "lines":
            print("\n".join(f"{self._prefix(step)}{line}" for line in step["lines"]), flush=True)
        elif step.get("step") == "rank":
            why = f": {step['reason']}" if step.get("reason") else ""
            who = step["component"] if " " in step["component"] else f"{step['component']}:{step['rank']}"
            print(f"{who} is {step['state']}{why}", file=sys.stderr, flush=True)
        elif step.get("step") == "note":
            print(f"note: {step['message']}", file=sys.stderr, flush=True)

    def _prefix(self, step: Mapping[str, Any]) -> str:
        if not self._prefixed:
            return ""
        rank = f"{step['component']}:{step['rank']}"
        self._width = max(self._width, len(rank))
        return f"{rank:<{self._width}} | "


def _target(text: str) -> tuple[str, list[int] | None]:
    """Component, and its ranks or None for all."""
    component, colon, written = text.rpartition(":")
    numbers = Numbers.read(written)
    if not colon or (numbers is None and written and text.startswith("teacher:")):
        component, colon, numbers = text, "", None  # a teacher has a colon in its name: `teacher:math`
    if not component or (colon and numbers is None):
        raise argparse.ArgumentTypeError(f"expected ranks such as actor:3 or actor:0-3,8, not `{text}`")
    if numbers is None:
        return component, None
    if sum(map(len, numbers.ranges)) > MOST_RANKS:
        raise argparse.ArgumentTypeError(f"too many ranks: `{text}`")
    return component, sorted({rank for piece in numbers.ranges for rank in piece})


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as problem:
        raise argparse.ArgumentTypeError(f"`{text}` is not a regular expression: {problem}") from None
    return text


def _lines(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number of lines, not `{text}`")
    return int(text)

"""`placetui explain`: why a rank is where it is, who is on a device, where a component is."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from placetui.cli import exits
from placetui.cli.options import (
    DocumentError,
    add_plan_options,
    command_parser,
    open_plan,
    print_problems,
    wishes_of,
)
from placetui.document import Document, Wishes
from placetui.placement.explain import Locate, explain
from placetui.placement.problems import Path, Span
from placetui.placement.targets import UnknownTarget
from placetui.placement.wording import one_line


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = command_parser("explain", "Say why a rank is where it is, who is on a device, or where a component is.")
    parser.add_argument("file", metavar="FILE", help="a placement file")
    parser.add_argument(
        "what",
        nargs="+",
        metavar="WHAT",
        help="actor:3 (a rank), node0/gpu5 (a device), node1/Franka0 (a robot), node2 (a node), actor (a component)",
    )
    add_plan_options(parser)
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    args = parser.parse_args(arguments)
    try:
        wishes = wishes_of(args)
        document, plan = open_plan(args.file, wishes)
    except DocumentError as error:
        print_problems(error.problems)
        return exits.USAGE
    print_problems(problem for problem in plan.problems if problem.severity == "error")
    failed = any(problem.severity == "error" for problem in plan.problems)
    try:
        answer = explain(plan, " ".join(args.what), _locator(document, wishes))
    except UnknownTarget as error:
        print(f"placetui explain: {one_line(str(error))}\n  hint: {one_line(error.hint)}", file=sys.stderr)
        return exits.USAGE
    if args.json:
        print(json.dumps(answer.to_dict(), indent=2))
    else:
        print("\n".join(map(one_line, answer.lines())))
    return exits.PROBLEMS if failed else exits.FINE


def _locator(document: Document, wishes: Wishes) -> Locate:
    """Places of values in the file; none for those that --set gave."""
    given = [path for path, _ in wishes.overrides]

    def locate(path: Path, span: Span | None) -> tuple[int, int] | None:
        if any(path[: len(one)] == one for one in given):
            return None
        return document.locate(path, span=span)

    return locate

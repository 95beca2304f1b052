"""`placetui diff`: which ranks move, appear and vanish between two files."""

from __future__ import annotations

import json
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
from placetui.placement.diff import diff_plans
from placetui.placement.diff_text import difference_lines
from placetui.placement.wording import one_line


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = command_parser("diff", "Say which ranks move, appear or vanish between two files; exit 1 if any does.")
    parser.add_argument("before", metavar="A")
    parser.add_argument("after", metavar="B")
    add_plan_options(parser)
    parser.add_argument("--json", action="store_true", help="print the difference as JSON")
    args = parser.parse_args(arguments)
    try:
        wishes = wishes_of(args)
        _, before = open_plan(args.before, wishes)
        _, after = open_plan(args.after, wishes)
    except DocumentError as error:
        print_problems(error.problems)
        return exits.USAGE
    errors = [problem for problem in (*before.problems, *after.problems) if problem.severity == "error"]
    print_problems(errors)
    difference = diff_plans(before, after)
    if args.json:
        print(json.dumps(difference.to_dict(), indent=2))
    else:
        print("\n".join(map(one_line, difference_lines(difference))))
    return exits.PROBLEMS if difference or errors else exits.FINE

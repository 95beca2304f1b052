"""`placetui diff`: which ranks move, appear and disappear between two files."""

from __future__ import annotations

import argparse
import json

from placetui.cli import exits
from placetui.cli.options import add_plan_options, open_plan, plan_options, print_problems
from placetui.placement.diff import diff_plans, difference_lines
from placetui.placement.wording import clean


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show which ranks move, are added or are removed between two files. The exit code is 1 if any is."
    )
    parser.add_argument("before", metavar="A", help="a placement file")
    parser.add_argument("after", metavar="B", help="another one")
    add_plan_options(parser)
    parser.add_argument("--json", action="store_true", help="print the difference as JSON")


def run(args: argparse.Namespace) -> int:
    options = plan_options(args)
    before, after = (open_plan(file, options)[1] for file in (args.before, args.after))
    errors = [problem for problem in (*before.problems, *after.problems) if problem.severity == "error"]
    print_problems(errors)
    difference = diff_plans(before, after)
    if args.json:
        print(json.dumps(difference.to_dict(), indent=2))
    else:
        print("\n".join(map(clean, difference_lines(difference))))
    return exits.PROBLEMS if difference or errors else exits.FINE

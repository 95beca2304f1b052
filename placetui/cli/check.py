"""`placetui check`: say what is wrong in placement files."""

from __future__ import annotations

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
from placetui.placement.plan import Plan
from placetui.placement.problems import Problem, count


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = command_parser("check", "Say what is wrong in placement files: all problems, with place and hint.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="placement files")
    add_plan_options(parser)
    parser.add_argument("--json", action="store_true", help="print problems as JSON")
    parser.add_argument("--strict", action="store_true", help="warnings count as problems")
    args = parser.parse_args(arguments)
    try:
        wishes = wishes_of(args)
    except DocumentError as error:
        print_problems(error.problems)
        return exits.USAGE

    found: list[Problem] = []
    unreadable = False
    for file in args.files:
        try:
            _, plan = open_plan(file, wishes)
        except DocumentError as error:
            unreadable = True
            found += error.problems
            continue
        found += plan.problems
        if not args.json and not plan.problems:
            print(f"{file}: fine: {describe(plan)}", file=sys.stderr)
    if args.json:
        import json

        print(json.dumps({"problems": [problem.to_dict() for problem in found]}, indent=2))
    else:
        print_problems(found, to_stdout=True)
    if unreadable:
        return exits.USAGE
    counts = [problem for problem in found if args.strict or problem.severity == "error"]
    return exits.PROBLEMS if counts else exits.FINE


def describe(plan: Plan) -> str:
    """In a few words, what a plan holds."""
    ranks = sum(component.world_size for component in plan.components.values())
    assumed = " (assumed)" if plan.topology_source == "assumed" else ""
    where = f"{count(len(plan.nodes), 'node')}, {count(sum(node.gpus for node in plan.nodes), 'GPU')}{assumed}"
    return f"{count(len(plan.components), 'component')}, {count(ranks, 'rank')} on {where}"

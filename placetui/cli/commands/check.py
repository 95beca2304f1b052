"""`placetui check`: report problems in placement files."""

from __future__ import annotations

import argparse
import sys

from placetui.cli import exits
from placetui.cli.options import add_plan_options, plan_options, print_result
from placetui.document import Document, DocumentError, plan_document
from placetui.placement.plan import Plan
from placetui.placement.problems import Problem
from placetui.placement.wording import count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Report every problem in placement files, with its position and a hint."
    parser.add_argument("files", nargs="+", metavar="FILE", help="placement files")
    add_plan_options(parser)
    parser.add_argument("--json", action="store_true", help="print problems as JSON")
    parser.add_argument("--strict", action="store_true", help="treat warnings as errors")


def run(args: argparse.Namespace) -> int:
    options = plan_options(args)
    found: list[Problem] = []
    unreadable = False
    for file in args.files:
        try:
            plan = plan_document(Document.from_file(file), options)
        except DocumentError as error:
            unreadable = True
            found += error.problems
            continue
        found += plan.problems
        if not args.json and not plan.problems:
            print(f"{file}: fine: {describe(plan)}", file=sys.stderr)
    print_result(found, as_json=args.json)
    if unreadable:
        return exits.USAGE
    counted = ("error", "warning") if args.strict else ("error",)
    return exits.PROBLEMS if any(one.severity in counted for one in found) else exits.FINE


def describe(plan: Plan) -> str:
    """In a few words, what a plan holds."""
    ranks = sum(component.world_size for component in plan.components.values())
    assumed = " (assumed)" if plan.topology_source == "assumed" else ""
    where = f"{count(len(plan.nodes), 'node')}, {count(sum(node.gpus for node in plan.nodes), 'GPU')}{assumed}"
    return f"{count(len(plan.components), 'component')}, {count(ranks, 'rank')} on {where}"

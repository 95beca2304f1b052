"""`placetui explain`: why a rank is where it is, who is on a device, where a component is."""

from __future__ import annotations

import argparse
import json

from placetui.cli import exits
from placetui.cli.options import add_plan_options, open_plan, plan_options, print_problems
from placetui.document import Document, PlanRequest
from placetui.grid.marks import component_letters
from placetui.placement.explain import Locate, explain
from placetui.placement.names import UnknownName
from placetui.placement.problems import Path, Span
from placetui.placement.wording import clean, plain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Explain why a rank is where it is, who is on a device, or where a component is."
    parser.add_argument("file", metavar="FILE", help="a placement file")
    parser.add_argument(
        "what",
        nargs="+",
        metavar="WHAT",
        help="actor:3 (a rank), actor:0-3 (some ranks), actor (a component), node0/gpu5 (a device), "
        "node1/Franka0 (a robot), node2 (a node)",
    )
    add_plan_options(parser)
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(args: argparse.Namespace) -> int:
    options = plan_options(args)
    document, plan = open_plan(args.file, options)
    errors = [problem for problem in plan.problems if problem.severity == "error"]
    print_problems(errors)
    try:
        letters = component_letters(plan)
        answer = explain(plan, " ".join(args.what), _locator(document, options), letters=letters)
    except UnknownName as error:
        raise exits.Abort(exits.USAGE, clean(str(error)), clean(error.hint)) from None
    if args.json:
        print(json.dumps(answer.to_dict(), indent=2))
    else:
        print("\n".join(clean(plain(line)) for line in answer.lines()))
    return exits.PROBLEMS if errors else exits.FINE


def _locator(document: Document, options: PlanRequest) -> Locate:
    """Places of values in the file; none for those that --set gave."""
    given = [path for path, _ in options.overrides]

    def locate(path: Path, span: Span | None) -> tuple[int, int] | None:
        if any(path[: len(one)] == one for one in given):
            return None
        return document.locate(path, span=span)

    return locate

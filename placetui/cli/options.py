"""Options that several commands share, and what they mean."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from placetui.cli import exits
from placetui.document import Document, DocumentError, PlanRequest, plan_document
from placetui.frameworks.registry import modes
from placetui.placement.plan import Plan
from placetui.placement.problems import Problem


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Add --cluster, --mode and --set."""
    parser.add_argument("--cluster", metavar="NxG|FILE", help="nodes x GPUs per node, or a file with a topology")
    parser.add_argument(
        "--mode",
        choices=modes(),
        metavar="MODE",
        help=f"placement mode, overriding that of the file: {', '.join(modes())}",
    )
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides", help="override a value of the file"
    )


def plan_options(args: argparse.Namespace) -> PlanRequest:
    """The options of `add_plan_options`; aborts if one is malformed."""
    if args.cluster is None and not args.overrides:
        return PlanRequest(mode=args.mode)
    from placetui.document.options import parse_override, read_cluster_option

    try:
        nodes = None if args.cluster is None else tuple(read_cluster_option(args.cluster))
        return PlanRequest(nodes=nodes, mode=args.mode, overrides=tuple(map(parse_override, args.overrides)))
    except DocumentError as error:
        raise unreadable(error) from None


def open_plan(file: str, options: PlanRequest) -> tuple[Document, Plan]:
    """Read and resolve a file; aborts if it cannot be read."""
    try:
        document = Document.from_file(file)
    except DocumentError as error:
        raise unreadable(error) from None
    return document, plan_document(document, options)


def unreadable(error: DocumentError) -> exits.Abort:
    """Print what is wrong with a file or an option; the end of the command."""
    print_problems(error.problems)
    return exits.Abort(exits.USAGE)


def print_problems(problems: Iterable[Problem]) -> None:
    """Print problems to stderr."""
    for problem in problems:
        print(problem.format(), file=sys.stderr)


def print_result(problems: Iterable[Problem], *, as_json: bool) -> None:
    """Print problems to stdout, where they are the result."""
    if as_json:
        import json

        print(json.dumps({"problems": [problem.to_dict() for problem in problems]}, indent=2))
    else:
        for problem in problems:
            print(problem.format())


def has_errors(problems: Iterable[Problem]) -> bool:
    """Whether one of them is more than a warning."""
    return any(problem.severity == "error" for problem in problems)

"""`placetui preflight`: whether what a file's framework will ask of Ray fits a cluster, and if not, why."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from placetui.cli import exits
from placetui.cli.cluster import add_address, runtime
from placetui.cli.options import add_plan_options, open_plan, plan_options
from placetui.grid.preflight_lines import preflight_lines
from placetui.observe.operations import AUTO

TIMEOUT = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Report whether Ray can place what the framework of the file will request, per placement group and node, and "
        "if not, why. With --cluster, no Ray cluster is contacted. Nothing is started."
    )
    parser.add_argument("file", metavar="FILE", help="a placement file")
    add_plan_options(parser)
    add_address(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    found = examine(args)
    if args.json:
        print(json.dumps({name: value for name, value in found.items() if name != "address"}))
    else:
        print("\n".join(preflight_lines(found, args.file)))
    return exits.FINE if found["fits"] else exits.PROBLEMS


def examine(args: argparse.Namespace) -> Mapping[str, Any]:
    """The result as `--json` prints it, and the `address` of the cluster."""
    document, plan = open_plan(args.file, plan_options(args))
    if args.cluster is not None and args.address == AUTO:
        from placetui.frameworks.preflight import preflight_planned
        from placetui.frameworks.registry import framework_of

        demand = framework_of(plan).demand(plan)
        known = [one for one in plan.problems if one.rule != "slime_not_enough_gpus"]
        return preflight_planned(demand, plan.topology.nodes, known, args.file).to_dict()
    with runtime() as child:
        body = {"text": document.text, "source": args.file, "mode": args.mode, "overrides": args.overrides}
        return dict(child.ask("preflight", TIMEOUT, address=args.address, **body))

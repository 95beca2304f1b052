"""`placetui doctor`: whether everything that placetui leans on is as it should be."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from placetui.cli import exits
from placetui.cli.checkup import Finding, Questions, config, python, terminal, themes
from placetui.cli.cluster import add_address, refuse_local
from placetui.cli.options import command_parser
from placetui.cli.output import Patience
from placetui.cli.versions import lines
from placetui.placement.problems import count


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = command_parser(
        "doctor", "Say whether Python, Ray, the GPUs, the terminal and your settings are as they should be."
    )
    add_address(parser, local=False)
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(arguments)
    refuse_local(parser, args.address)
    found = list(_findings(args.address, aloud=not args.json))
    problems = [one for one in found if one.state == "problem"]
    warnings = [one for one in found if one.state == "warning"]
    if args.json:
        report = {"schema": 1, "versions": dict(line.split(" ", 1) for line in lines())}
        print(json.dumps({**report, "findings": [one.to_dict() for one in found]}, indent=2))
    else:
        print(f"{count(len(problems), 'problem')}, {count(len(warnings), 'warning')}", file=sys.stderr)
    return exits.PROBLEMS if problems else exits.FINE


def _findings(address: str, *, aloud: bool) -> Iterator[Finding]:
    """All of them; told as they come if `aloud`."""
    with Questions(address, Patience("asking Ray and the GPU driver")) as questions:
        every = (*python(), *terminal(), *config(), *themes())
        for topic, group in groupby((*every, *questions.answers()), key=lambda one: one.topic):
            for place, one in enumerate(group):
                if aloud:
                    print(f"{'' if place else topic:<10}{one.format()}", flush=True)
                yield one

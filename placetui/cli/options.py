"""Options that several commands share, and how they become a plan."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from placetui.document import Document, DocumentError, Wishes, parse_override, plan_document, read_cluster_option
from placetui.placement.plan import Plan
from placetui.placement.problems import Problem
from placetui.placement.settings import MODES


def command_parser(name: str, description: str) -> argparse.ArgumentParser:
    """A parser in the house style: no abbreviations, so that new options never change old calls."""
    return argparse.ArgumentParser(f"placetui {name}", description=description, allow_abbrev=False)


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Add --cluster, --mode and --set."""
    parser.add_argument("--cluster", metavar="NxG|FILE", help="nodes x GPUs per node, or a file with a topology")
    parser.add_argument("--mode", choices=MODES, help="how the file is read; by default what the file says")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides", help="override a value of the file"
    )


def wishes_of(args: argparse.Namespace) -> Wishes:
    """What the options ask for.

    Raises:
        DocumentError: an option is not written as it should be.
    """
    nodes = None if args.cluster is None else tuple(read_cluster_option(args.cluster))
    return Wishes(nodes=nodes, mode=args.mode, overrides=tuple(parse_override(text) for text in args.overrides))


def open_plan(file: str, wishes: Wishes) -> tuple[Document, Plan]:
    """Read and resolve a file.

    Raises:
        DocumentError: the file cannot be read.
    """
    document = Document.from_file(file)
    return document, plan_document(document, wishes)


def print_problems(problems: Iterable[Problem], *, to_stdout: bool = False) -> None:
    """Print problems to stderr, or to stdout where they are what was asked for."""
    for problem in problems:
        print(problem.format(), file=sys.stdout if to_stdout else sys.stderr)


__all__ = ["DocumentError", "add_plan_options", "command_parser", "open_plan", "print_problems", "wishes_of"]

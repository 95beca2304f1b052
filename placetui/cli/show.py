"""`placetui show`: draw a plan as text, SVG or JSON."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from placetui.cli import exits
from placetui.cli.options import (
    DocumentError,
    add_plan_options,
    command_parser,
    open_plan,
    print_problems,
    wishes_of,
)
from placetui.cli.output import harmless
from placetui.grid import DARK, DENSITIES, LIGHT, Colors, Palette, to_ansi
from placetui.placement.plan import Plan
from placetui.placement.ranks import RankError, parse_node_ranks
from placetui.snapshot import Look, difference, drawing_of, read_snapshot, render, title, write_snapshot

NARROWEST = 20
LIGHT_BACKGROUNDS = ("7", "15")
"""Numbers of the light grounds in COLORFGBG, which some terminals set."""


def run(arguments: Sequence[str]) -> int:
    """Run the command."""
    args = _parse(arguments)
    try:
        _, plan = open_plan(args.file, wishes_of(args))
    except DocumentError as error:
        print_problems(error.problems)
        return exits.USAGE
    print_problems(plan.problems)
    try:
        look = _look(args, plan)
    except RankError as error:
        print(f"placetui show: --nodes: {error}\n  hint: {error.problem.hint}", file=sys.stderr)
        return exits.USAGE
    code = exits.PROBLEMS if any(problem.severity == "error" for problem in plan.problems) else exits.FINE
    if args.snapshot is not None:
        return max(code, _snapshot(Path(args.snapshot), render(plan, look), args.update))
    if look.format == "text" and _wants_color(args.color):
        colors, palette = _colors()
        _emit(title(plan, ascii=look.ascii) + to_ansi(drawing_of(plan, look), colors=colors, palette=palette))
    else:
        _emit(render(plan, look))
    return code


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = command_parser("show", "Draw which rank is on which device. The same input gives the same bytes.")
    parser.add_argument("file", metavar="FILE", help="a placement file")
    add_plan_options(parser)
    parser.add_argument("--format", choices=("text", "json", "svg"), default="text")
    parser.add_argument("--density", choices=DENSITIES, default="full", help="how much room a device gets")
    parser.add_argument("--width", type=_width, metavar="N", help="columns; by default those of the terminal, if any")
    parser.add_argument("--nodes", metavar="A-B", help="draw only these nodes: 3, 0-3 or 0-3,8")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="of text; default auto")
    parser.add_argument("--ascii", action="store_true", help="print nothing but ASCII")
    parser.add_argument("--snapshot", metavar="GRID.txt", help="compare with this stored drawing; exit 1 if it differs")
    parser.add_argument("--update", action="store_true", help="with --snapshot: store the drawing")
    args = parser.parse_args(arguments)
    if args.update and args.snapshot is None:
        parser.error("--update goes with --snapshot GRID.txt")
    return args


def _width(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 6 and int(text) >= NARROWEST:
        return int(text)
    raise argparse.ArgumentTypeError(f"a number of columns from {NARROWEST} on, not `{text}`")


def _look(args: argparse.Namespace, plan: Plan) -> Look:
    nodes = None
    if args.nodes is not None:
        nodes = parse_node_ranks(args.nodes.strip(), range(len(plan.nodes)))
        if args.format == "json":
            print("note: --nodes limits drawings; JSON has all nodes", file=sys.stderr)
    width = args.width
    if width is None and args.snapshot is None and args.format == "text" and sys.stdout.isatty():
        width = max(NARROWEST, shutil.get_terminal_size().columns)
    return Look(args.format, args.density, width, nodes, args.ascii)


def _snapshot(path: Path, drawn: str, update: bool) -> int:
    try:
        stored = read_snapshot(path)
        changes = drawn if stored is None else difference(stored, drawn, str(path))
        if update:
            if changes:
                write_snapshot(path, drawn)
            print(f"{path}: {'stored' if stored is None else 'updated' if changes else 'as before'}", file=sys.stderr)
            return exits.FINE
    except OSError as error:
        print(f"placetui show: {path}: {error.strerror or error}", file=sys.stderr)
        return exits.USAGE
    if stored is None:
        print(f"placetui show: {path} is not there\n  hint: store the drawing with --update", file=sys.stderr)
        return exits.PROBLEMS
    if changes:
        _emit(harmless(changes))
        print(f"{path} is drawn differently now\n  hint: if that is meant, add --update", file=sys.stderr)
        return exits.PROBLEMS
    return exits.FINE


def _wants_color(choice: str) -> bool:
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _colors() -> tuple[Colors, Palette]:
    """What the terminal shows; in a pipe always the same, so that the bytes are."""
    if not sys.stdout.isatty():
        return "truecolor", DARK
    ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    palette = LIGHT if ground in LIGHT_BACKGROUNDS else DARK
    if os.environ.get("COLORTERM") in ("truecolor", "24bit"):
        return "truecolor", palette
    return ("256" if "256" in os.environ.get("TERM", "") else "16"), palette


def _emit(text: str) -> None:
    """Write the same bytes whatever the system's encoding and line breaks are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()

"""`placetui show`: draw a plan as text, SVG or JSON."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from placetui.cli import exits
from placetui.cli.options import add_plan_options, has_errors, open_plan, plan_options, print_problems
from placetui.cli.output import complain, harmless, shows_color
from placetui.grid import DARK, DENSITIES, LIGHT, OTHER_NAMES, Colors, Palette, density_named, to_ansi
from placetui.placement.plan import Plan
from placetui.placement.ranks import RankError, parse_node_ranks
from placetui.snapshot import RenderOptions, difference, drawing_of, read_snapshot, render, title, write_snapshot

NARROWEST = 20
LIGHT_BACKGROUNDS = ("7", "15")
"""Numbers of light backgrounds in COLORFGBG, which some terminals set."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Draw which rank is on which device. The same input gives the same bytes."
    parser.add_argument("file", metavar="FILE", help="a placement file")
    add_plan_options(parser)
    parser.add_argument("--format", choices=("text", "json", "svg"), default="text", help="default text")
    parser.add_argument(
        "--density",
        choices=(*DENSITIES, *OTHER_NAMES),
        default="full",
        help="how much to show of each GPU; default tile; full is tile, compact is letters",
    )
    parser.add_argument("--width", type=_width, metavar="N", help="columns; default: those of the terminal, if any")
    parser.add_argument("--nodes", metavar="A-B", help="draw only these nodes: 3, 0-3 or 0-3,8")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default auto")
    parser.add_argument("--ascii", action="store_true", help="print only ASCII")
    parser.add_argument("--snapshot", metavar="GRID.txt", help="compare with this stored drawing; exit 1 if it differs")
    parser.add_argument("--update", action="store_true", help="with --snapshot: store the drawing")


def run(args: argparse.Namespace) -> int:
    if args.update and args.snapshot is None:
        raise exits.UsageError("--update goes with --snapshot GRID.txt")
    plan = open_plan(args.file, plan_options(args))[1]
    print_problems(plan.problems)
    try:
        look = _fitted(_look(args, plan), plan)
    except RankError as error:
        raise exits.Abort(exits.USAGE, f"--nodes: {error}", error.problem.hint) from None
    wanted = args.color == "always" or (args.color == "auto" and sys.stdout.isatty() and shows_color())
    colored = look.format == "text" and args.snapshot is None and wanted
    code = exits.PROBLEMS if has_errors(plan.problems) else exits.FINE
    if args.snapshot is not None:
        return max(code, _snapshot(Path(args.snapshot), render(plan, look), args.update))
    if colored:
        colors, palette = _colors()
        drawing = drawing_of(plan, replace(look, color=True))
        _emit(title(plan, ascii=look.ascii) + to_ansi(drawing, colors=colors, palette=palette))
    else:
        _emit(render(plan, look))
    return code


def _width(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 6 and int(text) >= NARROWEST:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a number of columns, at least {NARROWEST}, not `{text}`")


def _look(args: argparse.Namespace, plan: Plan) -> RenderOptions:
    nodes = None
    if args.nodes is not None:
        nodes = parse_node_ranks(args.nodes.strip(), range(len(plan.nodes)))
        if args.format == "json":
            print("note: --nodes limits drawings; JSON has all nodes", file=sys.stderr)
    width = args.width
    if width is None and args.snapshot is None and args.format == "text" and sys.stdout.isatty():
        width = max(NARROWEST, shutil.get_terminal_size().columns)
    return RenderOptions(args.format, density_named(args.density) or "tile", width, nodes, args.ascii)


def _fitted(look: RenderOptions, plan: Plan) -> RenderOptions:
    """In the density asked for, or else in the most detailed one whose lines are not longer than the width.

    The heat wall has no names, and is drawn only where it is asked for.
    """
    if look.width is None or look.format == "json" or look.density == "heat":
        return look
    fewer = [replace(look, density=density) for density in DENSITIES[DENSITIES.index(look.density) : -1]]
    fitted = next((one for one in fewer if drawing_of(plan, one).width <= look.width), fewer[-1])
    if fitted.density != look.density:
        print(
            f"note: {look.density} needs {drawing_of(plan, look).width} columns, not {look.width}; "
            f"drawn as {fitted.density}",
            file=sys.stderr,
        )
    return fitted


def _snapshot(path: Path, drawn: str, update: bool) -> int:
    try:
        stored = read_snapshot(path)
        changes = drawn if stored is None else difference(stored, drawn, str(path))
        if update:
            if changes:
                write_snapshot(path, drawn)
            print(f"{path}: {'stored' if stored is None else 'updated' if changes else 'unchanged'}", file=sys.stderr)
            return exits.FINE
    except OSError as error:
        raise exits.Abort(exits.USAGE, f"{path}: {error.strerror or error}") from None
    if stored is None:
        complain("placetui show", f"{path} does not exist", "store the drawing with --update")
        return exits.PROBLEMS
    if changes:
        _emit(harmless(changes))
        complain("placetui show", f"{path} differs from the drawing", "if that is intended, add --update")
        return exits.PROBLEMS
    return exits.FINE


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

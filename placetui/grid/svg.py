"""A drawing as a self-contained SVG: the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby

from placetui.grid.drawing import Drawing
from placetui.grid.export import caption
from placetui.grid.glyphs import UNICODE
from placetui.grid.palette import DARK, Palette
from placetui.grid.style import Line
from placetui.grid.text import CellWidth, clean

CELL = 8.4
"""Width of a column."""

LINE = 19.0
FONT_SIZE = 14
MARGIN = 22.0
SHAPES = frozenset(f"━╍─▪▱╌◆┈═◂▸│{UNICODE.absent}")
"""Characters that are drawn rather than written: fonts leave gaps between them, or differ too much."""

TITLE = 44.0
"""Height of the title."""

FONTS = "'DejaVu Sans Mono','JetBrains Mono',Menlo,Consolas,'Liberation Mono',monospace"

STROKES = {
    "━": (3.2, ""),
    "╍": (3.2, "5.4 3"),
    "─": (1.4, ""),
    "▪": (4.2, "4.2 4.2"),
    "╌": (1.4, "4.2 4.2"),
    "┈": (1.2, "1.4 4.2"),
}
"""Width and dashes of the shapes that are lines."""


def to_svg(
    drawing: Drawing,
    *,
    title: str = "",
    legend: bool = True,
    palette: Palette = DARK,
) -> str:
    """The drawing as a picture with its title and legend.

    Args:
        drawing: What to show, all of it.
        title: Left in the title line; the plan's source by default.
        legend: Whether to add the legend.
        palette: `DARK` or `LIGHT`.
    """
    lines = [*drawing.header(), *drawing.lines()]
    below = drawing.legend() if legend else ()
    columns = max([drawing.width, *(_columns(line, drawing.cell_width) for line in below)])
    width = columns * CELL + 2 * MARGIN
    legend_top = TITLE + MARGIN / 2 + len(lines) * LINE + LINE / 2
    bottom = legend_top + (len(below) + 0.8) * LINE if below else legend_top - LINE / 2
    height = bottom + MARGIN / 2
    name = clean(title or drawing.plan.source or "placetui")
    about = caption(drawing.plan)
    if drawing.ascii:
        name, about = clean(name, ascii=True), about.replace("×", "x").replace("–", "-")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" role="img">',
        f"<title>{escape(name)}: {escape(about)}</title>",
        f'<rect x="0.5" y="0.5" width="{_n(width - 1)}" height="{_n(height - 1)}" rx="10" '
        f'fill="{palette.background}" stroke="{palette.border}"/>',
        f'<g font-family="{FONTS}" font-size="{FONT_SIZE}" xml:space="preserve">',
        f'<text x="{_n(MARGIN)}" y="28" fill="{palette.text}" font-weight="bold">{escape(name)}</text>',
        f'<text x="{_n(width - MARGIN)}" y="28" fill="{palette.muted}" text-anchor="end">{escape(about)}</text>',
        _rule(TITLE - 4, width, palette),
    ]
    for number, line in enumerate(lines):
        parts += _line(line, TITLE + MARGIN / 2 + number * LINE, palette, drawing.cell_width)
    if below:
        parts.append(_rule(legend_top, width, palette))
    for number, line in enumerate(below):
        parts += _line(line, legend_top + LINE * (number + 0.6), palette, drawing.cell_width)
    parts += ["</g>", "</svg>", ""]
    return "\n".join(parts)


def _columns(line: Line, measure: CellWidth) -> int:
    return sum(measure(run.text) for run in line)


def _n(number: float) -> str:
    """A number without needless digits."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _rule(y: float, width: float, palette: Palette) -> str:
    return f'<path d="M{_n(MARGIN)} {_n(y)}H{_n(width - MARGIN)}" stroke="{palette.border}"/>'


def _line(line: Line, y: float, palette: Palette, measure: CellWidth) -> Iterator[str]:
    column = 0
    for run in line:
        look = palette.look(run.style)
        cells = measure(run.text)
        x = MARGIN + column * CELL
        if look.background:
            yield (
                f'<rect x="{_n(x)}" y="{_n(y + 1)}" width="{_n(cells * CELL)}" height="{_n(LINE - 2)}" '
                f'fill="{look.background}"/>'
            )
        weight = ' font-weight="bold"' if look.bold else ""
        for start, piece in _pieces(run.text):
            at = x + measure(run.text[:start]) * CELL
            if piece[0] in SHAPES:
                yield from _shape(piece[0], at, y, len(piece), look.foreground)
            else:
                yield _text(piece, at, y, measure(piece), look.foreground, weight)
        column += cells


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Words, and rows of equal shapes, each with its place in the text."""
    start = 0
    for kind, group in groupby(
        text, key=lambda character: character if character in SHAPES or character == " " else ""
    ):
        piece = "".join(group)
        if kind != " ":
            yield start, piece
        start += len(piece)


def _text(text: str, x: float, y: float, cells: int, color: str, weight: str) -> str:
    length = f' textLength="{_n(cells * CELL)}" lengthAdjust="spacingAndGlyphs"' if cells else ""
    return f'<text x="{_n(x)}" y="{_n(y + 14)}" fill="{color}"{weight}{length}>{escape(text)}</text>'


def _shape(character: str, x: float, y: float, count: int, color: str) -> Iterator[str]:
    middle = y + LINE / 2
    end = x + count * CELL
    if character == "═":
        yield (
            f'<path d="M{_n(x)} {_n(middle - 1.8)}H{_n(end)}M{_n(x)} {_n(middle + 1.8)}H{_n(end)}" '
            f'stroke="{color}" stroke-width="1.3"/>'
        )
    elif character in STROKES:
        thickness, dashes = STROKES[character]
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        yield f'<path d="M{_n(x)} {_n(middle)}H{_n(end)}" stroke="{color}" stroke-width="{thickness}"{dash}/>'
    else:
        for number in range(count):
            yield _mark(character, x + number * CELL, middle, color)


def _mark(character: str, x: float, middle: float, color: str) -> str:
    """One character of a kind that fonts draw in very different sizes."""
    half = CELL / 2
    if character == UNICODE.absent:
        path = f"M{_n(x + 1)} {_n(middle + 5)}L{_n(x + CELL - 1)} {_n(middle - 5)}"
        return f'<path d="{path}" stroke="{color}" stroke-width="1.2"/>'
    if character == "│":
        return f'<path d="M{_n(x + half)} {_n(middle - LINE / 2)}V{_n(middle + LINE / 2)}" stroke="{color}"/>'
    if character == "▱":
        path = (
            f"M{_n(x + 2.4)} {_n(middle - 2)}H{_n(x + CELL - 0.8)}L{_n(x + CELL - 2.4)} {_n(middle + 2)}H{_n(x + 0.8)}Z"
        )
        return f'<path d="{path}" fill="none" stroke="{color}"/>'
    if character == "◆":
        path = f"M{_n(x + half)} {_n(middle - 3)}l3 3l-3 3l-3 -3Z"
    elif character == "◂":
        path = f"M{_n(x + CELL - 1)} {_n(middle - 3.6)}V{_n(middle + 3.6)}L{_n(x + 1)} {_n(middle)}Z"
    else:
        path = f"M{_n(x + 1)} {_n(middle - 3.6)}V{_n(middle + 3.6)}L{_n(x + CELL - 1)} {_n(middle)}Z"
    return f'<path d="{path}" fill="{color}"/>'

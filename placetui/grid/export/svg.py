"""A drawing as a self-contained SVG: the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from itertools import groupby

from placetui.grid.drawing import Drawing
from placetui.grid.export.text import caption
from placetui.grid.look.glyphs import UNICODE
from placetui.grid.look.palette import DARK, Appearance, Palette
from placetui.grid.look.style import Line, Style
from placetui.grid.look.text import CellWidth
from placetui.placement.wording import clean

CELL = 8.4
"""Width of a column."""

LINE = 19.0
FONT_SIZE = 14
MARGIN = 22.0
TITLE = 44.0
"""Height of the title."""

OPACITY = ' fill-opacity="0.45"'
FONTS = "'DejaVu Sans Mono','JetBrains Mono',Menlo,Consolas,'Liberation Mono',monospace"

STROKES = {"━": 3.2, "╸": 3.2, "─": 1.4}
"""Width of the shapes that are lines."""

BLOCKS = {
    **{character: (0.0, 0.0, (number + 1) / 8, 1.0) for number, character in enumerate("▏▎▍▌▋▊▉█")},
    "▐": (0.5, 0.0, 0.5, 1.0),
    "▀": (0.0, 0.0, 1.0, 0.5),
    "▂": (0.0, 0.78, 1.0, 0.22),
}
"""Left, top, width and height of the shapes that fill a part of a cell."""

CORNERS = {"╭": "M{x} {b}V{m}Q{x} {y} {r} {y}", "╮": "M{l} {y}Q{x} {y} {x} {m}V{b}"}
CORNERS |= {"╰": "M{x} {t}V{n}Q{x} {y} {r} {y}", "╯": "M{l} {y}Q{x} {y} {x} {n}V{t}", "│": "M{x} {t}V{b}"}
"""Paths of the shapes that are parts of a border."""

SHAPES = frozenset({*STROKES, *BLOCKS, *CORNERS, *"◂▸■□▣", UNICODE.absent})
"""Characters that are drawn rather than written: fonts leave gaps between them, or differ too much."""


def to_svg(drawing: Drawing, *, title: str = "", legend: bool = True, palette: Palette = DARK) -> str:
    """All of the drawing as a picture with its legend and a title, by default the plan's source."""
    lines = [*drawing.header(), *drawing.lines()]
    below = drawing.legend() if legend else ()
    columns = max([drawing.width, *(sum(drawing.cell_width(run.text) for run in line) for line in below)])
    width = columns * CELL + 2 * MARGIN
    legend_top = TITLE + MARGIN / 2 + len(lines) * LINE + LINE / 2
    bottom = legend_top + (len(below) + 0.8) * LINE if below else legend_top - LINE / 2
    height = bottom + MARGIN / 2
    name = clean(title or drawing.plan.source or "placetui")
    about = caption(drawing.plan)
    if drawing.ascii:
        name, about = clean(name, ascii=True), about.replace("×", "x")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" role="img">',
        f"<title>{escape(name)}: {escape(about)}</title>",
        f'<rect x="0.5" y="0.5" width="{_n(width - 1)}" height="{_n(height - 1)}" rx="10" '
        f'fill="{palette.ground}" stroke="{palette.border}"/>',
        f'<g font-family="{FONTS}" font-size="{FONT_SIZE}" xml:space="preserve">',
        f'<text x="{_n(MARGIN)}" y="28" fill="{palette.text}" font-weight="bold">{escape(name)}</text>',
        f'<text x="{_n(width - MARGIN)}" y="28" fill="{palette.muted}" text-anchor="end">{escape(about)}</text>',
        _rule(TITLE - 4, width, palette),
    ]
    styles = {run.style for line in (*lines, *below) for run in line}
    looks = {style: palette.look(style) for style in styles}
    for number, line in enumerate(lines):
        parts += _line(line, TITLE + MARGIN / 2 + number * LINE, looks, drawing.cell_width)
    if below:
        parts.append(_rule(legend_top, width, palette))
    for number, line in enumerate(below):
        parts += _line(line, legend_top + LINE * (number + 0.6), looks, drawing.cell_width)
    parts += ["</g>", "</svg>", ""]
    return "\n".join(parts)


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _rule(y: float, width: float, palette: Palette) -> str:
    return f'<path d="M{_n(MARGIN)} {_n(y)}H{_n(width - MARGIN)}" stroke="{palette.border}"/>'


def _line(line: Line, y: float, looks: Mapping[Style, Appearance], measure: CellWidth) -> Iterator[str]:
    column = 0
    for run in line:
        look = looks[run.style]
        cells = measure(run.text)
        x = MARGIN + column * CELL
        if look.background:
            yield _rect(x, y, cells * CELL, LINE, look.background)
        weight = ' font-weight="bold"' if look.bold else ""
        if look.underline or look.strike:
            weight += f' text-decoration="{"underline" if look.underline else "line-through"}"'
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
    middle, end = y + LINE / 2, x + count * CELL
    if character in STROKES:
        end -= CELL / 2 if character == "╸" else 0
        path = f"M{_n(x)} {_n(middle)}H{_n(end)}"
        yield f'<path d="{path}" stroke="{color}" stroke-width="{STROKES[character]}"/>'
    elif character in BLOCKS:
        left, top, width, height = BLOCKS[character]
        whole = (count - 1) * CELL + width * CELL if width == 1 or count == 1 else count * CELL
        yield _rect(x + left * CELL, y + top * LINE, whole, height * LINE, color)
    else:
        for number in range(count):
            yield _mark(character, x + number * CELL, y, color)


def _rect(x: float, y: float, width: float, height: float, color: str) -> str:
    # A little more, so that no seam is seen between cells.
    return f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width + 0.3)}" height="{_n(height + 0.3)}" fill="{color}"/>'


def _mark(character: str, x: float, y: float, color: str) -> str:
    """One character of a kind that fonts draw in very different sizes."""
    half, middle = CELL / 2, y + LINE / 2
    if corner := CORNERS.get(character):
        places = {"x": x + half, "y": middle, "l": x, "r": x + CELL, "t": y, "b": y + LINE}
        places |= {"m": middle + half, "n": middle - half}
        path = corner.format(**{name: _n(place) for name, place in places.items()})
        return f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1.4"/>'
    if character == UNICODE.absent:
        path = f"M{_n(x + 1)} {_n(middle + 5)}L{_n(x + CELL - 1)} {_n(middle - 5)}"
        return f'<path d="{path}" stroke="{color}" stroke-width="1.2"/>'
    if character in "■□▣":
        fill = "none" if character == "□" else color
        return (
            f'<rect x="{_n(x + 0.8)}" y="{_n(middle - 3.4)}" width="{_n(CELL - 1.6)}" height="6.8" '
            f'fill="{fill}" stroke="{color}"{OPACITY if character == "▣" else ""}/>'
        )
    first, last = (x + CELL - 1, x + 1) if character == "◂" else (x + 1, x + CELL - 1)
    path = f"M{_n(first)} {_n(middle - 3.6)}V{_n(middle + 3.6)}L{_n(last)} {_n(middle)}Z"
    return f'<path d="{path}" fill="{color}"/>'

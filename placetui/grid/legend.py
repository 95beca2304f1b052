"""The legend: letter, name, rule and share of each component, and what the signs mean."""

from __future__ import annotations

from collections.abc import Iterable

from placetui.grid.look.style import MUTED, TEXT, Line, LineBuilder, Run
from placetui.grid.pen import Pen
from placetui.placement.wording import count, share_figure

WIDEST_NAME = 24
WIDEST_RULE = 32


def legend_lines(pen: Pen) -> tuple[Line, ...]:
    """One line per component, in columns."""
    components = list(pen.plan.components.values())
    if not components:
        return ()
    letter = max(len(mark.letter) for mark in pen.marks.values())
    name = min(WIDEST_NAME, max(pen.name_width(component.name) for component in components))
    rule = min(WIDEST_RULE, max(pen.name_width(component.rule.text) for component in components))
    lines: list[Line] = []
    for component in components:
        mark = pen.marks[component.name]
        line = LineBuilder.empty()
        line.put(0, mark.letter, pen.letter_style(component.name))
        x = letter + 2
        pen.put_name(line, x, component.name, name, TEXT)
        x += name + 2
        pen.put_name(line, x, component.rule.text, rule, MUTED, keep="start")
        x += rule + 2
        share = share_figure(component.share) if component.share is not None else ""
        line.put(x + 4 - len(share), share, MUTED)
        line.put(x + 6, count(component.world_size, "rank"), MUTED)
        if component.not_fixed:
            line.add(f", {component.not_fixed} not fixed before launch", MUTED)
        lines.append(line.finish(line.column))
    return tuple(lines)


def key_lines(key: Iterable[tuple[Run, str]], width: int) -> tuple[Line, ...]:
    """Signs and their meanings, as many in a line as fit into `width`."""
    lines: list[Line] = []
    line = LineBuilder.empty()
    for run, meaning in key:
        if line.column and line.column + len(run.text) + len(meaning) + 4 > width:
            lines.append(line.finish(line.column))
            line = LineBuilder.empty()
        line.put(line.column + (3 if line.column else 0), run.text, run.style)
        line.add(f" {meaning}", MUTED)
    return (*lines, line.finish(line.column))

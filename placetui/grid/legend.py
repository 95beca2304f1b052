"""The legend: letter, pattern, name, rule and share of each component, and what the marks mean."""

from __future__ import annotations

from collections.abc import Iterator

from placetui.grid.live import NEEDS_ATTENTION
from placetui.grid.pen import STATE_STYLES, Pen
from placetui.grid.style import ABSENT, EMPTY, ERROR, MUTED, SHARE, TEXT, TRACK, Line, LineBuilder, Run, Style
from placetui.grid.text import share_figure
from placetui.placement.plan import Component

SWATCH = 4
WIDEST_NAME = 24
WIDEST_RULE = 32


def legend_lines(pen: Pen) -> tuple[Line, ...]:
    """One line per component, in columns."""
    components = list(pen.plan.components.values())
    if not components:
        return ()
    mark = max(len(pen.marks[component.name].mark) for component in components)
    name = min(WIDEST_NAME, max(pen.name_width(component.name) for component in components))
    rule = min(WIDEST_RULE, max(pen.name_width(component.rule.text) for component in components))
    lines: list[Line] = []
    for component in components:
        identity = pen.marks[component.name]
        line = LineBuilder.empty()
        line.put(0, identity.mark, pen.component_style(component.name))
        line.put(mark + 1, pen.glyphs.patterns[identity.pattern] * SWATCH, Style("bar", identity.index))
        x = mark + 1 + SWATCH + 2
        pen.put_name(line, x, component.name, name, TEXT)
        x += name + 2
        pen.put_name(line, x, component.rule.text, rule, MUTED, keep="start")
        x += rule + 2
        share = share_figure(component.share) if component.share is not None else ""
        line.put(x + 4 - len(share), share, SHARE)
        line.put(x + 6, _size(component), MUTED)
        lines.append(line.finish(line.column))
    return tuple(lines)


def _size(component: Component) -> str:
    return f"{component.world_size} rank" if component.world_size == 1 else f"{component.world_size} ranks"


def key_lines(pen: Pen, density: str, width: int) -> tuple[Line, ...]:
    """The marks of a density, as many in a line as fit into `width`."""
    lines: list[Line] = []
    line = LineBuilder.empty()
    for run, meaning in _key(pen, density):
        if line.column and line.column + len(run.text) + len(meaning) + 4 > width:
            lines.append(line.finish(line.column))
            line = LineBuilder.empty()
        line.put(line.column + (3 if line.column else 0), run.text, run.style)
        line.add(f" {meaning}", MUTED)
    return (*lines, line.finish(line.column))


def _key(pen: Pen, density: str) -> Iterator[tuple[Run, str]]:
    glyphs = pen.glyphs
    link = Style("link")
    if density == "heat":
        yield Run("A", Style("tile", level=4)), "devices that A is on"
        yield Run("a", Style("tile", level=2)), "some of them free"
    else:
        yield Run(glyphs.span * 3, link), "one process"
        yield Run(f"{glyphs.elsewhere}{glyphs.right}", link), "not adjacent"
    if density == "full":
        yield Run(glyphs.track * 2, TRACK), "unused"
    yield Run(glyphs.empty, EMPTY), "free"
    if density != "heat" and len({node.gpus for node in pen.plan.nodes if node.gpus}) > 1:
        yield Run(glyphs.absent, ABSENT), "no device"
    if density == "heat" and pen.overlay is not None:
        yield Run(glyphs.ramp[2::3], Style("component")), "memory in use"
    yield Run("!", ERROR), "oversubscribed" if pen.overlay is None else "needs attention"
    if pen.overlay is not None and density != "heat":
        for state, style in STATE_STYLES.items():
            if density == "compact" and state not in NEEDS_ATTENTION:
                continue
            yield Run(glyphs.states[state], style), state

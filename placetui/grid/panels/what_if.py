"""Two plans compared: the border between their pools, a table of what differs, and what speaks for the second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from placetui.grid.look.style import (
    BODY,
    ERROR,
    FAINT,
    MUTED,
    NAME,
    OK,
    TEXT,
    WARNING,
    WHITE,
    Ground,
    Line,
    LineBuilder,
    Run,
    Style,
)
from placetui.grid.panels.entries import wrapped
from placetui.grid.pen import Pen
from placetui.observe.history import MemoryUse
from placetui.placement.diff import Difference, diff_plans, difference_lines
from placetui.placement.plan import Plan
from placetui.placement.pools import Advice, Pools, advise, is_training, pools_of
from placetui.placement.problems import Problem
from placetui.placement.wording import GIB, gib, plain, share_figure

LABEL = 13
"""Columns of what is compared, before its values."""

CHOICE = 11
"""Columns before what can be chosen, where the border stands among that."""

MOST_SQUARES = 48
"""GPUs that are squares of their own at the border between two pools; more are a bar."""

METER = 16


@dataclass(frozen=True)
class PlanComparison:
    """Two plans, and all that follows from them; worked out at once, in a thread."""

    before: Plan
    after: Plan
    difference: Difference
    pools: tuple[Pools, Pools]
    advice: Sequence[Advice]
    memory: Mapping[tuple[int, int], MemoryUse]
    """What was measured of the first plan."""

    fullest: tuple[tuple[int, int], MemoryUse] | None
    gpus: tuple[Mapping[str, int], Mapping[str, int]]
    """Of each component that has any."""

    moves: Sequence[str]
    """What happens to each component, in words."""

    @classmethod
    def of(cls, before: Plan, after: Plan, memory: Mapping[tuple[int, int], MemoryUse]) -> PlanComparison:
        difference = diff_plans(before, after)
        fits = not any(problem.severity == "error" for problem in after.problems)
        advice = advise(before, after) if difference and fits else []
        fullest = max(memory.items(), key=lambda one: (one[1].percent, one[0])) if memory else None
        moves = list(difference_lines(difference))[:-1] if difference else []
        pools, gpus = (pools_of(before), pools_of(after)), (_gpus(before), _gpus(after))
        return cls(before, after, difference, pools, advice, memory, fullest, gpus, moves)

    @property
    def risks(self) -> list[Advice]:
        """What can make a job fail though its plan fits."""
        return [one for one in self.advice if one.detail]


def split_lines(pen: Pen, training: int, generation: int, width: int, *, keys: bool, short: bool) -> list[Line]:
    """`8 training : 8 generation`, the GPUs as squares, and how to move the border; when short the first two in one."""
    marks = {is_training(one): pen.marks[one.name] for one in reversed([*pen.plan.components.values()])}
    words = LineBuilder()
    if short:
        words.add("border".ljust(CHOICE), MUTED)
    words.add(str(training), NAME)
    words.add(" training", MUTED)
    words.add(" : ", FAINT)
    words.add(str(generation), NAME)
    words.add(" generation", MUTED)
    room = max(1, width - words.column - 2 if short else width)
    total, squares = training + generation, LineBuilder()
    cell = max(1, min(3, (room + 1) // max(1, total)))
    scale = 1.0 if total <= MOST_SQUARES and total <= room else min(room, MOST_SQUARES) / total
    border = max(1, min(round(training * scale), round(total * scale) - 1))
    for trains, number in ((True, border), (False, round(total * scale) - border)):
        mark = marks.get(trains)
        style = Style("component", mark.hue if mark else None)
        sign = pen.glyphs.eighths[-1] if pen.color and not pen.ascii else mark.letter[0] if mark else "#"
        filled = max(1, cell - 1) if scale == 1.0 else 1
        for _ in range(number):
            squares.add(sign * filled, style)
            squares.add(" " * (cell - filled if scale == 1.0 else 0), TEXT)
    if short:
        words.add("  ")
        return [(*words.runs, *squares.runs)]
    lines = [tuple(words.runs), tuple(squares.runs)]
    return [*lines, _keys("move the border by one GPU")] if keys else lines


def undivided_lines(short: bool) -> list[Line]:
    """How to divide the GPUs where both pools do not fit as they are."""
    return [((Run("border".ljust(CHOICE), MUTED),) if short else ()) + _keys("divide the GPUs between the pools")]


def _keys(does: str) -> Line:
    return Run("[ ]", NAME), Run(f" {does}", FAINT)


def verdict_title(pen: Pen, comparison: PlanComparison, problems: Sequence[Problem]) -> Line:
    """`Verdict  ✓ fits  ▲ 1 caution`."""
    errors = sum(one.severity == "error" for one in problems)
    cautions = sum(one.severity == "warning" for one in problems) + len(comparison.risks)
    runs = [Run("Verdict", NAME)]
    if errors:
        runs.append(Run(f"  {pen.glyphs.states['dead']} does not fit", ERROR))
    elif comparison.difference:
        runs.append(Run(f"  {pen.glyphs.done} fits", OK._replace(bold=True)))
    else:
        runs.append(Run("  nothing changes", MUTED))
    if cautions:
        runs.append(Run(f"  {pen.glyphs.above} {cautions} caution{'s' if cautions > 1 else ''}", WARNING))
    return tuple(runs)


def verdict_lines(
    pens: tuple[Pen, Pen], comparison: PlanComparison, problems: Sequence[Problem], width: int, room: int
) -> list[Line]:
    """What differs as a table, what is wrong as tinted areas, then as much of the moves as there is room for.

    All of it is a column away from both edges; only the areas reach them.
    """
    pen, inner = pens[1], width - 2
    areas = [line for area in _areas(pen, comparison, problems, inner) for line in area]
    counts: Line = (Run("ranks".ljust(LABEL), MUTED), *_counts(comparison))
    table = list(_table(pens, comparison, inner)) if room >= 6 else [counts]
    if not comparison.difference:
        table += [(), (Run("Choose another layout, mode or size.", MUTED),)]
    if len(table) + len(areas) > room:
        table = [counts]
    apart: list[Line] = [()] * (len(table) + 1 + len(areas) <= room and bool(areas))
    left = room - len(table) - len(apart) - len(areas) - (room > 8)
    moves: list[Line] = []
    if comparison.moves and left >= min(2, len(comparison.moves)):
        arrow, found = "->" if pen.ascii else "→", comparison.moves
        shown = found if len(found) <= left else [*found[: left - 1], f"and {len(found) - left + 1} more"]
        moves = [(Run(pen.cut(pen.clean(one.replace("→", arrow)), inner), BODY),) for one in shown]
        moves = [*[()] * (room > 8), *moves]
    beside = Run(" ", TEXT)
    return [
        *((beside, *line) for line in (*table, *apart)),
        *(
            (beside._replace(style=line[0].style), *line, beside._replace(style=line[-1].style))
            for line in areas
            if line
        ),
        *((beside, *line) for line in moves),
    ][:room]


def _counts(comparison: PlanComparison) -> Line:
    """`16 stay  8 move  24 removed`."""
    counts = comparison.difference.counts
    words = (("stays", "stay"), ("moves", "move"), ("appears", "added"), ("vanishes", "removed"))
    shown = [(counts[name], word) for name, word in words if counts[name]]
    return tuple(
        run
        for place, (number, word) in enumerate(shown)
        for run in (Run(f"{'  ' if place else ''}{number} ", NAME), Run(word, MUTED))
    )


def _table(pens: tuple[Pen, Pen], comparison: PlanComparison, width: int) -> Iterator[Line]:
    """A row for each figure: before, after, and what that means, which is below them if there is no room beside."""
    rows = list(_rows(pens, comparison))
    pen = pens[1]

    room = width - LABEL
    one, other = (max(room // 4, 2 + max(pen.width(row[column]) for row in rows)) for column in (1, 2))
    if one + other - 2 > room:
        one, other = min(one, room // 2), min(other, room // 2)
    starts = (0, LABEL, LABEL + one, LABEL + one + other)
    beside = pen.width(_counts(comparison)) <= width - starts[3]
    for row in rows:
        yield pen.across(row if beside else row[:3], starts, width)
        if row[3] and not beside:
            yield pen.across(((), row[3]), (0, LABEL), width)


def _rows(pens: tuple[Pen, Pen], comparison: PlanComparison) -> Iterator[tuple[Line, ...]]:
    plans = comparison.before, comparison.after
    old, new = comparison.pools

    def row(label: str, one: Line, other: Line, difference: Line = ()) -> tuple[Line, ...]:
        return (Run(label, MUTED),), one, other, difference

    def figure(value: object) -> Line:
        return (Run(str(value), NAME),)

    yield row("", (Run("before", FAINT),), (Run("after", FAINT),))
    sizes = [sum(one.world_size for one in plan.components.values()) for plan in plans]
    yield row("ranks", figure(sizes[0]), figure(sizes[1]), _counts(comparison))
    shared = ""
    if new.shared != old.shared and new.training and new.generation:
        many = new.shared > 1
        shared = f"{new.shared or 'no'} GPU{'s train and generate' if many else ' trains and generates'}"
    gpus = [_of_components(pen, number) for pen, number in zip(pens, comparison.gpus, strict=True)]
    yield row("GPUs for", gpus[0], gpus[1], (Run(shared, MUTED),))
    shares = [
        {name: share_figure(one.share) for name, one in plan.components.items() if one.share is not None}
        for plan in plans
    ]
    if shares[0] or shares[1]:
        yield row("share", *(_of_components(pen, share) for pen, share in zip(pens, shares, strict=True)))
    idle = [pools.total - pools.used for pools in comparison.pools]
    if any(idle):
        yield row("idle GPUs", figure(idle[0]), figure(idle[1]))
    if comparison.fullest:
        (node, index), most = comparison.fullest
        same, pen = not comparison.difference, pens[0]
        words = (Run(f"{most.used / GIB:.1f}", NAME), Run(f"/{most.total / GIB:.0f}G  {most.percent:.0f}%", MUTED))
        free, place = f"{gib(most.total - most.used)} free", f"on {pen.clean(pen.node_name(node))}/gpu{index}"
        yield row("fullest GPU", words, words if same else (Run("not measured", FAINT),), (Run(free, MUTED),))
        meter = pen.meter(most.percent, METER)
        yield row("", meter, meter if same else (), (Run(place, MUTED),))


def _of_components(pen: Pen, values: Mapping[str, object]) -> Line:
    """`A 8 R 8`."""
    runs: list[Run] = []
    for name, value in values.items():
        gap = Run(" ", TEXT)
        runs += [*[gap] * bool(runs), Run(pen.marks[name].letter, pen.letter_style(name)), Run(f" {value}", TEXT)]
    return tuple(runs)


def _gpus(plan: Plan) -> dict[str, int]:
    """GPUs of each component that has any."""
    found = {
        name: len({(one.cluster_node_rank, at) for one in component.placements for at in one.devices})
        for name, component in plan.components.items()
    }
    return {name: number for name, number in found.items() if number}


def _areas(pen: Pen, comparison: PlanComparison, problems: Sequence[Problem], width: int) -> Iterator[list[Line]]:
    """Errors, then warnings and what can make a job fail, each on its tint."""
    ordered = sorted(problems, key=lambda one: one.severity != "error")
    found = [(one.severity == "error", plain(one.message), plain(one.hint or "")) for one in ordered]
    found += [(False, one.text, one.detail) for one in comparison.risks]
    for error, title, detail in found[:3]:
        ground: Ground = "error" if error else "warning"
        style, sign = (ERROR, pen.glyphs.states["dead"]) if error else (WARNING, pen.glyphs.above)
        head, *rest = wrapped(pen, title, width, style, ground, most=2)
        head = _signed(Run(f"{sign} ", style._replace(ground=ground)), head)
        yield [head, *rest, *(wrapped(pen, detail, width, TEXT, ground, most=2) if detail else [])]
    if len(found) > 3:
        yield [(Run(f"and {len(found) - 3} more", MUTED),)]


def advice_lines(pen: Pen, advice: Sequence[Advice], width: int, room: int) -> list[Line]:
    """Short points: what is good, what to keep in mind, and what to try; those that there is room for."""
    signs = {
        "good": Run(f"{pen.glyphs.done} ", OK._replace(bold=True)),
        "caution": Run(f"{pen.glyphs.above} ", WARNING),
        "hint": Run(f"{pen.glyphs.right} ", WHITE),
    }
    lines: list[Line] = []
    for one in advice:
        first, *rest = wrapped(pen, one.text, width, MUTED if one.kind == "hint" else BODY, most=max(1, room))
        if lines and len(lines) + 1 + len(rest) > room:
            break
        lines += [_signed(signs[one.kind], first), *rest]
    return lines


def _signed(sign: Run, line: Line) -> Line:
    """A line of an indented sentence, with a sign in its two blank columns."""
    if not line:  # no room for a word
        return (sign,)
    indent, *rest = line
    return (sign, *(Run(text, indent.style) for text in [indent.text[2:]] if text), *rest)

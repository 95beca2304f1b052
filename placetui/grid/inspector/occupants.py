"""Who is on a device, what each rank gets there, and which rule put it there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from placetui.grid.inspector.flow import Flow
from placetui.grid.look.style import FAINT, MUTED, TEXT, Line, Run
from placetui.grid.overlay import URGENCY
from placetui.grid.pen import STATE_STYLES
from placetui.observe.events import Event
from placetui.observe.model import Observation, RankState
from placetui.placement.environment import rank_environment
from placetui.placement.explain import why
from placetui.placement.plan import Component, Occupant, Plan
from placetui.placement.problems import Path
from placetui.placement.wording import age, kind_name, place_text, plain, ranges, share_figure

Locate: TypeAlias = Callable[[Path], tuple[int, int] | None]
"""Line and column of a value of the file, counted from 1."""

MOST = 8
"""Processes that are described one by one; where there are more, each component is."""


LETTERS = 4
"""Columns for the letters of components at least: those of the table."""


@dataclass(frozen=True, slots=True)
class OccupantGroup:
    """One rank, or all ranks of a component on the device."""

    component: Component
    ranks: tuple[int, ...]
    share: float | None
    """Of each."""


def groups_of(plan: Plan, occupants: Sequence[Occupant]) -> list[OccupantGroup]:
    """A group per rank, or per component when there are many."""
    if len(occupants) <= MOST:
        return [OccupantGroup(plan.components[one.component], (one.rank,), one.share) for one in occupants]
    found: dict[str, list[Occupant]] = {}
    for one in occupants:
        found.setdefault(one.component, []).append(one)
    return [
        OccupantGroup(plan.components[name], tuple(one.rank for one in same), same[0].share)
        for name, same in found.items()
    ]


@dataclass(frozen=True)
class Describer:
    """Writes blocks of one plan."""

    plan: Plan
    flow: Flow
    locate: Locate
    observation: Observation | None = None
    events: Sequence[Event] = ()
    """What happened lately, oldest first: it says when a rank died."""

    def died(self, state: RankState) -> str:
        """How long a rank is dead, as `14 s`; empty if it lives, or if nobody saw it die."""
        if state.state != "dead" or self.observation is None:
            return ""
        about = ("rank_died", state.component, state.rank)
        times = (one.time for one in reversed(self.events) if (one.kind, one.component, one.rank) == about)
        return age(next(times, 0.0), self.observation.time)

    def head(self, group: OccupantGroup) -> Line:
        """`A actor 2`."""
        pen, name = self.flow.pen, group.component.name
        letter = Run(f"{pen.marks[name].letter} ", pen.letter_style(name))
        times = f" {pen.glyphs.times}{len(group.ranks)}" if len(group.ranks) > 1 else ""
        return (letter, Run(f"{pen.clean(name)} {pen.ranks(group.ranks)}{times}", pen.style("component", name)))

    def states(self, group: OccupantGroup) -> Iterator[Line]:
        """How many ranks are in which state."""
        if self.observation is None:
            return
        known = (self.observation.rank(group.component.name, rank) for rank in group.ranks)
        tally = Counter(state.state for state in known if state is not None)
        for state in URGENCY:
            if state != "stale" and tally[state]:
                sign = "" if state == "alive" else f"{self.flow.pen.glyphs.states[state]} "
                yield (Run(f"{sign}{tally[state]} {state}", STATE_STYLES[state]),)

    def _segment(self, group: OccupantGroup) -> str:
        rule = group.component.rule
        # Packed components number their processes again: their segments only say which devices are meant.
        if len(rule.segments) < 2 or group.component.strategy == "packed" or len(group.ranks) > 1:
            return ""
        parts = [segment for segment in rule.segments if group.ranks[0] in segment.processes]
        return rule.text[slice(*parts[0].span)].strip() if parts else ""

    def reasons(self, groups: Sequence[OccupantGroup], *, whole: bool) -> list[Line]:
        """Why the ranks of each component are here, and where its next one is; what is true of several is said once.

        `whole` in as many lines as that takes, else in one line each, with the reasons that fit.
        """
        flow, marks = self.flow, self.flow.pen.marks
        last = {group.component.name: (group.component, group.ranks[-1]) for group in groups}
        said: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for label, texts_of in (("why", self._why), ("next", self._next)):
            for name, (component, rank) in last.items():
                if texts := tuple(texts_of(component, rank)):
                    said.setdefault((label, texts), []).append(name)
        heads: list[list[Run]] = []
        for names in said.values():
            letters = [Run(marks[name].letter, flow.pen.letter_style(name)) for name in names if len(last) > 1]
            commas = [run for letter in letters for run in (Run(",", FAINT), letter)]
            heads.append([Run(" ", TEXT), *commas[1:]])
        column = max([LETTERS, *(flow.pen.width(head) + 2 for head in heads)])
        lines: list[Line] = []
        for (label, texts), letters in zip(said, heads, strict=True):
            head = (*letters, Run(" " * (column - flow.pen.width(letters)), TEXT), Run(f"{label:<6}", FAINT))
            if whole:
                words = [flow.text(word, MUTED) for word in plain(flow.separator.join(texts)).split()]
                lines += flow.lines(words, head=head, indent=flow.measure(head), separator=" ")
            else:
                first, *others = (flow.text(plain(text), MUTED) for text in texts)
                lines.append(flow.cut([(*head, *first), *others]))
        return lines

    def _why(self, component: Component, rank: int) -> list[str]:
        return why(self.plan, component, rank)

    def _next(self, component: Component, rank: int) -> list[str]:
        if rank + 1 >= component.world_size:
            return []
        other = component.placements[rank + 1]
        node = self.plan.nodes[other.cluster_node_rank].name
        return [f"rank {rank + 1} is on {place_text(node, self.plan.kind_of(other), other.devices)}"]

    def fields(self, group: OccupantGroup) -> Iterator[tuple[str, str]]:
        """What the placement says: names and values."""
        component, rank = group.component, group.ranks[0]
        if len(group.ranks) > 1:
            if group.share is not None:
                yield "together", share_figure(group.share * len(group.ranks))
            yield "ranks in all", str(component.world_size)
            return
        placement = component.placements[rank]
        kind, owned = self.plan.kind_of(placement), placement.devices
        if component.engines:
            engine = component.engines[rank]
            of = f" of {engine.group}" if engine.group else ""
            yield "engine", f"{engine.engine}{of}"
            if engine.parts > 1:
                yield "engine part", f"{engine.part} of {engine.parts}"
        yield (
            "place",
            f"{kind_name(kind)}{'s' if len(owned) > 1 else ''} {numbers(owned)}" if owned else "the node",
        )
        if not placement.fixed:
            yield "not fixed", f"{'GPU' if placement.node_fixed else 'node'} before launch"
        yield "rank", f"{rank} of {component.world_size}"
        yield "local rank", f"{placement.local_rank} of {placement.local_world_size}"
        yield "node rank", str(placement.placement_node_rank)
        yield "cluster node", str(placement.cluster_node_rank)
        if placement.local_accelerator_rank >= 0:
            yield "first accelerator", str(placement.local_accelerator_rank)
        yield "visible", numbers(placement.visible) if placement.visible else "none"
        yield "isolated", "yes" if placement.isolate_accelerator else "no"
        yield "node group", placement.node_group_label
        yield "accelerator", placement.accelerator_type
        part = self._segment(group)
        if part:
            yield "part of the rule", part

    def environment(self, group: OccupantGroup) -> Iterator[tuple[str, str]]:
        """The variables that a rank is given."""
        if len(group.ranks) == 1:
            yield from rank_environment(self.plan, group.component.name, group.ranks[0]).items()


def numbers(items: Sequence[int | str]) -> str:
    """`2,3`, `0-7`, `0,2,4`; anything that is no number as it is."""
    texts = [str(item) for item in items]
    if len(texts) > 2 and all(text.isdecimal() for text in texts):
        return ranges(int(text) for text in texts)
    return ",".join(texts)

"""Who is on a device, what each rank gets there, and which rule put it there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from placetui.grid.inspector.flow import Flow
from placetui.grid.look.style import FAINT, MUTED, Line, Run
from placetui.grid.overlay import URGENCY
from placetui.grid.pen import STATE_STYLES
from placetui.observe.events import Event
from placetui.observe.model import Observation, RankState
from placetui.placement.explain import why
from placetui.placement.plan import Component, Occupant, Plan
from placetui.placement.problems import Path
from placetui.placement.wording import age, kind_name, place_text, plain, share_figure

Locate: TypeAlias = Callable[[Path], tuple[int, int] | None]
"""Line and column of a value of the file, counted from 1."""

MOST = 8
"""Processes that are described one by one; where there are more, each component is."""


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

    def why(self, group: OccupantGroup, *, lettered: bool, whole: bool) -> list[Line]:
        """Why a rank is where it is, and where the next one is; `lettered` where there are several components.

        `whole` in as many lines as that takes, else in one line each, with the reasons that fit.
        """
        flow, component, rank = self.flow, group.component, group.ranks[0]
        said = {"why": why(self.plan, component, rank)}
        if rank + 1 < component.world_size:
            other = component.placements[rank + 1]
            node = self.plan.nodes[other.cluster_node_rank].name
            said["next"] = [f"rank {rank + 1} is on {place_text(node, self.plan.kind_of(other), other.devices)}"]
        mark = flow.pen.marks[component.name]
        letter = Run(f" {mark.letter if lettered else '':<3}", flow.pen.letter_style(mark.name))
        lines: list[Line] = []
        for label, texts in said.items():
            head = (letter, Run(f"{label:<6}", FAINT))
            if whole:
                words = [flow.text(word, MUTED) for word in plain(flow.separator.join(texts)).split()]
                lines += flow.lines(words, head=head, indent=10, separator=" ") if words else []
            elif texts:
                first, *others = (flow.text(plain(text), MUTED) for text in texts)
                lines.append(flow.cut([(*head, *first), *others]))
        return lines

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
            f"{kind_name(kind)}{'s' if len(owned) > 1 else ''} {self.numbers(owned)}" if owned else "the node",
        )
        if not placement.fixed:
            yield "not fixed", f"{'GPU' if placement.node_fixed else 'node'} before launch"
        yield "rank", f"{rank} of {component.world_size}"
        yield "local rank", f"{placement.local_rank} of {placement.local_world_size}"
        yield "node rank", str(placement.placement_node_rank)
        yield "cluster node", str(placement.cluster_node_rank)
        if placement.local_accelerator_rank >= 0:
            yield "first accelerator", str(placement.local_accelerator_rank)
        yield "visible", self.numbers(placement.visible) if placement.visible else "none"
        yield "isolated", "yes" if placement.isolate_accelerator else "no"
        yield "node group", placement.node_group_label
        yield "accelerator", placement.accelerator_type
        part = self._segment(group)
        if part:
            yield "part of the rule", part

    def numbers(self, items: Sequence[int | str]) -> str:
        """`2,3`, `0–7`, `0,2,4`; anything that is no number as it is."""
        texts = [str(item) for item in items]
        if len(texts) > 2 and all(text.isdecimal() for text in texts):
            values = [int(text) for text in texts]
            if values == list(range(values[0], values[0] + len(values))):
                return f"{values[0]}-{values[-1]}" if self.flow.pen.ascii else f"{values[0]}–{values[-1]}"
        return ",".join(texts)

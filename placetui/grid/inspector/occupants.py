"""Who is on a device, what each rank gets there, and which rule put it there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from placetui.grid.inspector.flow import Flow
from placetui.grid.inspector.readings import sign_before, state_piece
from placetui.grid.look.style import FAINT, MUTED, TEXT, Line, Run
from placetui.grid.overlay import URGENCY
from placetui.grid.pen import STATE_STYLES
from placetui.observe.model import Observation
from placetui.placement.plan import Component, Occupant, Plan
from placetui.placement.problems import Path
from placetui.placement.wording import count, kind_name, share_figure

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

    def head(self, group: OccupantGroup) -> Line:
        """`A actor rank 2  .80`."""
        pen = self.flow.pen
        name = group.component.name
        runs = [
            Run(f"{pen.marks[name].letter} ", pen.letter_style(name)),
            Run(f"{pen.clean(name)} ", pen.style("component", name)),
        ]
        if len(group.ranks) == 1:
            runs.append(Run(f"rank {group.ranks[0]}", TEXT))
        else:
            runs.append(Run(f"ranks {pen.ranks(group.ranks)} {pen.glyphs.times}{len(group.ranks)}", TEXT))
        if group.share is not None:
            each = " each" if len(group.ranks) > 1 else ""
            runs.append(Run(f"  {share_figure(group.share)}{each}", MUTED))
        return tuple(runs)

    def lines(self, group: OccupantGroup, indent: int) -> Iterator[Line]:
        """All about a group; `indent` is where the columns after the head begin."""
        flow = self.flow
        head = self.head(group)
        width = flow.measure(head)
        wide = flow.width >= 2 * indent
        gap = indent - width if wide and indent > width else 2
        hanging = indent if wide else 2
        pieces = [self.rule(group), *self.state(group), *self.fields(group)]
        yield from flow.lines(pieces, head=(*head, Run(" " * gap, TEXT)), indent=hanging)
        for reason in group.component.reasons:
            yield from flow.sentence(reason, MUTED, hanging)

    def state(self, group: OccupantGroup) -> Iterator[Line]:
        """The state of the rank, or how many ranks are in which."""
        if self.observation is None:
            return
        found = [self.observation.rank(group.component.name, rank) for rank in group.ranks]
        known = [state for state in found if state is not None]
        if len(group.ranks) == 1:
            yield from (state_piece(self.flow, state) for state in known)
            return
        tally = Counter(state.state for state in known)
        for state in URGENCY:
            if state != "stale" and tally[state]:
                yield (Run(f"{sign_before(self.flow, state)}{tally[state]} {state}", STATE_STYLES[state]),)

    def rule(self, group: OccupantGroup) -> Line:
        """`← actor: 0-15  line 6`, with the part of the rule that counts for the rank."""
        pen = self.flow.pen
        component = group.component
        rule = component.rule
        keys = pen.clean(",".join(rule.keys) or component.name)
        style = pen.style("component", component.name)
        runs = [Run("<- " if pen.ascii else "← ", FAINT), Run(f"{keys}: {pen.clean(rule.text)}", style)]
        part = self._segment(group)
        if part:
            runs.append(Run(f" part {pen.clean(part)}", MUTED))
        place = self.locate(rule.path)
        if place is not None:
            runs.append(Run(f"  line {place[0]}", MUTED))
        return tuple(runs)

    def _segment(self, group: OccupantGroup) -> str:
        rule = group.component.rule
        # Packed components number their processes again: their segments only say which devices are meant.
        if len(rule.segments) < 2 or group.component.strategy == "packed" or len(group.ranks) > 1:
            return ""
        parts = [segment for segment in rule.segments if group.ranks[0] in segment.processes]
        return rule.text[slice(*parts[0].span)].strip() if parts else ""

    def fields(self, group: OccupantGroup) -> Iterator[Line]:
        """What the placement says, in words."""
        if len(group.ranks) > 1:
            if group.share is not None:
                yield self.flow.text(f"{share_figure(group.share * len(group.ranks))} together", MUTED)
            yield self.flow.text(f"of {count(group.component.world_size, 'rank')}", MUTED)
            return
        for text in self._fields(group.component, group.ranks[0]):
            yield self.flow.text(text, MUTED)

    def _fields(self, component: Component, rank: int) -> Iterator[str]:
        placement = component.placements[rank]
        kind = self.plan.kind_of(placement)
        owned = placement.devices
        if component.engines:
            engine = component.engines[rank]
            group = f" of {engine.group}" if engine.group else ""
            yield f"engine {engine.engine}{group}" + (
                f" part {engine.part} of {engine.parts}" if engine.parts > 1 else ""
            )
        if owned:
            yield f"{kind_name(kind)}{'s' if len(owned) > 1 else ''} {self.numbers(owned)}"
        else:
            yield "on the node"
        if not placement.fixed:
            yield f"{'GPU' if placement.node_fixed else 'node'} not fixed before launch"
        yield f"rank {rank} of {component.world_size}"
        yield f"local rank {placement.local_rank} of {placement.local_world_size}"
        yield f"node rank {placement.placement_node_rank}"
        yield f"cluster node {placement.cluster_node_rank}"
        if placement.local_accelerator_rank >= 0:
            yield f"first accelerator {placement.local_accelerator_rank}"
        visible = placement.visible
        yield f"visible {self.numbers(visible)}" if visible else "visible none"
        yield "isolated" if placement.isolate_accelerator else "not isolated"
        yield f"group {placement.node_group_label}"
        yield placement.accelerator_type

    def numbers(self, items: Sequence[int | str]) -> str:
        """`2,3`, `0–7`, `0,2,4`; anything that is no number as it is."""
        texts = [str(item) for item in items]
        if len(texts) > 2 and all(text.isdecimal() for text in texts):
            values = [int(text) for text in texts]
            if values == list(range(values[0], values[0] + len(values))):
                return f"{values[0]}-{values[-1]}" if self.flow.pen.ascii else f"{values[0]}–{values[-1]}"
        return ",".join(texts)

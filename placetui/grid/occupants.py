"""Who is on a device, what each rank gets there, and which rule put it there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from placetui.grid.flow import Flow
from placetui.grid.pen import ATTENTION, STATE_STYLES
from placetui.grid.readings import state_piece
from placetui.grid.style import FAINT, MUTED, SHARE, TEXT, Line, Run, Style
from placetui.grid.text import share_figure
from placetui.observe.model import Observation
from placetui.placement.plan import GPU, Component, Occupant, Plan
from placetui.placement.problems import Path, count

Locate: TypeAlias = Callable[[Path], tuple[int, int] | None]
"""Line and column of a value of the file, counted from 1."""

MOST = 8
"""Processes that are described one by one; where there are more, each component is."""


@dataclass(frozen=True, slots=True)
class Block:
    """One rank, or all ranks of a component on the device."""

    component: Component
    ranks: tuple[int, ...]
    share: float | None
    """Of each."""


def blocks_of(plan: Plan, occupants: Sequence[Occupant]) -> list[Block]:
    """A block per rank, or per component when there are many."""
    if len(occupants) <= MOST:
        return [Block(plan.components[one.component], (one.rank,), one.share) for one in occupants]
    ranks: dict[str, list[Occupant]] = {}
    for one in occupants:
        ranks.setdefault(one.component, []).append(one)
    return [
        Block(plan.components[name], tuple(one.rank for one in found), found[0].share) for name, found in ranks.items()
    ]


@dataclass(frozen=True)
class Describer:
    """Writes blocks of one plan."""

    plan: Plan
    flow: Flow
    locate: Locate
    observation: Observation | None = None

    def head(self, block: Block) -> Line:
        """`A actor rank 2  .80`."""
        pen = self.flow.pen
        name = block.component.name
        runs = [
            Run(f"{pen.marks[name].mark} ", pen.component_style(name)),
            Run(f"{pen.clean(name)} ", Style("component", pen.order[name])),
        ]
        if len(block.ranks) == 1:
            runs.append(Run(f"rank {block.ranks[0]}", TEXT))
        else:
            runs.append(Run(f"ranks {pen.ranks(block.ranks)} {pen.glyphs.times}{len(block.ranks)}", TEXT))
        if block.share is not None:
            each = " each" if len(block.ranks) > 1 else ""
            runs.append(Run(f"  {share_figure(block.share)}{each}", SHARE))
        return tuple(runs)

    def lines(self, block: Block, indent: int) -> Iterator[Line]:
        """All about a block; `indent` is where the columns after the head begin."""
        flow = self.flow
        head = self.head(block)
        width = flow.measure(head)
        wide = flow.width >= 2 * indent
        gap = indent - width if wide and indent > width else 2
        hanging = indent if wide else 2
        pieces = [self.rule(block), *self.state(block), *self.fields(block)]
        yield from flow.lines(pieces, head=(*head, Run(" " * gap, TEXT)), indent=hanging)
        for reason in block.component.reasons:
            yield from flow.sentence(reason, MUTED, hanging)

    def short(self, block: Block, indent: int = 0) -> Line:
        """The block in one line: head, rule and state, then as many fields as fit; in columns if there is an indent."""
        flow = self.flow
        head, between = self.head(block), Run(flow.separator, FAINT)
        gap = indent - flow.measure(head)
        first = [*head, Run(" " * gap, TEXT) if gap > 0 and flow.width >= 2 * indent else between, *self.rule(block)]
        for state in self.state(block):
            first += [between, *state]
        return flow.cut([tuple(first), *self.fields(block)])

    def state(self, block: Block) -> Iterator[Line]:
        """The state of the rank, or how many ranks are in which."""
        if self.observation is None:
            return
        found = [self.observation.rank(block.component.name, rank) for rank in block.ranks]
        known = [state for state in found if state is not None]
        if len(block.ranks) == 1:
            yield from (state_piece(self.flow, state) for state in known)
            return
        tally = Counter(state.state for state in known)
        for state in ATTENTION:
            if state != "stale" and tally[state]:
                yield (Run(f"{self.flow.pen.glyphs.states[state]} {tally[state]} {state}", STATE_STYLES[state]),)

    def rule(self, block: Block) -> Line:
        """`← actor: 0-15  line 6`, with the part of the rule that counts for the rank."""
        pen = self.flow.pen
        component = block.component
        rule = component.rule
        keys = pen.clean(",".join(rule.keys) or component.name)
        style = Style("component", pen.order[component.name])
        runs = [Run("<- " if pen.ascii else "← ", FAINT), Run(f"{keys}: {pen.clean(rule.text)}", style)]
        part = self._segment(block)
        if part:
            runs.append(Run(f" part {pen.clean(part)}", MUTED))
        place = self.locate(rule.path)
        if place is not None:
            runs.append(Run(f"  line {place[0]}", MUTED))
        return tuple(runs)

    def _segment(self, block: Block) -> str:
        rule = block.component.rule
        # Packed components number their processes anew: their segments only say which devices are meant.
        if len(rule.segments) < 2 or block.component.strategy == "packed" or len(block.ranks) > 1:
            return ""
        parts = [segment for segment in rule.segments if block.ranks[0] in segment.processes]
        return rule.text[slice(*parts[0].span)].strip() if parts else ""

    def fields(self, block: Block) -> Iterator[Line]:
        """What the placement says, in words."""
        if len(block.ranks) > 1:
            if block.share is not None:
                yield self.flow.text(f"{share_figure(block.share * len(block.ranks))} together", MUTED)
            yield self.flow.text(f"of {count(block.component.world_size, 'rank')}", MUTED)
            return
        for text in self._fields(block.component, block.ranks[0]):
            yield self.flow.text(text, MUTED)

    def _fields(self, component: Component, rank: int) -> Iterator[str]:
        placement = component.placements[rank]
        kind = self.plan.kind_of(placement)
        owned = placement.local_hardware_ranks
        if self.plan.mode == "slime" and component.name == "rollout":
            engine, part = divmod(rank, component.parts_per_engine)
            yield f"engine {engine}" + (
                f" part {part} of {component.parts_per_engine}" if component.parts_per_engine > 1 else ""
            )
        if owned:
            noun = "GPU" if kind == GPU else kind
            yield f"{noun}{'s' if len(owned) > 1 else ''} {self.numbers(owned)}"
        else:
            yield "on the node"
        yield f"rank {rank} of {component.world_size}"
        yield f"local rank {placement.local_rank} of {placement.local_world_size}"
        yield f"node rank {placement.placement_node_rank}"
        yield f"cluster node {placement.cluster_node_rank}"
        if placement.local_accelerator_rank >= 0:
            yield f"first accelerator {placement.local_accelerator_rank}"
        visible = placement.visible_accelerators
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

"""What the user does to the placement in the grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.style import Style as RichStyle
from textual import work

from placetui.grid import Place, Style, clean
from placetui.placement.edit_types import (
    Add,
    Assign,
    Join,
    Move,
    Operation,
    PutOnGroup,
    Refusal,
    Remove,
    Rename,
    Resize,
    SetMode,
    SetShare,
    Spread,
    Swap,
    Unassign,
)
from placetui.placement.settings import MODES
from placetui.tui.screens.ask import AskScreen
from placetui.tui.screens.choose import Answer, ChooseScreen
from placetui.tui.screens.text_actions import TextActions

if TYPE_CHECKING:
    from placetui.tui.view import View

NEW = "\0new"
DEFAULT = "default"


class EditActions(TextActions):
    """The editing half of the main screen."""

    view: View
    _last_subject: tuple[Place | None, str] = (None, "")
    """Whom the last edit was about, and where the cursor was then: the next one is about the same."""

    @property
    def _selected(self) -> tuple[Place, ...]:
        return self.grid.selected

    def _here(self) -> list[str]:
        """Components on the selected devices, in file order."""
        places = set(self._selected)
        plan = self.session.plan
        found = {
            occupant.component
            # The grid shows the last plan with nodes: in the file as it is now they may be missing.
            for node in {place.node for place in places if place.node < len(plan.nodes)}
            for device in plan.devices_of(node)
            if Place(device.node, device.kind, device.index) in places
            for occupant in device.occupants
        }
        return [name for name in plan.components if name in found]

    async def _choose_component(self, title: str, names: Sequence[str], *, new: bool = False) -> str | None:
        marks = self.grid.drawing.marks if self.grid.drawing else {}
        answers = [
            Answer(
                name,
                clean(name, self._ascii),
                clean(self.session.plan.components[name].rule.text, self._ascii),
                marks[name].mark.lower() if name in marks else "",
                self._palette.rich_style(Style("component", marks[name].index, bold=True)) if name in marks else None,
            )
            for name in names
        ]
        if new:
            answers.append(Answer(NEW, "a new component", key="+", style=RichStyle(bold=True)))
        return await self.app.push_screen_wait(ChooseScreen(title, answers))

    async def _subject(self, title: str) -> str | None:
        """The component that is meant: the highlighted one, the only one here, or the one that is chosen."""
        if self.view.component is not None:
            return self.view.component
        where, name = self._last_subject
        if where == self.grid.emphasis.cursor and name in self.session.plan.components:
            return name
        here = self._here() or list(self.session.plan.components)
        return here[0] if len(here) == 1 else await self._choose_component(title, here)

    # In the grid

    @work
    async def action_assign(self) -> None:
        """Put a component on the selected devices."""
        places = self._selected
        name = await self._choose_component("put on the selected devices", list(self.session.plan.components), new=True)
        if name == NEW:
            answer = await self.app.push_screen_wait(AskScreen("new component", "Its name:"))
            if answer is not None:
                self._edit(Add(answer, places))
        elif name is not None:
            self._edit(Assign(name, places))

    @work
    async def action_take_off(self) -> None:
        """Take a component off the selected devices."""
        places, here = self._selected, self._here()
        if not here:
            self.notify("nothing is placed here", markup=False)
            return
        name = here[0] if len(here) == 1 else await self._choose_component("take off the selected devices", here)
        if name is not None:
            self._edit(Unassign(name, places))

    def action_move_back(self) -> None:
        self._move(-1, "device")

    def action_move_on(self) -> None:
        self._move(1, "device")

    def action_move_up(self) -> None:
        self._move(-1, "node")

    def action_move_down(self) -> None:
        self._move(1, "node")

    def _move(self, by: int, unit: str) -> None:
        self._with_subject("move", lambda name: Move(name, by, "node" if unit == "node" else "device"))

    def action_grow(self) -> None:
        self._with_subject("grow", lambda name: Resize(name, self._process_size(name)))

    def action_shrink(self) -> None:
        self._with_subject("shrink", lambda name: Resize(name, -self._process_size(name)))

    def _process_size(self, name: str) -> int:
        """Devices of one process, the least by which a component can grow."""
        component = self.session.plan.components[name]
        return max(1, len(component.placements[-1].local_hardware_ranks)) if component.world_size else 1

    @work
    async def _with_subject(self, title: str, operation: Callable[[str], Operation]) -> None:
        name = await self._subject(title)
        if name is None:
            return
        rank = self._rank_here(name)
        self._edit(operation(name))
        self._go_with(name, rank)
        self._last_subject = self.grid.emphasis.cursor, name

    def _rank_here(self, name: str) -> int | None:
        """The rank of a component under the cursor."""
        cursor, plan = self.grid.emphasis.cursor, self.session.plan
        # As in `_here`: the node may be missing by now.
        for device in plan.devices_of(cursor.node) if cursor.node < len(plan.nodes) else ():
            if Place(device.node, device.kind, device.index) == cursor:
                return next((one.rank for one in device.occupants if one.component == name), None)
        return None

    def _go_with(self, name: str, rank: int | None) -> None:
        """Keep the cursor on a rank that may have moved."""
        component = self.session.plan.components.get(name)
        if rank is None or component is None or rank >= component.world_size or self._rank_here(name) == rank:
            return
        placement = component.placements[rank]
        kind = self.session.plan.kind_of(placement)
        self.grid.set_cursor(Place(placement.cluster_node_rank, kind, next(iter(placement.local_hardware_ranks), 0)))

    @work
    async def action_more(self) -> None:
        """Everything else that can be done to a component."""
        name = await self._subject("which component?")
        if name is None:
            return
        answers = [
            Answer("swap", "swap places with another", key="s"),
            Answer("spread", "processes per device, devices per process", key="p"),
            Answer("group", "put it on a node group", key="g"),
            Answer("share", "its share of a device", key="h"),
            Answer("rename", "rename it", key="r"),
            Answer("join", "share the rule of another", key="j"),
            Answer("remove", "remove it from the file", key="x"),
            Answer("mode", "the mode of the file", key="m"),
        ]
        wanted = await self.app.push_screen_wait(ChooseScreen(clean(name, self._ascii), answers))
        operation = await self._ask_for(wanted, name) if wanted is not None else None
        if operation is not None:
            self._edit(operation)

    async def _ask_for(self, wanted: str, name: str) -> Operation | None:
        """The operation that was chosen, with what it still needs."""
        plan = self.session.plan
        if wanted == "remove":
            return Remove(name)
        if wanted in ("swap", "join"):
            others = [other for other in plan.components if other != name]
            other = await self._choose_component("with which one?", others)
            return None if other is None else Swap(name, other) if wanted == "swap" else Join(name, other)
        if wanted == "group":
            groups = [Answer(label, clean(label, self._ascii)) for label in plan.groups]
            label = await self.app.push_screen_wait(ChooseScreen("node group", groups))
            return None if label is None else PutOnGroup(name, (label,))
        if wanted == "mode":
            modes = [Answer(DEFAULT, "what the file says otherwise"), *(Answer(mode, mode) for mode in MODES)]
            mode = await self.app.push_screen_wait(ChooseScreen("mode of the file", modes))
            return None if mode is None else SetMode(None if mode == DEFAULT else mode)
        return await self._ask_for_text(wanted, name)

    async def _ask_for_text(self, wanted: str, name: str) -> Operation | None:
        component = self.session.plan.components[name]
        if wanted == "rename":
            answer = await self.app.push_screen_wait(AskScreen("rename", "Its new name:", name))
            return None if answer is None else Rename(name, answer)
        if wanted == "share":
            now = "" if component.share is None else f"{component.share:g}"
            answer = await self.app.push_screen_wait(
                AskScreen("share", "Its fraction of a device; `default` for the usual one:", now)
            )
            return None if answer is None else self._share(name, answer)
        question = "Processes per device as `2x`, devices per process as `/2`:"
        answer = await self.app.push_screen_wait(AskScreen("spread", question, "2x"))
        return None if answer is None else self._spread(name, answer)

    def _share(self, name: str, answer: str) -> Operation | None:
        if answer == DEFAULT:
            return SetShare(name, None)
        try:
            return SetShare(name, float(answer))
        except ValueError:
            self._refuse(Refusal(f"`{answer}` is no number", "write for example 0.8"))
            return None

    def _spread(self, name: str, answer: str) -> Operation | None:
        digits = answer.strip("x/ ")
        if not digits.isdecimal() or not int(digits):
            self._refuse(Refusal(f"`{answer}` says neither how many processes nor how many devices", "write 2x or /2"))
            return None
        if answer.strip().startswith("/"):
            return Spread(name, devices_per_process=int(digits))
        return Spread(name, processes_per_device=int(digits))

    @work
    async def action_edit_rule(self) -> None:
        """Edit the rule of a component in place."""
        name = await self._subject("edit the rule of")
        if name is None:
            return
        if self.session.plan.mode == "slime":
            self._refuse(Refusal("slime files have no rules", "press E and change slime's arguments"))
            return
        self._open_rule(name)

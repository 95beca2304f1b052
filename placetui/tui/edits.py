"""What the user does to the placement in the grid: edits of the file about the selected devices."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partialmethod
from typing import Literal

from textual.app import App

from placetui.frameworks.registry import framework_of
from placetui.grid import Place, clean
from placetui.placement.edits import (
    Add,
    Arrange,
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
from placetui.placement.problems import Problem
from placetui.placement.wording import count, place_text
from placetui.tui.cluster.requests import flow
from placetui.tui.dialogs.ask import AskScreen
from placetui.tui.dialogs.choose import SHIFTED, Answer, ChooseScreen, component_answers
from placetui.tui.panes.grid import GridPane
from placetui.tui.selection import ranks_at
from placetui.tui.workspace import Workspace

NEW = "\0new"
DEFAULT = "default"
ONLY_HERE = "shift+letter: only here, the component leaves its other devices."


class Edits:
    """Asks what an edit needs to know, and makes it."""

    def __init__(
        self,
        app: App[int],
        workspace: Workspace,
        grid: GridPane,
        *,
        write_rule: Callable[[str], Awaitable[None]],
        edit_text: Callable[[], Awaitable[None]],
        problem: Callable[[], Problem | None],
        ascii: bool,
    ) -> None:
        self.app = app
        self._workspace = workspace
        self._grid = grid
        self._write_rule = write_rule
        self._edit_text = edit_text
        self._problem = problem
        """The problem that is selected in place of devices."""

        self._ascii = ascii
        self._last: tuple[Place | None, str] = (None, "")
        """Where the cursor was after the last edit, and whom that was about: the next one is about the same."""

    def _here(self) -> list[str]:
        """Components on the selected devices, in file order."""
        plan = self._workspace.session.plan
        found = {name for place in self._grid.target.places for name, _ in ranks_at(plan, place, 1 << 20)}
        return [name for name in plan.components if name in found]

    def _target_words(self) -> str:
        """`node0/gpu3`, or how many devices the next edit is about."""
        places = self._grid.target.places
        if len(places) != 1:
            return f"{len(places)} selected devices"
        (place,) = places
        node = self._workspace.session.plan.nodes[place.node].name
        return clean(place_text(node, place.kind, [place.index]), self._ascii)

    async def _choose_component(
        self, title: str, names: Sequence[str], question: str = "", *, new: bool = False, shifted: str = ""
    ) -> str | None:
        components = self._workspace.session.plan.components
        answers = component_answers(self._grid, [components[name] for name in names], ascii=self._ascii)
        if new:
            answers.append(Answer(NEW, "a new component", key="+"))
        chosen = await self.app.push_screen_wait(ChooseScreen(title, answers, question, shifted=shifted))
        if chosen is None or chosen == NEW or self._is_there(chosen.removeprefix(SHIFTED)):
            return chosen
        return None

    def _is_there(self, name: str) -> bool:
        """Whether the file still has a component: it can change on disk while a dialog is open."""
        if name in self._workspace.session.plan.components:
            return True
        self.app.notify(f"{clean(name, self._ascii)} is no longer in the file", severity="warning", markup=False)
        return False

    async def _subject(self, title: str) -> str | None:
        """The component that is meant: the highlighted one, the only one here, or the one that is chosen."""
        meant = self._meant()
        return meant[0] if len(meant) == 1 else await self._choose_component(title, meant)

    def _meant(self) -> list[str]:
        """The highlighted component, the one of the last edit here, all that are here, or all there are."""
        components = self._workspace.session.plan.components
        if self._grid.look.component is not None:
            return [self._grid.look.component]
        where, name = self._last
        return [name] if where == self._grid.cursor and name in components else self._here() or list(components)

    # On the selected devices

    @flow
    async def assign(self) -> None:
        places = self._grid.target.places
        names = list(self._workspace.session.plan.components)
        title = f"Assign to {self._target_words()}"
        name = await self._choose_component(title, names, ONLY_HERE, new=True, shifted="only here")
        if name == NEW:
            answer = await self.app.push_screen_wait(AskScreen("New component", "Name:"))
            if answer is not None:
                self._workspace.edit(Add(answer, places))
        elif name is not None and name.startswith(SHIFTED):
            self._only_here(name.removeprefix(SHIFTED), places)
        elif name is not None:
            self._workspace.edit(Assign(name, places))

    def _only_here(self, name: str, places: Sequence[Place]) -> None:
        """Move a component to these devices, as many to a process as it has now."""
        size = self._process_size(name)
        if len(places) % size:
            reason = f"{count(len(places), 'device')} cannot be divided into processes of {size}"
            self._workspace.refuse(Refusal(reason, f"select a multiple of {size}"))
            return
        processes = (tuple(places[start : start + size]) for start in range(0, len(places), size))
        self._workspace.edit(Arrange(name, tuple(processes)))

    @flow
    async def take_off(self) -> None:
        places, here = self._grid.target.places, self._here()
        if not here:
            self.app.notify("nothing is placed here", markup=False)
            return
        title = f"Unassign from {self._target_words()}"
        name = here[0] if len(here) == 1 else await self._choose_component(title, here)
        if name is not None:
            self._workspace.edit(Unassign(name, places))

    # A component as a whole

    def _move(self, steps: int, by: Literal["device", "node"]) -> None:
        self._with_subject("Move which component?", lambda name: Move(name, steps, by))

    def _resize(self, title: str, processes: int) -> None:
        self._with_subject(title, lambda name: Resize(name, processes * self._process_size(name), self._grid.cursor))

    move_back = partialmethod(_move, -1, "device")
    move_on = partialmethod(_move, 1, "device")
    move_up = partialmethod(_move, -1, "node")
    move_down = partialmethod(_move, 1, "node")
    grow = partialmethod(_resize, "Grow which component?", 1)
    shrink = partialmethod(_resize, "Shrink which component?", -1)

    def _process_size(self, name: str) -> int:
        """Devices of one process, the one under the cursor or the last: the least by which a component can grow."""
        component = self._workspace.session.plan.components.get(name)
        if component is None or not component.world_size:
            return 1
        rank = self._rank_here(name)
        return max(1, len(component.placements[-1 if rank is None else rank].devices))

    @flow
    async def _with_subject(self, title: str, operation: Callable[[str], Operation]) -> None:
        name = await self._subject(title)
        if name is None:
            return
        rank = self._rank_here(name)
        self._workspace.edit(operation(name))
        self._go_with(name, rank)
        self._last = self._grid.cursor, name

    def _rank_here(self, name: str) -> int | None:
        """The rank of a component under the cursor."""
        ranks = ranks_at(self._workspace.session.plan, self._grid.cursor, 1 << 20)
        return next((rank for component, rank in ranks if component == name), None)

    def _go_with(self, name: str, rank: int | None) -> None:
        """Keep the cursor on a rank that may have moved."""
        plan = self._workspace.session.plan
        component = plan.components.get(name)
        if rank is None or component is None or rank >= component.world_size or self._rank_here(name) == rank:
            return
        placement = component.placements[rank]
        index = next(iter(placement.devices), 0)
        self._grid.go_to(Place(placement.cluster_node_rank, plan.kind_of(placement), index))

    async def edit_rule(self) -> None:
        """Open the rule of the first component that is meant; where there is none, the text."""
        session, problem = self._workspace.session, self._problem()
        if problem is not None:
            rule = None if problem.component is None else session.rule_text(problem.component)
            await (self._edit_text() if rule is None else self._write_rule(problem.component or ""))
            return
        if framework_of(session.plan).rules_at is None:
            await self._edit_text()
        elif meant := self._meant():
            await self._write_rule(meant[0])

    def resized_rule(self, processes: int) -> str | None:
        """The rule that is typed, for so many processes more; None if that is not possible, and a notice says why."""
        name, workspace = self._workspace.drafting, self._workspace
        operation = Resize(name, processes * self._process_size(name), self._grid.cursor)
        result = workspace.editor.preview(workspace.session, operation)
        if isinstance(result, Refusal):
            workspace.refuse(result)
            return None
        return result.rule_text(name)

    # Everything else

    @flow
    async def more(self) -> None:
        name = await self._subject("Change which component?")
        if name is None:
            return
        answers = [
            Answer("only", "move it to the selected devices", key="o"),
            Answer("swap", "swap places with another", key="s"),
            Answer("spread", "spread: processes per device, or devices per process", key="p"),
            Answer("group", "put it on a node group", key="g"),
            Answer("share", "its share of a device", key="h"),
            Answer("rename", "rename it", key="r"),
            Answer("join", "share the rule of another", key="j"),
            Answer("remove", "remove it from the file", key="x"),
            Answer("mode", "the mode of the file", key="m"),
        ]
        places = self._grid.target.places
        wanted = await self.app.push_screen_wait(ChooseScreen(clean(name, self._ascii), answers))
        if wanted is None or not self._is_there(name):
            return
        if wanted == "only":
            self._only_here(name, places)
            return
        operation = await self._ask_for(wanted, name)
        if operation is not None:
            self._workspace.edit(operation)

    async def _ask_for(self, wanted: str, name: str) -> Operation | None:
        """The operation that was chosen, with what it still needs."""
        plan = self._workspace.session.plan
        if wanted == "remove":
            return Remove(name)
        if wanted in ("swap", "join"):
            others = [other for other in plan.components if other != name]
            verb = f"Swap {clean(name, self._ascii)} with" if wanted == "swap" else "Share the rule of"
            other = await self._choose_component(f"{verb} which component?", others)
            return None if other is None else Swap(name, other) if wanted == "swap" else Join(name, other)
        if wanted == "group":
            groups = [Answer(label, clean(label, self._ascii)) for label in plan.topology.groups]
            label = await self.app.push_screen_wait(ChooseScreen("Node group", groups))
            return None if label is None else PutOnGroup(name, (label,))
        if wanted == "mode":
            known = framework_of(plan).modes
            modes = [Answer(DEFAULT, "as in the file"), *(Answer(mode, mode) for mode in known)]
            mode = await self.app.push_screen_wait(ChooseScreen("Mode of the file", modes))
            return None if mode is None else SetMode(None if mode == DEFAULT else mode)
        return await self._ask_for_text(wanted, name)

    async def _ask_for_text(self, wanted: str, name: str) -> Operation | None:
        component = self._workspace.session.plan.components[name]
        if wanted == "rename":
            answer = await self.app.push_screen_wait(AskScreen("Rename", "New name:", name))
            return None if answer is None else Rename(name, answer)
        if wanted == "share":
            now = "" if component.share is None else f"{component.share:g}"
            question = "Share of a device, such as 0.8, or default:"
            answer = await self.app.push_screen_wait(AskScreen("Share", question, now))
            return None if answer is None else self._share(name, answer)
        question = "Processes per device (2x), or devices per process (/2):"
        answer = await self.app.push_screen_wait(AskScreen("Spread", question, "2x"))
        return None if answer is None else self._spread(name, answer)

    def _share(self, name: str, answer: str) -> Operation | None:
        if answer == DEFAULT:
            return SetShare(name, None)
        try:
            return SetShare(name, float(answer))
        except ValueError:
            self._workspace.refuse(Refusal(f"`{answer}` is not a number", "write for example 0.8"))
            return None

    def _spread(self, name: str, answer: str) -> Operation | None:
        digits = answer.strip("x/ ")
        if not digits.isdecimal() or not int(digits):
            reason = f"`{answer}` is neither a number of processes nor of devices"
            self._workspace.refuse(Refusal(reason, "write 2x or /2"))
            return None
        if answer.strip().startswith("/"):
            return Spread(name, devices_per_process=int(digits), at=self._grid.cursor)
        return Spread(name, processes_per_device=int(digits))

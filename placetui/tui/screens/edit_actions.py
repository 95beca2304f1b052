"""What the user does to the placement: edits in the grid, as text, undo, save."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.style import Style as RichStyle
from textual import work
from textual.message import Message
from textual.screen import Screen
from textual.widgets import TextArea

from placetui.document.save import Conflict, NotSaved, Saved
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
    WriteRule,
)
from placetui.placement.settings import MODES
from placetui.tui.editing import Editor
from placetui.tui.screens.ask import AskScreen
from placetui.tui.screens.choose import Answer, ChooseScreen
from placetui.tui.screens.save import SaveScreen
from placetui.tui.session import Session
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.rule_bar import RuleBar
from placetui.tui.widgets.yaml_view import YamlView

if TYPE_CHECKING:
    from placetui.tui.view import View
    from placetui.tui.widgets.grid_view import GridView

NEW = "\0new"
DEFAULT = "default"


class EditActions(Screen[None]):
    """The editing half of the main screen."""

    @dataclass
    class Edited(Message):
        """The text is another one now."""

    session: Session
    editor: Editor
    view: View
    _palette: GridPalette
    _ascii: bool

    if TYPE_CHECKING:

        @property
        def grid(self) -> GridView: ...

        def show_session(self, session: Session) -> None: ...

        async def _show_yaml(self) -> YamlView: ...

        def _update_status(self) -> None: ...

    # How an edit is made

    def _edit(self, operation: Operation) -> None:
        """Make an edit, or say why not; the grid follows."""
        result = self.editor.do(self.session, operation)
        if isinstance(result, Refusal):
            self._refuse(result)
            return
        self._after_edit(result)
        self.notify(self.editor.history.undo_label or "", timeout=2, markup=False)

    def _after_edit(self, session: Session) -> None:
        self.show_session(session)
        self._keep_soon()
        self.post_message(self.Edited())

    def _refuse(self, refusal: Refusal) -> None:
        text = f"{refusal.reason}; {refusal.hint}" if refusal.hint else refusal.reason
        self.notify(clean(text, self._ascii), title="not possible", severity="warning", timeout=8, markup=False)

    def _keep_soon(self) -> None:
        """Unsaved work is kept a moment after the last edit."""
        self._keeping = self.set_timer(0.5, self.editor.keep, name="keep unsaved work")

    @property
    def _selected(self) -> tuple[Place, ...]:
        return self.grid.selected

    def _here(self) -> list[str]:
        """Components on the selected devices, in file order."""
        places = set(self._selected)
        plan = self.session.plan
        found = {
            occupant.component
            for node in {place.node for place in places}
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
        self._with_subject("grow", lambda name: Resize(name, 1))

    def action_shrink(self) -> None:
        self._with_subject("shrink", lambda name: Resize(name, -1))

    @work
    async def _with_subject(self, title: str, operation: Callable[[str], Operation]) -> None:
        name = await self._subject(title)
        if name is not None:
            self._edit(operation(name))

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

    # As text

    @work
    async def action_edit_rule(self) -> None:
        """Edit the rule of a component in place."""
        name = await self._subject("edit the rule of")
        if name is None:
            return
        if self.session.plan.mode == "slime":
            self._refuse(Refusal("slime files have no rules", "press E and change slime's arguments"))
            return
        self._before_rule = self.session
        self.query_one(RuleBar).edit(name, self.session.plan.components[name].rule.text.strip())

    def on_rule_bar_typed(self, event: RuleBar.Typed) -> None:
        before = self._before_rule
        result = self.editor.preview(before, WriteRule(event.component, event.text))
        bar = self.query_one(RuleBar)
        if isinstance(result, Refusal):
            bar.say(clean(result.reason, self._ascii), wrong=True)
            return
        size = result.plan.components[event.component].world_size
        bar.say(f"{size} rank{'s' * (size != 1)}")
        self.show_session(result)

    def on_rule_bar_done(self, event: RuleBar.Done) -> None:
        self._close_rule()
        self._edit(WriteRule(event.component, event.text))

    def on_rule_bar_cancelled(self) -> None:
        self._close_rule()

    def _close_rule(self) -> None:
        self.query_one(RuleBar).close()
        self.show_session(self._before_rule)
        self.grid.focus()

    async def action_edit_yaml(self) -> None:
        """Edit the whole file as text, with the grid beside it."""
        self.add_class("-editing")
        await self._show_yaml()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        if self.has_class("-editing") and event.text_area.text != self.editor.history.text:
            self._typing = self.set_timer(0.15, self._typed, name="typing")

    def _typed(self) -> None:
        text = self.query_one(YamlView).text
        if text != self.editor.history.text:
            self._after_edit(self.editor.type(self.session, text))

    def restore(self, text: str) -> None:
        """Go on with unsaved work of an earlier run."""
        self._after_edit(self.editor.type(self.session, text))

    # Undo, redo, save

    def action_undo(self) -> None:
        self._step(self.editor.undo(self.session), "undone", "nothing to undo")

    def action_redo(self) -> None:
        self._step(self.editor.redo(self.session), "done again", "nothing to redo")

    def on_yaml_view_step(self, event: YamlView.Step) -> None:
        self._typed()
        self.action_undo() if event.direction == "undo" else self.action_redo()

    def _step(self, result: tuple[str, Session] | None, word: str, nothing: str) -> None:
        if result is None:
            self.notify(nothing, timeout=2, markup=False)
            return
        label, session = result
        self._after_edit(session)
        self.notify(f"{word}: {clean(label, self._ascii)}", timeout=2, markup=False)

    @work
    async def action_save(self) -> None:
        """Save, after showing what changes."""
        await self.save()

    async def save(self) -> bool:
        """Save as the user wants it; whether it was saved."""
        if not self.editor.dirty:
            self.notify("nothing has changed", timeout=2, markup=False)
            return True
        name = clean(os.path.basename(self.editor.path), self._ascii)
        title = f"save {name}" if self.editor.write else f"{name} is read-only: save as a new file"
        review = self.editor.review(self.session)
        if not await self.app.push_screen_wait(SaveScreen(title, review, self._palette, self._ascii)):
            return False
        if not self.editor.write:
            return await self._save_as()
        return await self._told(self.editor.save(self.session))

    async def _save_as(self) -> bool:
        stem, suffix = os.path.splitext(self.editor.path)
        question = "The opened file stays as it is (start with --write to change it). A new file:"
        answer = await self.app.push_screen_wait(AskScreen("save as", question, f"{stem}-new{suffix}"))
        if answer is None:
            return False
        return await self._told(self.editor.save_as(self.session, os.path.expanduser(answer)))

    async def _told(self, result: Saved | Conflict | NotSaved) -> bool:
        """Say how a save went, and ask what to do about a file that somebody else changed."""
        if isinstance(result, Saved):
            self.notify(f"saved {clean(self.editor.path, self._ascii)}", markup=False)
            self._update_status()
            return True
        if isinstance(result, NotSaved):
            self._refuse(Refusal(result.message, result.hint))
            return False
        answers = [
            Answer("mine", "keep mine, overwrite the file", key="m"),
            Answer("theirs", "take theirs, forget my changes (undo brings them back)", key="t"),
            Answer("see", "see the difference first", key="d"),
        ]
        question = "The file changed on disk since it was read. Nothing was written."
        answer = await self.app.push_screen_wait(ChooseScreen("somebody else saved this file", answers, question))
        if answer == "see":
            review = self.editor.against(result)
            if not await self.app.push_screen_wait(SaveScreen("theirs to mine", review, self._palette, self._ascii)):
                return False
            answer = "mine"
        if answer == "mine":
            return await self._told(self.editor.save(self.session, overwrite=result))
        if answer == "theirs" and result.theirs is not None:
            self._after_edit(self.editor.take_theirs(self.session, result))
        return False

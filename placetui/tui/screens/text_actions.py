"""Edits as text: a rule in place, or the whole file; the grid follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.timer import Timer
from textual.widgets import TextArea

from placetui.grid import clean
from placetui.grid.inspector import Inspection, problem_lines
from placetui.placement.edit_types import Operation, Refusal, WriteRule
from placetui.placement.problems import Problem
from placetui.tui.screens.save_actions import SaveActions
from placetui.tui.session import Session
from placetui.tui.widgets.rule_bar import RuleBar
from placetui.tui.widgets.yaml_view import YamlView

if TYPE_CHECKING:
    from placetui.tui.widgets.grid_view import GridView

TYPING_PAUSE = 0.15
"""Seconds that typing in the whole file may run ahead of the grid."""


class TextActions(SaveActions):
    """What the user writes."""

    _typing: Timer | None = None
    _before_rule: Session

    if TYPE_CHECKING:

        @property
        def grid(self) -> GridView: ...

        @property
        def _showing(self) -> str: ...

        async def _show_yaml(self) -> YamlView: ...

    def _edit(self, operation: Operation) -> None:
        """Make an edit, or say why not; the grid follows."""
        self.settle()
        result = self.editor.do(self.session, operation)
        if isinstance(result, Refusal):
            self._refuse(result)
            return
        self._after_edit(result)
        self.notify(clean(self.editor.history.undo_label or "", self._ascii), timeout=2, markup=False)

    def settle(self) -> None:
        """What is being written is taken over, before something else is done to the text that is on screen."""
        typed = self._typed_text()
        for bar in self.query(RuleBar):
            if bar.display:
                self._finish_rule(bar.component, bar.text)
        if typed is not None:
            self._after_edit(self.editor.type(self.session, typed))
            self.query_one(YamlView).show(self.session.text, self.session.problems)

    # What is wrong

    def _wrong_here(self, width: int) -> Inspection | None:
        """The problem in the line of the text that the cursor is on."""
        problem = self.query_one(YamlView).problem if self._showing == "yaml" else None
        return None if problem is None else self._problem_lines([problem], width)

    def _problem_lines(self, problems: Sequence[Problem], width: int) -> Inspection:
        found = (problem_lines(self.session.plan, one, width, ascii=self._ascii) for one in problems)
        return Inspection([line for lines in found for line in lines])

    # A rule in place

    def _open_rule(self, name: str) -> None:
        self.settle()
        self._before_rule = self.session
        self.query_one(RuleBar).edit(name, self.session.plan.components[name].rule.text.strip())

    def on_rule_bar_typed(self, event: RuleBar.Typed) -> None:
        bar = self.query_one(RuleBar)
        if not bar.display or bar.component != event.component:
            return
        before = self._before_rule
        result = self.editor.preview(before, WriteRule(event.component, event.text))
        if isinstance(result, Refusal):
            bar.say(clean(result.reason, self._ascii), wrong=True)
            return
        size = result.plan.components[event.component].world_size
        bar.say(f"{size} rank{'s' * (size != 1)}")
        self.show_session(result)

    def on_rule_bar_done(self, event: RuleBar.Done) -> None:
        self._finish_rule(event.component, event.text)

    def on_rule_bar_cancelled(self) -> None:
        self._close_rule()

    def _finish_rule(self, component: str, text: str) -> None:
        before = self._before_rule.plan.components[component].rule.text.strip()
        self._close_rule()
        if text.strip() != before:
            self._edit(WriteRule(component, text))

    def _close_rule(self) -> None:
        self.query_one(RuleBar).close()
        self.show_session(self._before_rule)
        self.grid.focus()
        # The live picture may have followed what was only tried.
        self.post_message(self.Edited())

    # The whole file

    async def action_edit_yaml(self) -> None:
        """Edit the whole file as text, with the grid beside it."""
        self.settle()
        self.add_class("-editing")
        await self._show_yaml()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        if self._typing is None and self._typed_text() is not None:
            self._typing = self.set_timer(TYPING_PAUSE, self._take_typing, name="typing")

    def _take_typing(self) -> None:
        self._typing = None
        if self._typed_text() is not None:
            self.settle()

    def _typed_text(self) -> str | None:
        """The file as the user wrote it, where that is not known yet."""
        pane = next(iter(self.query(YamlView)), None)
        return pane.written if pane is not None and pane.typed else None

    def on_yaml_view_step(self, event: YamlView.Step) -> None:
        if event.direction == "undo":
            self.action_undo()
        else:
            self.action_redo()

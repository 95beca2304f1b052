"""A component's rule, edited in its place in the file; the grid follows each keystroke."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.reactive import reactive
from textual.widgets import Input

from placetui.grid import Pen, Run
from placetui.grid.look.style import MUTED, NAME
from placetui.grid.panels.rule import RuleText, aside_line, head_line, lines_above, lines_below
from placetui.placement.wording import listing
from placetui.tui.messages import RuleCancelled, RuleDone, RuleResized, RuleTyped
from placetui.tui.session import Preview
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.content import content_of
from placetui.tui.widgets.field import TextField
from placetui.tui.widgets.panel import StyledLines, name_border

ASIDE = 46
"""Columns at the right of a rule for what it was and what it gives."""

LOW = 5
"""Lines from which on there is room for other lines of the file."""

FIELD = 14
"""Columns of the field at least."""


class _RuleField(TextField):
    """No rule has brackets: they are left to the panel."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return character not in ("[", "]") and super().check_consume_key(key, character)


class RulePanel(Vertical):
    """The rule among the lines of the file. Typing replaces the rule; tab goes on to the next."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "next(1)", "next rule", show=False),
        Binding("shift+tab", "next(-1)", "previous rule", show=False),
        Binding("right_square_bracket", "resize(1)", "grow", show=False, priority=True),
        Binding("left_square_bracket", "resize(-1)", "shrink", show=False, priority=True),
    ]

    preview: reactive[Preview | None] = reactive(None, repaint=False, init=False, always_update=True)
    """None: no rule is edited."""

    palette: reactive[GridPalette | None] = reactive(None, repaint=False, init=False)

    def __init__(self, *, ascii: bool) -> None:
        super().__init__(id="rule-panel")
        self._ascii = ascii
        self._rule: RuleText | None = None
        self._pen: Pen | None = None

    def compose(self) -> ComposeResult:
        yield StyledLines(id="rule-above")
        with Horizontal():
            yield StyledLines(id="rule-head")
            yield _RuleField(id="rule", compact=True, select_on_focus=False)
            yield StyledLines(id="rule-aside")
        yield StyledLines(id="rule-below")

    def on_mount(self) -> None:
        self.display = False

    def edit(self, preview: Preview) -> None:
        """Begin to edit a rule: what is typed next belongs to it."""
        before = preview.before
        self._pen = Pen(before.plan, self._ascii, cell_len)
        self._rule = RuleText.of(preview.component, before.text, *before.rule_spans(preview.component))
        self.display = True
        field = self.query_one(Input)
        with self.prevent(Input.Changed):
            field.value = preview.text
        self.preview = preview
        self.screen.set_focus(field)
        field.select_all()

    def close(self) -> None:
        self.display = False
        self.preview = None

    def on_resize(self) -> None:
        self.call_after_refresh(self.update)

    def update(self) -> None:
        """Draw the lines around the field."""
        preview, rule, pen, palette = self.preview, self._rule, self._pen, self.palette
        width, height = self.content_size
        if preview is None or rule is None or pen is None or palette is None or not width:
            return
        if height < LOW:
            rule = replace(rule, number=0, before=f"{rule.component}: ")
        problems = preview.problems
        self.set_class(any(one.severity == "error" for one in problems), "-trouble")
        head = head_line(pen, rule, width)
        column = sum(cell_len(run.text) for run in head)
        aside = min(ASIDE, width - column - FIELD)
        above = lines_above(pen, rule, width, max(0, (height - 3) // 3))
        component = None if preview.refusal else preview.after.plan.components.get(preview.component)
        was = preview.was if preview.differs else ""
        placed = preview.before.plan.components.get(preview.component)
        others = [name for name in placed.rule.keys if name != rule.component] if placed else []
        note = f"{rule.component} gets a line of its own; {was} stays for {listing(others)}" if was and others else ""
        room = max(0, height - 1 - len(above))
        below = lines_below(pen, rule, problems, preview.text, column, width, room, note)
        for name, lines, size in (
            ("above", above, len(above)),
            ("head", [head], column),
            ("aside", [aside_line(pen, rule, was, component, aside)] if aside > 0 else [], max(0, aside)),
            ("below", below, None),
        ):
            part = self.query_one(f"#rule-{name}", StyledLines)
            if name == "above":
                part.styles.height = size
            elif size is not None:
                part.styles.width = size
            part.show(lines, palette)
        place = f"line {rule.number} of {pen.clean(preview.before.name)}" if rule.number else "the grid follows"
        title = (
            Run("Rule  ", NAME),
            Run(pen.clean(rule.component), pen.letter_style(rule.component)),
            Run(f"  {place}", MUTED),
        )
        name_border(self, content_of(title, palette), "enter apply  tab next rule  escape cancel")

    watch_preview = watch_palette = update

    @property
    def text(self) -> str:
        return self.query_one(Input).value

    @text.setter
    def text(self, text: str) -> None:
        self.query_one(Input).value = text

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.post_message(RuleTyped(event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(RuleDone())

    def action_next(self, steps: int) -> None:
        self.post_message(RuleDone(steps))

    def action_resize(self, processes: int) -> None:
        self.post_message(RuleResized(processes))

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape" and self.display:
            event.stop()
            self.post_message(RuleCancelled())

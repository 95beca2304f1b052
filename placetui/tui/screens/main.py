"""The main screen: grid, side bar, inspector, and what can be done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import ContentSwitcher, Input, Label

from placetui.grid import DENSITIES, Density, Drawing, Place, Run, Style, caption, clean, to_svg, to_text
from placetui.grid.find import find
from placetui.grid.inspector import Inspection, environment_lines, inspect
from placetui.observe.alerts import NO_THRESHOLDS, Thresholds
from placetui.placement.plan import GPU
from placetui.placement.problems import Problem
from placetui.tui.actions import bindings
from placetui.tui.content import text_of_lines
from placetui.tui.editing import Editor
from placetui.tui.screens.details import DetailsScreen
from placetui.tui.screens.edit_actions import EditActions
from placetui.tui.screens.table_actions import TableActions
from placetui.tui.session import Session
from placetui.tui.themes import GridPalette
from placetui.tui.view import View
from placetui.tui.widgets.grid_view import GridView
from placetui.tui.widgets.inspector_panel import InspectorPanel
from placetui.tui.widgets.key_bar import KeyBar
from placetui.tui.widgets.panels import ComponentList, LegendPanel, ProblemList
from placetui.tui.widgets.rule_bar import RuleBar
from placetui.tui.widgets.status_bar import Status, StatusBar
from placetui.tui.widgets.yaml_view import YamlView

LONGEST_COPY = 70_000
"""Characters that terminals take as one OSC 52 sequence."""


ROOM_FOR_BOTH = 110
"""Columns from which the grid stays beside the text that is edited."""


class MainScreen(TableActions, EditActions):
    """A file's placement, and what is known of the cluster behind it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("screen")

    def __init__(
        self,
        session: Session,
        editor: Editor,
        *,
        density: Density,
        ascii: bool,
        palette: GridPalette,
        rebound: Mapping[str, str],
        thresholds: Thresholds = NO_THRESHOLDS,
    ) -> None:
        super().__init__()
        self.watch_for(thresholds)
        self.open_tables()
        self.session = session
        self.editor = editor
        self.view = View(density)
        self._ascii = ascii
        self._palette = palette
        self._rebound = rebound
        self._problem = -1
        if ascii:
            self.add_class("-ascii")

    def compose(self) -> ComposeResult:
        yield StatusBar()
        with Horizontal(id="body"):
            with Vertical(id="side"):
                yield Label("components", classes="heading")
                yield ComponentList(id="components")
                yield Label("problems", classes="heading", id="problems-heading")
                yield ProblemList(id="problems")
                yield Label("legend", classes="heading")
                yield LegendPanel(id="legend")
            with ContentSwitcher(initial="grid", id="views"):
                yield GridView(id="grid")
        yield InspectorPanel(id="inspector")
        yield Input(placeholder=self.find_examples, id="find", compact=True)
        yield RuleBar(id="rule-bar")
        yield KeyBar(self._rebound, self._ascii)

    def on_mount(self) -> None:
        field = self.query_one("#find", Input)
        field.cursor_blink = False
        field.display = False
        self.grid.use_palette(self._palette)
        self.grid.focus()
        if self.early is not None:
            self.show_observation(self.early)

    @property
    def grid(self) -> GridView:
        return self.query_one("#grid", GridView)

    @property
    def writing_rule(self) -> bool:
        """Whether a rule is half written: what comes from elsewhere waits for its end."""
        return any(bar.display for bar in self.query(RuleBar))

    # Showing

    def show_session(self, session: Session) -> None:
        """Show another plan, or the same one with other problems."""
        other_plan = session.plan is not self.session.plan
        self.session = session
        if other_plan and self.view.hits.query:
            self.view = replace(self.view, hits=find(session.plan, self.view.hits.query), at=-1)
        if self.view.component not in session.plan.components:
            self.view = replace(self.view, component=None)
        self._draw()
        self._fill_panels()

    def discard(self) -> None:
        """Forget what is unsaved: off the screen too, for whoever stays after all."""
        self._after_edit(self.editor.discard(self.session))

    def use_palette(self, palette: GridPalette) -> None:
        """Colours of another theme."""
        self._palette = palette
        if self.is_mounted:
            self.grid.use_palette(palette)
            self._fill_panels()
            self._inspect()

    def _draw(self) -> None:
        plan, before = self.session.plan, self.grid.drawing
        # A grid that is hidden has no size: it is drawn for the one it had.
        width = self.grid.room or (before.requested_width if before else 0)
        if not width:
            return
        density, nodes = self.view.density, self.view.nodes(plan, self.observation)
        overlay = self._overlay(self.observation)
        if before is not None and before.plan is plan:
            drawing = before.change(density=density, width=width, nodes=nodes, overlay=overlay)
        else:
            drawing = Drawing(
                plan, density, ascii=self._ascii, width=width, cell_width=cell_len, nodes=nodes, overlay=overlay
            )
        self.grid.show(drawing)
        self.grid.emphasise(component=self.view.component, hits=self.view.hits.places)
        self._update_status()

    def _fill_panels(self) -> None:
        drawing, session = self.grid.drawing, self.session
        if drawing is None:
            return
        components = self.query_one(ComponentList)
        width = max(20, self.query_one("#side").content_size.width - 1)
        components.show(session.plan, drawing.marks, self._palette, self._ascii, self.view.component, width)
        problems = self.query_one(ProblemList)
        problems.show(session.problems, self._palette, self._ascii)
        problems.display = self.query_one("#problems-heading").display = bool(session.problems)
        self.query_one(LegendPanel).show(drawing, self._palette, width)
        if self._showing == "yaml":
            self._fill_yaml()
        self._fill_table()

    def _fill_yaml(self) -> None:
        pane = self.query_one(YamlView)
        if pane.typed and pane.written != self.session.text:
            return  # what is just being typed is not overwritten by what it was typed into
        pane.show(self.session.text, self.session.problems)

    def _update_status(self) -> None:
        session, plan = self.session, self.session.plan
        marks = ["edited"] if self.editor.dirty else ["as it is"] if session.pictured else []
        if session.old:
            marks.append("OLD: the file is broken")
        if session.tried:
            marks.append("what if")
        if self.view.narrowed:
            marks.append(f"filter: {self.view.hits.query}")
        if self.view.order != "rank":
            marks.append(f"by {self.view.order}")
        self.query_one(StatusBar).status = Status(
            file=session.file,
            topology=clean(caption(plan).replace("×", "x") if self._ascii else caption(plan), self._ascii),
            mode=plan.placement_mode or plan.mode,
            access="writable" if self.editor.write else "read-only",
            marks=tuple(marks),
            live=self.live_words,
            live_ok=self.live_ok,
            drift=len(self.overlay.drift) if self.overlay else 0,
            alerts=len(self.overlay.alerts) if self.overlay else 0,
            errors=session.errors,
            warnings=session.warnings,
            ascii=self._ascii,
        )

    def _inspection(self, place: Place, width: int, *, compact: bool = False, rows: int | None = None) -> Inspection:
        return inspect(
            self.session.plan,
            place,
            locate=self.session.locate,
            observation=self.observation,
            history=self.history,
            hour=self.hour,
            notices=[one.message for one in self.notices_at(place.node, place.index if place.kind == GPU else None)],
            width=width,
            ascii=self._ascii,
            compact=compact,
            rows=rows,
        )

    def _inspect(self) -> None:
        panel = self.query_one(InspectorPanel)
        if panel.display and not self.session.plan.nodes:
            width = max(20, panel.content_size.width)
            wrong = self._wrong_here(width) or self._problem_lines(self.session.problems[:1], width)
            panel.show(wrong, self._palette)
        elif panel.display:
            width = max(20, panel.content_size.width)
            compact = self.size.height < 30
            above = self._row_lines(width)
            rows = None if panel.room is None else panel.room - len(above)
            found = self._wrong_here(width) or self._inspection(self.looked_at, width, compact=compact, rows=rows)
            panel.show(Inspection([*above, *found.lines]), self._palette)

    def on_text_area_selection_changed(self) -> None:
        self._inspect()

    # What widgets say

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._resized)

    def _resized(self) -> None:
        drawing, width = self.grid.drawing, self.grid.room
        if drawing is None or (width and drawing.requested_width != width):
            self._draw()
            self._fill_panels()
        self._fill_table()
        self._inspect()

    def on_grid_cursor_moved(self) -> None:
        self._inspect()

    async def on_grid_cursor_jump(self, event: GridView.Jump) -> None:
        path = self._inspection(event.place, 80).target()
        place = None if path is None else self.session.locate(path)
        if place is None:
            self.notify("nothing is placed here", markup=False)
        else:
            (await self._show_yaml()).go_to(*place)

    def on_component_list_chosen(self, event: ComponentList.Chosen) -> None:
        self._highlight(None if event.component == self.view.component else event.component)

    async def on_problem_list_chosen(self, event: ProblemList.Chosen) -> None:
        await self._show_problem(event.problem)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        event.input.display = False
        (self.table or self.grid).focus()
        self._find(event.value)

    def on_key(self, event: events.Key) -> None:
        field = self.query_one("#find", Input)
        if event.key == "escape" and field.has_focus:
            event.stop()
            field.display = False
            (self.table or self.grid).focus()

    # What the user does

    @property
    def _showing(self) -> str:
        return self.query_one("#views", ContentSwitcher).current or "grid"

    def action_zoom_in(self) -> None:
        self._zoom(-1)

    def action_zoom_out(self) -> None:
        self._zoom(1)

    def _zoom(self, steps: int) -> None:
        position = DENSITIES.index(self.view.density) + steps
        if 0 <= position < len(DENSITIES):
            self.view = replace(self.view, density=DENSITIES[position])
            self._draw()
            self._fill_panels()

    def action_next_component(self) -> None:
        names: Sequence[str | None] = [None, *self.session.plan.components]
        self._highlight(names[(names.index(self.view.component) + 1) % len(names)])

    def _highlight(self, component: str | None) -> None:
        self.view = replace(self.view, component=component)
        self.grid.emphasise(component=component, hits=self.view.hits.places)
        self._fill_panels()

    def action_jump(self) -> None:
        self.grid.action_jump()

    def action_view_plan(self) -> None:
        self.remove_class("-editing")
        self._switch("grid")
        self.grid.focus()
        self.call_after_refresh(self._resized)

    def _switch(self, view: str) -> None:
        self.query_one("#views", ContentSwitcher).current = view
        self.set_class(view == "table", "-table")
        self.query_one(KeyBar).showing = "text" if view == "yaml" and self.has_class("-editing") else view

    async def action_view_yaml(self) -> None:
        self.remove_class("-editing")
        await self._show_yaml()

    async def _show_yaml(self) -> YamlView:
        """Open the file's text; the pane is made when it is first wanted, since it costs time."""
        views = self.query_one("#views", ContentSwitcher)
        if not views.query(YamlView):
            await views.add_content(YamlView(self._ascii, id="yaml"))
        pane = self.query_one(YamlView)
        pane.read_only = not self.has_class("-editing")
        self._switch("yaml")
        self.grid.display = self.has_class("-editing") and self.size.width >= ROOM_FOR_BOTH
        self._fill_yaml()
        self.call_after_refresh(self._resized)
        pane.focus()
        return pane

    async def action_next_problem(self) -> None:
        problems = self.session.problems
        if not problems:
            self.notify("there are no problems", markup=False)
            return
        self._problem = (self._problem + 1) % len(problems)
        await self._show_problem(problems[self._problem])

    async def _show_problem(self, problem: Problem) -> None:
        pane = await self._show_yaml()
        if problem.line is not None:
            pane.go_to(problem.line, problem.column or 1)

    def action_toggle_side(self) -> None:
        self.toggle_class("-no-side")
        self.call_after_refresh(self._resized)

    def action_details(self) -> None:
        width = max(30, min(110, self.size.width * 9 // 10 - 8))
        place = self.looked_at
        lines = list(self._inspection(place, width).lines)
        for occupant in self._occupants(place):
            heading = (Run(f"environment of {occupant[0]} rank {occupant[1]}", Style("node", bold=True)),)
            environment = environment_lines(self.session.plan, *occupant, width, ascii=self._ascii)
            lines += [(), heading, *environment]
        name = self.session.plan.nodes[place.node].name if self.session.plan.nodes else ""
        self.app.push_screen(DetailsScreen(name, text_of_lines(lines, self._palette)))

    def _occupants(self, place: Place, most: int = 8) -> list[tuple[str, int]]:
        plan = self.session.plan
        if not plan.nodes:
            return []
        found = [
            (one.component, one.rank)
            for device in plan.devices_of(place.node)
            if Place(device.node, device.kind, device.index) == place
            for one in device.occupants
        ]
        return found[:most]

    def action_copy(self) -> None:
        text = self.exported(as_svg=False)
        if len(text) > LONGEST_COPY:
            self.notify(
                "the grid is too large for the clipboard: x saves it to a file", severity="warning", markup=False
            )
        else:
            self.app.copy_to_clipboard(text)
            self.notify(
                "the grid is on the clipboard, if the terminal takes OSC 52; x saves it to a file", markup=False
            )

    def exported(self, as_svg: bool) -> str:
        """The grid as a file's content."""
        drawing = self.grid.drawing
        if drawing is None:
            return ""
        return to_svg(drawing, title=self.session.file) if as_svg else to_text(drawing)

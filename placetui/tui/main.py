"""The main screen: tabs with panes, side panels, inspector, and the lines at the top and the bottom."""

from __future__ import annotations

from collections.abc import Callable
from functools import partialmethod
from typing import TYPE_CHECKING

from rich.style import Style as RichStyle
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.widgets import ContentSwitcher

from placetui.grid import Drawing, Line, Place, Run, Style, caption, clean
from placetui.grid.heat_panels import HeatPanels
from placetui.grid.inspector import Inspection, environment_lines, inspect, problem_lines
from placetui.grid.look.glyphs import glyphs
from placetui.grid.look.style import ERROR, FAINT, MUTED, NAME, WARNING
from placetui.grid.panels.jobs import jobs_of
from placetui.grid.panels.problems import DEADLY
from placetui.grid.tables.rows import TableName
from placetui.observe.model import Observation
from placetui.placement.edits import Refusal
from placetui.placement.plan import GPU, Plan
from placetui.placement.problems import Problem
from placetui.placement.wording import count, plain
from placetui.tui.actions import BY_ID, READ_ONLY, TABLES, Context, View, key_names, why_not
from placetui.tui.cluster.launch import Launch
from placetui.tui.live import LiveFeed, LivePicture
from placetui.tui.messages import (
    Change,
    FindClosed,
    HitShown,
    JumpToRule,
    RowChosen,
    RuleCancelled,
    RuleDone,
    RuleTyped,
    SelectionChanged,
    SessionChanged,
    TextTyped,
)
from placetui.tui.options import Options
from placetui.tui.panes.grid import GridLook, GridPane
from placetui.tui.selection import Selection, place_of_row, ranks_at
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.content import content_of, text_of_lines
from placetui.tui.widgets.key_bar import Chip, KeyBar, pressed
from placetui.tui.widgets.panel import ListPanel, Panel, name_border, title_of
from placetui.tui.widgets.side import ComponentsPanel, EventsPanel, HeatPanel, JobsPanel, ProblemsPanel
from placetui.tui.widgets.status_bar import StatusBar, TopLine
from placetui.tui.widgets.tab_bar import TabBar, Tabs
from placetui.tui.workspace import Workspace

if TYPE_CHECKING:
    from placetui.tui.edits import Edits
    from placetui.tui.panes.file import FilePane
    from placetui.tui.panes.table import TablePane

LONGEST_COPY = 70_000
"""Characters that terminals take as one OSC 52 sequence."""

RULE_KEYS = (("enter", "apply"), ("tab", "next rule"), ("ctrl+s", "save"), ("escape", "cancel"))
"""Keys while a rule is edited."""

FIND_KEYS = (("enter", "go"), ("escape", "cancel"))

ROOM_FOR_BOTH = 110
"""Columns from which the grid stays beside the text that is edited."""


class MainScreen(Screen[None]):
    """A file's placement, and what is known of the cluster behind it."""

    AUTO_FOCUS = "#grid"

    picture: reactive[LivePicture] = reactive(lambda: LivePicture(None), init=False, repaint=False)  # type: ignore[arg-type]
    """What is open, and what is live."""

    palette: reactive[GridPalette | None] = reactive(None, init=False, repaint=False)
    live_words: reactive[tuple[str, bool]] = reactive(("", True), init=False, repaint=False)
    """How the link to the cluster is, and whether that is fine."""

    view: reactive[View] = reactive("grid", init=False, repaint=False)
    """What is shown."""

    launching: reactive[str] = reactive("", init=False, repaint=False)
    """How many ranks of a launch are alive, as `31/48`; empty while there is none."""

    def __init__(
        self, workspace: Workspace, options: Options, palette: GridPalette, context: Callable[[], Context]
    ) -> None:
        super().__init__()
        self.workspace = workspace
        self.feed = LiveFeed(options.thresholds)
        self.set_reactive(MainScreen.picture, LivePicture(workspace.session))
        self.set_reactive(MainScreen.palette, palette)
        self._options = options
        self._app_context = context
        self._ascii = options.ascii
        self._problem = -1
        self._ready = False
        """Whether there is anything to write on."""

        self._counted: tuple[Plan, tuple[int, int]] | None = None
        self._edits: Edits | None = None
        self.set_class(options.ascii, "-ascii")
        workspace.changed = self._session_changed

    def compose(self) -> ComposeResult:
        follow = {"picture": MainScreen.picture, "palette": MainScreen.palette}
        yield StatusBar().data_bind(palette=MainScreen.palette)
        yield TabBar().data_bind(palette=MainScreen.palette)
        with Horizontal(id="upper"):
            with ContentSwitcher(initial="grid", id="views"):
                options = self._options
                grid = GridPane(
                    density=options.density,
                    ascii=options.ascii,
                    color=options.color,
                    motion=options.motion,
                    id="grid",
                )
                yield grid.data_bind(**follow)
            with Vertical(id="side"):
                yield ComponentsPanel(ascii=self._ascii, id="components").data_bind(**follow)
                yield ProblemsPanel(ascii=self._ascii, id="problems").data_bind(**follow)
                yield JobsPanel(ascii=self._ascii, id="jobs").data_bind(**follow)
                for name in ("map", "spread", "highest"):
                    yield HeatPanel(ascii=self._ascii, id=name).data_bind(**follow)
        rows = ComponentsPanel(ascii=self._ascii, id="rows")
        rows.add_class("-rows")
        yield rows.data_bind(**follow)
        with Horizontal(id="lower"):
            yield Panel(id="inspector")
            yield EventsPanel(ascii=self._ascii, id="events").data_bind(**follow)
        yield KeyBar(self._options.keys, self._ascii)

    async def on_mount(self) -> None:
        self._ready = True
        self._choose_panels()
        self.watch(self.grid, "look", self._look_changed)
        self.watch(self.grid, "drawing", self._drawn)
        self.watch(self.grid, "scroll_y", self._scrolled)
        if self.workspace.session.broken and self.app.size.width < 100:
            self.call_after_refresh(self._show_problem, self.workspace.session.problems[0])

    # What it shows

    @property
    def grid(self) -> GridPane:
        return self.query_one("#grid", GridPane)

    @property
    def file(self) -> FilePane | None:
        """The file's text, once it was shown."""
        from placetui.tui.panes.file import FilePane

        return next(iter(self.query(FilePane)), None)

    @property
    def table(self) -> TablePane | None:
        """The table, while one is shown."""
        from placetui.tui.panes.table import TablePane

        return next(iter(self.query(TablePane)), None) if self.view in TABLES else None

    @property
    def pane(self) -> GridPane | FilePane | TablePane:
        """The one in view; where the grid stands beside the text, the one in focus."""
        if self.view in ("file", "text") and self.file is not None and self.focused is not self.grid:
            return self.file
        return self.table or self.grid

    @property
    def selection(self) -> Selection:
        return self.pane.target if self._ready else Selection()

    @property
    def edits(self) -> Edits:
        """Edits of the placement; created on first use."""
        from placetui.tui.edits import Edits

        if self._edits is None:
            self._edits = Edits(self.workspace.app, self.workspace, self.grid, self._write_rule, ascii=self._ascii)
        return self._edits

    @property
    def context(self) -> Context:
        """What the availability of actions depends on, as far as the screen knows."""
        view = "grid" if self.pane is self.grid else self.view
        return Context(view, file=self.workspace.file_kind, footer=self._footer if view == "grid" else "")

    @property
    def _footer(self) -> str:
        drawing, live = self.grid.drawing, self.picture.live
        if self.launching:
            return "launch"
        if drawing is not None and drawing.density == "heat":
            return "heat"
        return "trouble" if live is not None and self._trouble_here() else ""

    def _trouble_here(self) -> str:
        """The sign of what is wrong under the cursor; empty if nothing is."""
        live, place = self.picture.live, self.grid.cursor
        if live is None or place.kind != GPU:
            return ""
        signs = glyphs(self._ascii)
        state = live.state_on(place.node, place.index)
        if state in ("dead", "restarting"):
            return signs.states[state]
        if live.is_stale(place.node, place.index):
            return signs.states["stale"]
        if live.alerts_on(place.node, place.index):
            return signs.above
        return signs.differs if live.is_marked(place.node, place.index) else ""

    def observe(self, observation: Observation | None) -> None:
        self.picture = self.feed.picture(self.workspace.session, observation, self.picture)

    def _session_changed(self, change: Change) -> None:
        other = change == "planned" and self.workspace.session.plan is not self.picture.session.plan
        observation = None if other else self.picture.observation
        self.picture = self.feed.picture(self.workspace.session, observation, self.picture)
        if not self.workspace.drafting:
            self._close_rule()
        self.post_message(SessionChanged(change))

    def watch_picture(self) -> None:
        """The lines at the top follow, and which panels have something to show."""
        self._choose_panels()
        self._write_status()
        self._inspect()

    def _choose_panels(self) -> None:
        seen = self.picture.observation
        self.set_class(seen is not None and bool(jobs_of(seen)), "-jobs")
        self.set_class(not self.picture.plan.components, "-nobody")

    def watch_live_words(self) -> None:
        self._write_status()

    def follow_launch(self, launch: Launch | None) -> None:
        """Show how far a launch is; None: there is none."""
        alive = 0 if launch is None else sum(launch.alive_by_component.values())
        self.launching = "" if launch is None else f"{alive}/{launch.size}"
        self.query_one(ProblemsPanel).launch = launch

    def watch_launching(self) -> None:
        self._write_status()

    def watch_palette(self) -> None:
        self._inspect()
        self._write_status()

    def _look_changed(self, look: GridLook) -> None:
        for panel in self.query(ComponentsPanel):
            panel.component = look.component
        self._write_status()

    def _write_status(self) -> None:
        if not self._ready:
            return
        session, live, look = self.picture.session, self.picture.live, self.grid.look
        marks = ["edited"] if self.workspace.editor.dirty else ["as it is"] if session.pictured else []
        if self.workspace.lost is not None:
            marks.append("unsaved work: ctrl+r")
        if session.old:
            marks.append("OLD: the file is invalid")
        if session.tried:
            marks.append("what if")
        if look.narrowed:
            marks.append(f"filter: {look.hits.query}")
        if look.order != "rank":
            marks.append(f"by {look.order}")
        words = caption(session.plan)
        self.query_one(StatusBar).status = TopLine(
            file=session.file,
            topology=clean(words.replace("×", "x") if self._ascii else words, self._ascii),
            mode=session.plan.placement_mode or session.plan.mode,
            marks=tuple(marks),
            totals=self.picture.totals,
            ranks=sum(one.world_size for one in session.plan.components.values()),
            gpus=(0, 0) if self.picture.totals else self._planned_gpus(session.plan),
            drift=len(live.drift) if live else 0,
            alerts=len(live.alerts) if live else 0,
            errors=session.errors,
            warnings=session.warnings,
            ascii=self._ascii,
        )
        self._write_tabs()
        self._write_keys()

    def _planned_gpus(self, plan: Plan) -> tuple[int, int]:
        """GPUs that a plan uses, and all that it has; counted once."""
        if self._counted is None or self._counted[0] is not plan:
            placed = (one for component in plan.components.values() for one in component.placements)
            used = {(one.cluster_node_rank, at) for one in placed if plan.kind_of(one) == GPU for at in one.devices}
            self._counted = plan, (len(used), sum(node.gpus for node in plan.nodes))
        return self._counted[1]

    def _write_tabs(self) -> None:
        session, live = self.picture.session, self.picture.live
        notices = len(self.picture.notices)
        words = [("writable" if self.workspace.editor.write else "read-only", False)]
        if self.live_words[0]:
            words.append((self.live_words[0], not self.live_words[1]))
        self.query_one(TabBar).tabs = Tabs(
            self.view,
            live=live is not None or bool(self.picture.events),
            counts={"drift": notices, "file": session.errors + session.warnings},
            words=tuple(words),
            ascii=self._ascii,
        )
        self._write_title()

    def _write_title(self) -> None:
        """Say in the border of the pane what it shows."""
        views, drawing, live = self.query_one("#views"), self.grid.drawing, self.picture.live
        subtitle: Content | str = ""
        views.set_class(self.picture.session.broken and self.view in ("file", "text"), "-trouble")
        if self.view == "grid":
            about = "plan and live" if live is not None else "plan, no cluster"
            if self.picture.session.tried:
                about = "what if"
            elif self.launching:
                about = "ranks starting"
            heat = drawing is not None and drawing.density == "heat"
            title = title_of("Heat wall" if heat else "Grid", None, about)
            width = views.size.width - 10
            if drawing is not None and self.palette is not None and width > 30:
                if heat and drawing.overlay is not None:
                    panels = HeatPanels(drawing)
                    key: tuple[Line, ...] = (panels.scale(width),)
                    title = content_of(panels.title(), self.palette) if width > 50 else title
                else:
                    key = drawing.key(width)
                if key:
                    subtitle = content_of(key[0], self.palette)
        elif self.view in ("file", "text"):
            about = "edit" if self.view == "text" else ""
            title = title_of("File", None, f"{clean(self.picture.session.file, self._ascii)}  {about}")
        else:
            title, subtitle = title_of(self.view.capitalize()), "enter to grid  / filter  s sort"
        name_border(views, title, subtitle)

    def _write_keys(self) -> None:
        bar = self.query_one(KeyBar)
        bar.context = self._app_context()
        drafting, finding = self.workspace.drafting, self.focused is not None and self.focused.id == "find"
        keys = RULE_KEYS if drafting else FIND_KEYS if finding else ()
        bar.hints = [pressed(key, label) for key, label in keys] or None
        bar.chip = Chip("FIND" if self.table is None else "FILTER") if finding else Chip(*self._chip(drafting))

    def _chip(self, drafting: str) -> tuple[str, RichStyle]:
        """What the keys of the bottom line are about."""
        palette, drawing, session = self.palette, self.grid.drawing, self.picture.session
        if palette is None or drawing is None:
            return "", RichStyle()
        if drafting and drafting in drawing.marks:
            style = Style("chip", drawing.marks[drafting].hue, bold=True)
            return f"EDIT {clean(drafting, self._ascii)}", palette.rich_style(style)
        if self.launching:
            return f"LAUNCH {self.launching}", palette.rich_style(Style("text", bold=True, ground="white"))
        if self.view in ("file", "text") and session.problems:
            errors = palette.rich_style(Style("error", bold=True, ground="error"))
            number = min(max(0, self._problem) + 1, len(session.problems))
            return f"{number}/{len(session.problems)} {glyphs(self._ascii).states['dead']}", errors
        selection = self.selection
        ranks = selection.ranks
        sign = self._trouble_here() if self.pane is self.grid else ""
        if not ranks or ranks[0][0] not in drawing.marks:
            place = selection.place
            return (
                ("", RichStyle())
                if place is None
                else (f"{place.node}/{place.kind}{place.index} {sign}".rstrip(), RichStyle())
            )
        component, rank = next((one for one in ranks if self._is_dead(*one)), ranks[0])
        mark = drawing.marks[component]
        trouble = Style("error" if self._is_dead(component, rank) else "warning", bold=True)
        style = trouble._replace(ground=trouble.role) if sign else Style("chip", mark.hue, bold=True)  # type: ignore[arg-type]
        return f"{mark.label(rank)} {sign}".rstrip(), palette.rich_style(style)

    def _is_dead(self, component: str, rank: int) -> bool:
        return self.picture.live is not None and self.picture.live.state_of(component, rank) == "dead"

    # The inspector

    @on(SelectionChanged)
    def _selection_changed(self, event: SelectionChanged) -> None:
        event.stop()
        self._inspect()
        if self._ready:
            self._write_keys()

    def on_resize(self) -> None:
        self.call_after_refresh(self._fitted)

    def _fitted(self) -> None:
        self._inspect()
        if self._ready:
            self._write_title()

    def _inspect(self) -> None:
        if not self._ready or self.palette is None:
            return
        panel = self.query_one("#inspector", Panel)
        if not panel.content_size.height:
            return
        width = max(20, panel.content_size.width)
        session, selection, title = self.picture.session, self.selection, title_of("Problem")
        if isinstance(selection.row, Problem):
            lines = self._problem_lines([selection.row], width)
            lines += self._other_problems(selection.row)
            title = title_of("Problem", self._number_of(selection.row), f"line {selection.row.line}", trouble=True)
        elif not session.plan.nodes:
            lines = self._problem_lines(session.problems[:1], width)
        else:
            lines = self._row_lines(selection, width)
            if session.broken and self.view == "grid" and not self.query_one("#side").is_on_screen:
                lines = self._problem_lines(session.problems[:1], width) + lines
            place = selection.place or self.grid.cursor
            found = self._place_lines(place, width, compact=self.size.height < 30, rows=panel.room - len(lines))
            lines += found.lines
            hint = self._hint(place)
            if hint and len(lines) < panel.room:
                lines += [(), hint][-max(1, panel.room - len(lines)) :]
            title = content_of(found.title, self.palette) if found.title else title_of("Device")
        name_border(panel, title, "d all fields  enter rule" if self.pane is self.grid else "d all fields")
        panel.show(lines, self.palette)

    def _hint(self, place: Place) -> Line:
        """What can be done about a rank that is dead."""
        if not any(self._is_dead(*one) for one in ranks_at(self.picture.plan, place)):
            return ()
        hint: list[Run] = []
        context, rebound = self._app_context(), self._options.keys
        for action in (BY_ID["restart_rank"], BY_ID["rank_log"]):
            lacking = why_not(action, context)
            if not lacking or lacking == READ_ONLY:
                key = next(key_names(action, rebound, self._ascii))
                why = f" ({lacking})" if lacking else ""
                start = glyphs(self._ascii).dot if hint else f"{glyphs(self._ascii).right} "
                hint += [Run(start, FAINT), Run(key, NAME), Run(f" {action.label}{why}", MUTED)]
        return tuple(hint)

    def _problem_lines(self, problems: list[Problem] | tuple[Problem, ...], width: int) -> list[Line]:
        plan = self.picture.plan
        return [line for one in problems for line in problem_lines(plan, one, width, ascii=self._ascii)]

    def _number_of(self, problem: Problem) -> str:
        problems = self.picture.session.problems
        return f"{problems.index(problem) + 1} of {len(problems)}" if problem in problems else ""

    def _other_problems(self, problem: Problem) -> list[Line]:
        """The others, one line each."""
        others = [one for one in self.picture.session.problems if one is not problem]
        wide = max((len(one.rule) for one in others), default=0) + 2
        return [()] * bool(others) + [
            (
                Run(f"{f'line {one.line}' if one.line else '':<10}", MUTED),
                Run(one.rule.ljust(wide), WARNING if one.severity == "warning" else ERROR),
                Run(clean(plain(one.message), self._ascii), MUTED),
            )
            for one in others
        ]

    def _row_lines(self, selection: Selection, width: int) -> list[Line]:
        """All that the row of a table says, which stands before what is known of its place."""
        if selection.row is None:
            return []
        from rich.cells import cell_len

        from placetui.grid.inspector import Flow
        from placetui.grid.pen import Pen
        from placetui.grid.tables import row_lines

        return row_lines(Flow(Pen(self.picture.plan, self._ascii, cell_len), width), selection.row)

    def _place_lines(
        self, place: Place, width: int, *, compact: bool = False, rows: int | None = None, details: bool = False
    ) -> Inspection:
        notices = self.picture.notices_at(place.node, place.index if place.kind == GPU else None)
        return inspect(
            self.picture.plan,
            place,
            locate=self.picture.session.locate,
            observation=self.picture.observation,
            history=self.feed.history,
            hour=self.feed.hour,
            # Why a rank is dead stands below its row.
            notices=[one.message for one in notices if compact or details or one.kind != "dead_rank"],
            width=width,
            ascii=self._ascii,
            compact=compact,
            rows=rows,
            details=details,
            heading=details,
        )

    def details(self) -> None:
        from placetui.tui.dialogs.details import DetailsScreen

        if self.palette is None:
            return
        width = max(30, min(110, self.size.width * 9 // 10 - 8))
        plan, place = self.picture.plan, self.selection.place or self.grid.cursor
        lines = self._place_lines(place, width, details=True).lines
        seen = self.picture.observation
        # A job that placetui did not launch has its own variables.
        foreign = seen is not None and any(job.name == seen.job for job in seen.jobs)
        for component, rank in () if foreign else ranks_at(plan, place):
            heading = (Run(f"environment of {component} rank {rank}", Style("text", bold=True)),)
            lines += [(), heading, *environment_lines(plan, component, rank, width, ascii=self._ascii)]
        self.app.push_screen(DetailsScreen("Details", text_of_lines(lines, self.palette)))

    # Views

    def on_descendant_focus(self) -> None:
        self._write_status()

    def watch_view(self, view: View) -> None:
        """One pane is in view, and beside the text that is edited the grid."""
        shown = "table" if view in TABLES else "file" if view == "text" else view
        self.query_one("#views", ContentSwitcher).current = shown
        self.set_class(view in TABLES, "-table")
        self.set_class(view == "text", "-editing")
        if view == "text":
            self.grid.display = self.size.width >= ROOM_FOR_BOTH
        if view in ("file", "text") and self.file is not None:
            self.file.read_only = view == "file"
        self._write_tabs()
        self._write_keys()
        self._inspect()

    def view_plan(self) -> None:
        self.view = "grid"
        self.grid.focus()

    async def view_yaml(self) -> None:
        await self.show_file()

    async def edit_yaml(self) -> None:
        self.workspace.settle()
        await self.show_file("text")

    async def show_file(self, view: View = "file") -> FilePane:
        """Show the file's text; the pane is made when it is first wanted, since it costs time."""
        from placetui.tui.panes.file import FilePane

        pane = self.file
        if pane is None:
            pane = FilePane(self._ascii, id="file")
            await self._add(pane)
        self.view = view
        pane.focus()
        return pane

    async def _add(self, pane: FilePane | TablePane) -> None:
        await self.query_one("#views", ContentSwitcher).add_content(pane)
        self.watch(self, "picture", lambda picture: setattr(pane, "picture", picture))
        self.watch(self, "palette", lambda palette: setattr(pane, "palette", palette))

    async def _show_table(self, name: TableName) -> None:
        from placetui.tui.panes.table import TablePane

        pane = next(iter(self.query(TablePane)), None)
        if pane is None:
            pane = TablePane(self.feed.events, ascii=self._ascii, id="table")
            await self._add(pane)
        anew = self.view not in TABLES
        self.view = name
        pane.table = name
        if anew:
            pane.fill(anew=True)
        pane.focus()

    view_processes = partialmethod(_show_table, "processes")
    view_ranks = partialmethod(_show_table, "ranks")
    view_drift = partialmethod(_show_table, "drift")
    view_groups = partialmethod(_show_table, "groups")
    view_events = partialmethod(_show_table, "events")

    def toggle_side(self) -> None:
        self.toggle_class("-no-side")

    def _drawn(self, before: Drawing | None, drawing: Drawing | None) -> None:
        heat = drawing if drawing and drawing.density == "heat" and drawing.overlay else None
        self.set_class(heat is not None and self.view == "grid", "-heat")
        panels = None if heat is None else HeatPanels(heat)
        for panel in self.query(HeatPanel):
            panel.panels = panels
        if heat is not None:
            self._scrolled()
        if before is None or drawing is None or not drawing.has_signs_of(before):
            self._write_title()
            self._write_keys()

    def _scrolled(self) -> None:
        """The map shows which part of the heat wall is in view."""
        if self.has_class("-heat"):
            first = int(self.grid.scroll_y)
            self.query_one("#map", HeatPanel).view = first, first + self.grid.size.height

    def clear(self) -> None:
        """Clear a table's filter first, then close the table; in the grid, clear the highlight."""
        table = self.table
        if table is None or not table.clear():
            self.grid.clear()
            self.view_plan()

    # Where things lead

    @on(JumpToRule)
    async def _jump(self, event: JumpToRule) -> None:
        session = self.picture.session
        path = inspect(self.picture.plan, event.place, locate=session.locate, width=80, ascii=self._ascii).target()
        place = None if path is None else session.locate(path)
        if place is not None:
            (await self.show_file()).go_to(*place)
        elif path is not None and session.tried:
            self.notify("this rule is a what-if, not in the file; W applies it", markup=False)
        else:
            self.notify("nothing is placed here", markup=False)

    @on(HitShown)
    def _found(self) -> None:
        self.view_plan()

    @on(ListPanel.Chosen)
    async def _entry_chosen(self, event: ListPanel.Chosen) -> None:
        """A component is highlighted; a job leads to the list; a problem, a difference or an event to its place."""
        event.stop()
        if isinstance(event.panel, ComponentsPanel):
            self.grid.highlight(None if event.value == self.grid.look.component else event.value)
        elif isinstance(event.panel, JobsPanel):
            await self.run_action("app.act('jobs')")
        elif isinstance(event.value, Problem):
            await self._show_problem(event.value)
        elif isinstance(event.value, Place):
            self.view_plan()
            self.grid.reveal(event.value)
        else:
            self.post_message(RowChosen(event.value))

    async def next_problem(self) -> None:
        notices = sorted(self.picture.notices, key=lambda one: one.kind not in DEADLY)
        problems = [*self.picture.session.problems, *notices]
        if not problems:
            self.notify("there are no problems", markup=False)
            return
        self._problem = (self._problem + 1) % len(problems)
        problem = problems[self._problem]
        if isinstance(problem, Problem):
            await self._show_problem(problem)
        else:
            self.post_message(RowChosen(problem))

    async def _show_problem(self, problem: Problem) -> None:
        pane = await self.show_file()
        if problem.line is not None:
            pane.go_to(problem.line, problem.column or 1)

    @on(RowChosen)
    def _row_chosen(self, event: RowChosen) -> None:
        place = place_of_row(self.picture.plan, event.row)
        if place is None:
            self.notify("this is not shown in the grid", markup=False)
            return
        self.view_plan()
        self.grid.reveal(place)

    # Finding

    async def find(self) -> None:
        from placetui.tui.widgets.find_bar import FindBar

        bar = next(iter(self.query(FindBar)), None)
        if bar is None:
            bar = FindBar(id="find-bar")
            await self.mount(bar, after="#lower")
        pane = self.table or self.grid
        bar.open(pane)

    @on(FindClosed)
    def _find_closed(self) -> None:
        self.pane.focus()

    # A rule in place

    async def _write_rule(self, component: str) -> None:
        from placetui.tui.widgets.rule_bar import RuleBar

        bar = next(iter(self.query(RuleBar)), None)
        if bar is None:
            bar = RuleBar(id="rule-bar")
            await self.mount(bar, after="#lower")
        rule = self.workspace.open_rule(component)
        if rule is None:
            bar.display = False
            self.notify(f"{clean(component, self._ascii)} is no longer in the file", markup=False)
        else:
            ranks = count(self.workspace.session.plan.components[component].world_size, "rank")
            bar.edit(clean(component, self._ascii), rule, ranks)
            self._write_keys()

    def _close_rule(self) -> None:
        for bar in self.query("#rule-bar"):
            if bar.display:
                bar.display = False
                self.set_focus(self.grid)

    @on(RuleTyped)
    def _rule_typed(self, event: RuleTyped) -> None:
        from placetui.tui.widgets.rule_bar import RuleBar

        component = self.workspace.drafting
        if not component:
            return
        bar, result = self.query_one(RuleBar), self.workspace.draft_rule(event.text)
        if isinstance(result, Refusal):
            bar.say(clean(f"{result.reason}: {result.hint}" if result.hint else result.reason, self._ascii), wrong=True)
        else:
            bar.say(count(result.plan.components[component].world_size, "rank"))

    @on(RuleDone)
    async def _rule_done(self, event: RuleDone) -> None:
        component = self.workspace.drafting
        if component and (refusal := self.workspace.rejected_rule()):
            self.workspace.refuse(refusal)
        elif component:
            self.workspace.finish_rule()
            names = list(self.workspace.session.plan.components)
            if event.steps and component in names:
                await self._write_rule(names[(names.index(component) + event.steps) % len(names)])

    @on(RuleCancelled)
    def _rule_cancelled(self) -> None:
        if self.workspace.drafting:
            self.workspace.cancel_rule()

    @on(TextTyped)
    def _text_typed(self, event: TextTyped) -> None:
        self.workspace.type(event.text)

    # Taking the grid along

    def copy(self) -> None:
        text = self.exported(as_svg=False)
        if len(text) > LONGEST_COPY:
            words = "the grid is too large for the clipboard: x saves it to a file"
            self.notify(words, severity="warning", markup=False)
        else:
            self.app.copy_to_clipboard(text)
            words = "copied the grid, if the terminal supports OSC 52; x saves it to a file"
            self.notify(words, markup=False)

    def exported(self, as_svg: bool) -> str:
        from placetui.grid import to_svg, to_text

        drawing = self.grid.drawing
        if drawing is None:
            return ""
        return to_svg(drawing, title=self.picture.session.file) if as_svg else to_text(drawing)

"""The main screen: tabs with panes, side panels, inspector, and the lines at the top and the bottom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partialmethod
from typing import TYPE_CHECKING, Literal

from rich.style import Style as RichStyle
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.widgets import ContentSwitcher

from placetui.grid import Drawing, Place, Run, Style, caption, clean
from placetui.grid import plain as plain_line
from placetui.grid.densities.rows import is_oversubscribed
from placetui.grid.excerpt import severity_sign, severity_style
from placetui.grid.find import MARKED
from placetui.grid.heat_panels import HeatPanels
from placetui.grid.inspector import inspect
from placetui.grid.look.glyphs import glyphs
from placetui.grid.look.style import MUTED
from placetui.grid.panels.jobs import jobs_of
from placetui.grid.panels.launch import launch_key
from placetui.grid.panels.problems import DEADLY
from placetui.grid.tables.rows import Notice, TableName
from placetui.observe.alerts import Alert
from placetui.observe.drift import Drift, DriftKind
from placetui.observe.history import MemoryUse, highest_memory
from placetui.observe.model import Observation
from placetui.placement.plan import GPU
from placetui.placement.problems import Problem
from placetui.placement.wording import count
from placetui.tui.actions import FILES, TABLES, Context, View
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
    RuleResized,
    RuleTyped,
    SessionChanged,
    TextTyped,
)
from placetui.tui.options import Options
from placetui.tui.panes.grid import GridLook, GridPane
from placetui.tui.panes.navigation import Navigator
from placetui.tui.selection import Selection, place_of_rank, place_of_row
from placetui.tui.terminal.toasts import repaint_when_gone
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.content import content_of, text_of_lines
from placetui.tui.widgets.inspector import Inspector, Subject
from placetui.tui.widgets.key_bar import Chip, KeyBar, KeyHint, pressed
from placetui.tui.widgets.launch import LaunchPart, OutputPanel, StepsPanel
from placetui.tui.widgets.panel import ListPanel, name_border, title_of
from placetui.tui.widgets.side import (
    ComponentsPanel,
    EventsPanel,
    FitsPanel,
    HeatPanel,
    JobsPanel,
    MovesPanel,
    ProblemsPanel,
)
from placetui.tui.widgets.status_bar import StatusBar, TopLine
from placetui.tui.widgets.tab_bar import TabBar, Tabs
from placetui.tui.workspace import Workspace

if TYPE_CHECKING:
    from placetui.tui.edits import Edits
    from placetui.tui.panes.file import FilePane
    from placetui.tui.panes.table import TablePane
    from placetui.tui.session import Session
    from placetui.tui.widgets.rule_panel import RulePanel

LONGEST_COPY = 70_000
"""Characters that terminals take as one OSC 52 sequence."""

RULE_KEYS = (
    pressed("enter", "apply"),
    pressed("tab", "next rule"),
    KeyHint("[ ]", "size", "app.simulate_key('right_square_bracket')"),
)
"""Keys while a rule is edited."""

FEW_NODES = 64
"""Nodes up to which the past of every GPU is looked through at once."""

CANCEL = pressed("escape", "cancel")
FIND_KEYS = (pressed("enter", "go"), CANCEL)

ROOMY = 21
"""Lines of a screen from which on a narrow one has a panel of components."""

LEAST_INSPECTOR = 6
"""Lines of the inspector, its border included, that a heat wall leaves it: a line for each resident and one more."""

ROOM_FOR_BOTH = 110
"""Columns from which the grid stays beside the text that is edited."""


class MainScreen(Screen[None]):
    """A file's placement, and what is known of the cluster behind it."""

    AUTO_FOCUS = "#grid"

    picture: reactive[LivePicture] = reactive(lambda: LivePicture(None), init=False, repaint=False)  # type: ignore[arg-type]
    """What is open, and what is live."""

    palette: reactive[GridPalette | None] = reactive(None, init=False, repaint=False)
    live_words: reactive[tuple[tuple[str, ...], bool]] = reactive(((), True), init=False, repaint=False)
    """How the link to the cluster is, and whether that is fine."""

    view: reactive[View] = reactive("grid", init=False, repaint=False)
    """What is shown."""

    problem: reactive[Problem | None] = reactive(None, init=False, repaint=False)
    """The problem that is selected; None: the device under the cursor is."""

    launching: reactive[str] = reactive("", init=False, repaint=False)
    """How many ranks of a launch are alive, as `31/48`; empty while there is none."""

    def __init__(
        self, workspace: Workspace, options: Options, palette: GridPalette, context: Callable[[], Context]
    ) -> None:
        super().__init__()
        self.workspace = workspace
        self.feed = LiveFeed(options.thresholds)
        self.running = LivePicture(workspace.session)
        """What is live of the file without a rule that is typed."""

        self.set_reactive(MainScreen.picture, self.running)
        self.set_reactive(MainScreen.palette, palette)
        self._options = options
        self._app_context = context
        self._ascii = options.ascii
        self._problem = -1
        self._waited: tuple[str, int] | None = None
        """The rank of a launch that was gone to last."""

        self._composed = False
        self._next_rule = False
        """Whether the panel of a rule stays for the next one: what is hidden and shown at once is not drawn anew."""

        self._hits = 0
        """Places that a search found."""

        self._edits: Edits | None = None
        self._notice: Notice | None = None
        """The notice that the grid was led to last."""

        self._heat_panels = False
        """Whether the panels of the heat wall stand in the place of others."""

        self._inspector_lines: int | None = None
        """Lines of the inspector beside a heat wall that needs room; None: those of the style sheet."""

        self.set_class(options.ascii, "-ascii")
        workspace.changed = self._session_changed
        workspace.measured = self._measured

    def compose(self) -> ComposeResult:
        self._choose_panels()  # while there are no panels yet whose styles would be worked out again
        follow = {"picture": MainScreen.picture, "palette": MainScreen.palette}
        yield StatusBar().data_bind(palette=MainScreen.palette)
        yield TabBar().data_bind(palette=MainScreen.palette)
        yield StepsPanel(ascii=self._ascii, id="launch").data_bind(palette=MainScreen.palette)
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
                with Vertical(id="side-plan"):
                    yield ComponentsPanel(ascii=self._ascii, id="components").data_bind(**follow)
                    yield ProblemsPanel(ascii=self._ascii, id="problems").data_bind(**follow)
                    yield MovesPanel(ascii=self._ascii, id="moves").data_bind(**follow)
                    yield JobsPanel(self._app_context, ascii=self._ascii, id="jobs").data_bind(**follow)
                with Vertical(id="side-heat"):
                    for name in ("cluster", "map", "spread", "highest"):
                        yield HeatPanel(ascii=self._ascii, id=name).data_bind(**follow)
        rows = ComponentsPanel(ascii=self._ascii, id="rows")
        rows.add_class("-rows")
        yield rows.data_bind(**follow)
        with Horizontal(id="lower"):
            inspector = Inspector(self.feed, self._options, self._app_context, id="inspector")
            yield inspector.data_bind(palette=MainScreen.palette)
            yield EventsPanel(ascii=self._ascii, id="events").data_bind(**follow)
            yield HeatPanel(ascii=self._ascii, id="fullest").data_bind(**follow)
            yield FitsPanel(ascii=self._ascii, id="fits").data_bind(**follow)
        yield OutputPanel(ascii=self._ascii, id="output").data_bind(palette=MainScreen.palette)
        yield KeyBar(self._options.keys, self._ascii)

    async def on_mount(self) -> None:
        self._composed = True
        repaint_when_gone(self)
        self._choose_panels()
        self.watch(self.grid, "look", self._look_changed)
        self.watch(self.grid, "drawing", self._drawn)
        self.watch(self.grid, "scroll_y", self._scrolled)
        self.watch(self.grid, "target", self._selection_changed)
        self.watch(self.grid, "cursor", self._cursor_moved, init=False)
        self._follow_problems(None)

    # What it shows

    @property
    def ready(self) -> bool:
        """Whether there is anything to write on: not before it is composed, nor once another screen has its place."""
        return self._composed and self in self.app.screen_stack

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
        if self.view not in TABLES:
            return None
        from placetui.tui.panes.table import TablePane

        return next(iter(self.query(TablePane)), None)

    @property
    def pane(self) -> GridPane | FilePane | TablePane:
        """The one in view; where the grid stands beside the text, the one in focus."""
        return self._file_in_focus or self.table or self.grid

    @property
    def selection(self) -> Selection:
        return self.pane.target if self.ready else Selection()

    @property
    def shown_problem(self) -> Problem | None:
        """The problem that the panel below is about: the selected one, in the file one of the line under the cursor."""
        if self.view == "grid":
            selected = self.problem or (None if self.picture.plan.nodes else self._first_problem)
            return None if self.workspace.drafting else selected
        file = self._file_in_focus
        if file is None:
            return None
        here = file.problems
        if here or file.components:
            return self.problem if self.problem in here else next(iter(here), None)
        return self.problem or self._first_problem

    @property
    def _file_in_focus(self) -> FilePane | None:
        """The file's text, where the panel below is about that."""
        return self.file if self.view in FILES and self.focused is not self.grid else None

    @property
    def _first_problem(self) -> Problem | None:
        """The first one that keeps a component from being placed."""
        return next((one for one in self.picture.session.problems if one.blocking), None)

    @property
    def edits(self) -> Edits:
        """Edits of the placement; created on first use."""
        from placetui.tui.edits import Edits

        if self._edits is None:
            self._edits = Edits(
                self.workspace.app,
                self.workspace,
                self.grid,
                write_rule=self._write_rule,
                edit_text=self.edit_yaml,
                problem=lambda: self.shown_problem,
                ascii=self._ascii,
            )
        return self._edits

    @property
    def context(self) -> Context:
        """What the availability of actions depends on, as far as the screen knows."""
        view = "grid" if self.pane is self.grid else self.view
        editor = self.workspace.editor
        return Context(
            view,
            file=self.workspace.file_kind,
            undo=editor.history.undo_label is not None,
            redo=editor.history.redo_label is not None,
            changes=editor.dirty,
            problems=self._has_other_problem,
            footer=self._footer if view == "grid" else "",
        )

    @property
    def _has_other_problem(self) -> bool:
        """Whether there is something to go to that is wrong, or waited for, and not shown already."""
        problems = len(self.picture.session.problems) + len(self.picture.notices)
        if not problems and self.launching:
            return bool(self._waiting)
        file, shown = self._file_in_focus, self.shown_problem
        return problems > (shown is not None and (file is None or shown in file.problems))

    @property
    def _waiting(self) -> list[tuple[str, int]]:
        """The first of the ranks that a launch waits for together, the longest first."""
        launch = self.query_one(ProblemsPanel).launch
        waiting = [] if launch is None else launch.waiting
        return [(one.component, one.ranks[0]) for one in sorted(waiting, key=lambda one: -one.seconds)]

    @property
    def _footer(self) -> str:
        drawing, live = self.grid.drawing, self.picture.live
        if self.launching:
            return "launch"
        if (problem := self.shown_problem) is not None:
            name = problem.component
            in_text = name is None or self.picture.session.rule_text(name) is None
            return "problem in text" if in_text else "problem"
        if self._hits > 1:
            return "found"
        if len(self.selection.places) > 1:
            return "several"
        if self.picture.session.tried:
            return "what if"
        if drawing is not None and drawing.density == "heat" and live is not None:
            return "heat"
        if live is not None and self._trouble_here():
            return "trouble" if self._ranks_concerned(self.selection.ranks) else "place"
        return "problems" if self.picture.session.problems or self.picture.notices else ""

    def _trouble_here(self) -> str:
        """The sign of what is wrong with the selected device; empty if nothing is."""
        live, place, signs = self.picture.live, self.selection.place or self.grid.cursor, glyphs(self._ascii)
        if place.kind != GPU:
            return ""
        if live is None:
            devices = self.picture.plan.devices_of(place.node) if place.node < len(self.picture.plan.nodes) else ()
            here = (one for one in devices if (one.kind, one.index) == (GPU, place.index))
            return signs.states["dead"] if any(map(is_oversubscribed, here)) else ""
        state = live.state_on(place.node, place.index)
        if state in ("dead", "restarting"):
            return signs.states[state]
        if live.is_stale(place.node, place.index):
            return signs.states["stale"]
        if live.alerts_on(place.node, place.index):
            return signs.above
        return signs.differs if live.is_marked(place.node, place.index) else ""

    def _ranks_concerned(self, ranks: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        """Those of the selected device that its trouble is about, the dead ones first; none if it is about others."""
        live, place = self.picture.live, self.selection.place or self.grid.cursor
        if live is None:
            return []
        notices = self.picture.notices_at(place.node, place.index)
        named = {(one.component, one.rank) for one in notices if isinstance(one, Drift)}
        found = [one for one in ranks if one in named or live.state_of(*one) in ("dead", "restarting")]
        return sorted(found, key=lambda one: not self.picture.is_dead(*one))

    def observe(self, observation: Observation | None) -> None:
        preview = self.workspace.preview
        session = self.workspace.session if preview is None else preview.before
        self.running = self.feed.picture(session, observation, self.running, launching=bool(self.launching))
        if preview is None:
            self.picture = self.running

    def _session_changed(self, change: Change) -> None:
        preview = self.workspace.preview
        if preview is not None:
            self.picture = LivePicture(preview.after, events=self.running.events, preview=preview)
        else:
            other = change == "planned" and self.workspace.session.plan is not self.running.session.plan
            self.observe(None if other else self.running.observation)
            if not self._next_rule:
                self._close_rule()
        self.post_message(SessionChanged(change))

    def watch_picture(self, before: LivePicture, after: LivePicture) -> None:
        """The lines at the top follow, and which panels have something to show."""
        self._follow_problems(before.session)
        self._choose_panels()
        self._write_status()
        self._inspect()
        if self.picture.preview is not None and self.rule is not None:
            self.rule.preview = self.picture.preview

    def _follow_problems(self, before: Session | None) -> None:
        """Select the first problem of a file that has become broken, and the next one where that is solved."""
        session = self.picture.session
        solved = self.problem is not None and self.problem not in session.problems
        if solved or (session.broken and (before is None or not before.broken)):
            self.problem = self._first_problem if session.broken else None

    def watch_problem(self) -> None:
        self._selection_changed()

    def _cursor_moved(self, before: Place, after: Place) -> None:
        """The device under the cursor is selected, unless the one before is gone from the plan."""
        drawing = self.grid.drawing
        if drawing is not None and any(Navigator(drawing).existing([before])):
            self.problem = None

    def on_click(self, event: events.Click) -> None:
        """A click on the device under the cursor selects it again."""
        if event.widget is self.grid:
            self.problem = None

    def _choose_panels(self) -> None:
        seen = self.picture.observation
        self.set_class(seen is None and not self.picture.events, "-calm")
        self.set_class(not self.picture.plan.nodes, "-void")
        self.set_class(seen is not None and bool(jobs_of(seen)), "-jobs")
        self.set_class(not self.picture.plan.components, "-nobody")
        nothing_live = self.picture.live is None and not self.picture.events
        if self.ready:
            self.query_one("#lower").set_class(nothing_live, "-planned")

    def _measured(self) -> Mapping[tuple[int, int], MemoryUse]:
        """In a thread: the most memory of each GPU; of few nodes also in the past, as long as it is kept."""
        seen = self.picture.observation
        if seen is None:
            return {}
        histories = (self.feed.history, self.feed.hour) if len(seen.nodes) <= FEW_NODES else ()
        return highest_memory(seen, histories)

    def watch_live_words(self) -> None:
        self._write_status()

    def follow_launch(self, launch: Launch | None) -> None:
        """Show how far a launch is; None: there is none."""
        alive = 0 if launch is None else sum(launch.alive_by_component.values())
        self.launching = "" if launch is None else f"{alive}/{launch.size}"
        if self.has_class("-launching") is (launch is None):
            self.set_class(launch is not None, "-launching")
            self.call_after_refresh(self._fitted)  # the inspector, where it is back, says what the cursor is on now
        self.query_one(ProblemsPanel).launch = launch
        for panel in self.query(LaunchPart):
            panel.launch = launch

    def watch_launching(self) -> None:
        self._write_status()

    def watch_palette(self) -> None:
        self._write_status()

    def _look_changed(self, look: GridLook) -> None:
        self._hits = 0 if look.hits.query == MARKED else len(look.hits.stops())
        for panel in self.query(ComponentsPanel):
            panel.component = look.component
        self._write_status()

    def _write_status(self) -> None:
        if not self.ready:
            return
        session, live, look = self.picture.session, self.picture.live, self.grid.look
        preview, drawing = self.picture.preview, self.grid.drawing
        marks = ["edited"] if self.workspace.editor.dirty else ["as it is"] if session.pictured else []
        if self.workspace.lost is not None:
            marks.append("unsaved work: ctrl+r")
        if session.old:
            marks.append("OLD: the file is invalid")
        if session.tried:
            marks.append("what if")
        link, connected = self.live_words
        if not connected and self.picture.live is not None:
            marks.append(f"cluster {link[0].partition(':')[0]}")  # beside the tabs there is not always room for it
        if look.narrowed:
            marks.append(f"filter: {look.hits.query}")
        if look.order != "rank":
            marks.append(f"by {look.order}")
        words = caption(session.plan) if session.plan.nodes else ""
        kinds = Counter(one.kind for one in live.drift) if live else Counter[DriftKind]()
        self.query_one(StatusBar).status = TopLine(
            file=session.file,
            topology=clean(words.replace("×", "x") if self._ascii else words, self._ascii),
            mode=(session.plan.placement_mode or session.plan.mode) if session.plan.nodes else "",
            marks=tuple(marks),
            totals=self.picture.totals,
            ranks=sum(one.world_size for one in session.plan.components.values()),
            gpus=(0, 0) if self.picture.totals or preview or drawing is None else drawing.census.gpus,
            dead=kinds["dead_rank"],
            missing=kinds["missing_rank"],
            drift=kinds.total() - kinds["dead_rank"] - kinds["missing_rank"] - kinds["stale"],
            alerts=len(live.alerts) if live else 0,
            stale=kinds["stale"],
            errors=session.errors if preview is None or preview.refusal is None else preview.before.errors + 1,
            warnings=session.warnings,
            figures=self._figures(),
            connected=connected,
            ascii=self._ascii,
        )
        self._write_tabs()
        self._write_keys()

    def _figures(self) -> tuple[tuple[int, str], ...]:
        """How many ranks the rule that is typed moves."""
        preview = self.picture.preview
        if preview is None or preview.difference is None:
            return ()
        counts = preview.difference.counts
        words = {"moves": "move", "appears": "added", "vanishes": "removed", "stays": "stay"}
        return tuple((counts[kind], word) for kind, word in words.items() if counts[kind])

    def _write_tabs(self) -> None:
        session, live = self.picture.session, self.picture.live
        notices = len(self.picture.notices)
        words = [("writable" if self.workspace.editor.write else "read-only", False)]
        words += [(one, not self.live_words[1]) for one in self.live_words[0] if one]
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
        views = self.query_one("#views")
        subtitle: Content | str = ""
        views.set_class(bool(self.picture.session.errors) and self.view in ("file", "text"), "-trouble")
        if self.view == "grid":
            title, subtitle = self._grid_title(views.size.width - 10)
        elif self.view in ("file", "text"):
            about = clean(self.picture.session.file, self._ascii)
            title = title_of("File", None, f"{about}  edit" if self.view == "text" else about)
            if self.view == "text" and self.file is not None:  # beside each other, each has a border of its own
                name_border(self.file, title)
                name_border(self.grid, *self._grid_title(self.grid.size.width - 10))
        else:
            number, about = ("", "") if self.table is None else self.table.summary
            title, subtitle = title_of(self.view.capitalize(), number, about), "enter to grid  / filter  s sort"
        name_border(views, title, subtitle)

    def _grid_title(self, width: int) -> tuple[Content, Content | str]:
        drawing, session, unplaced = self.grid.drawing, self.picture.session, self.picture.plan.unplaced
        preview = self.picture.preview
        heat = drawing is not None and drawing.density == "heat"
        name, about = "Grid", "plan, no cluster" if self.picture.live is None else "plan and live"
        if drawing is not None and heat:
            whose = f" of {clean(drawing.component, self._ascii)}" if drawing.component else ""
            name, about = ("Plan", f"promised share{whose}") if self.picture.live is None else ("Heat wall", about)
        if preview is not None:
            about = "preview of" if preview.refusal is None else "last that fits"
        elif session.tried:
            about = "what if"
        elif self.launching:
            about = "starting ranks"
        elif session.broken:
            placed = len(self.picture.plan.components)
            about = (
                f"{placed} of {count(placed + len(unplaced), 'component')} can be placed"
                if unplaced
                else ("as far as it can be placed" if placed else "nothing can be placed")
            )
        title = title_of(name, None, about)
        if preview is not None:
            rule = clean(f" {preview.component}: {preview.shown}", self._ascii)
            title = Content.assemble(title, (rule, "bold $grid-text"))
        if drawing is None or self.palette is None or width <= 30 or not drawing.plan.nodes:
            return title, ""
        if unplaced and not (heat and drawing.overlay is not None):
            letters = [Run(f" {drawing.marks[one].letter}", drawing.pen.letter_style(one)) for one in unplaced]
            return title, content_of((Run("missing:", MUTED), *letters), self.palette)
        if heat and drawing.overlay is not None:
            panels = HeatPanels(drawing)
            title = content_of(panels.title(), self.palette) if width > 50 else title
            return title, content_of(panels.scale(width), self.palette)
        key = launch_key(drawing.pen) if self.launching else drawing.key(width)
        return title, content_of(key, self.palette)

    def _write_keys(self) -> None:
        bar = self.query_one(KeyBar)
        bar.context = self._app_context()
        drafting, finding = self.workspace.drafting, self.focused is not None and self.focused.id == "find"
        bar.hints = self._rule_keys() if drafting else FIND_KEYS if finding else None
        bar.chip = Chip("FIND" if self.table is None else "FILTER") if finding else Chip(*self._chip(drafting))

    def _rule_keys(self) -> tuple[KeyHint, ...]:
        preview, context = self.workspace.preview, self.context
        differs = preview is not None and preview.differs
        undo = (pressed("ctrl+z", "undo"),) if differs or context.undo else ()
        save = (pressed("ctrl+s", "save"),) if differs or context.changes else ()
        return (*RULE_KEYS, *undo, *save, CANCEL)

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
        if (problem := self.shown_problem) is not None and problem in session.problems:
            style = severity_style(problem)
            sign, number = severity_sign(drawing.pen, problem), session.problems.index(problem) + 1
            ground = style.role if style.role in ("error", "warning") else None
            return f"{number}/{len(session.problems)} {sign}", palette.rich_style(style._replace(ground=ground))
        white = palette.rich_style(Style("text", bold=True, ground="white"))
        if self._hits > 1 and self.pane is self.grid:
            at = self.grid.look.at + 1
            return f"FIND {at}/{self._hits}" if at else f"FIND {self._hits}", white
        selection, sign = self.selection, self._trouble_here()
        if (number := len(selection.places)) > 1:
            kind = "GPUs" if all(place.kind == GPU for place in selection.places) else "devices"
            return f"{number:,} {kind}", white
        ranks = [one for one in selection.ranks if one[0] in drawing.marks]
        concerned = self._ranks_concerned(ranks) if sign else []
        role: Literal["error", "warning"] = "warning"
        if self.picture.live is None or any(self.picture.is_dead(*one) for one in concerned):
            role = "error"
        trouble = Style(role, bold=True, ground=role)
        if not ranks or (sign and not concerned and selection.row is None):
            place = selection.place
            label = "" if place is None else f"{place.node}/{place.kind}{place.index}"
            return f"{label} {sign}".strip(), palette.rich_style(trouble) if label and sign else RichStyle()
        component, rank = (concerned or ranks)[0]
        mark = drawing.marks[component]
        if not concerned:
            return mark.label(rank), palette.rich_style(Style("chip", mark.hue, bold=True))
        return f"{mark.label(rank)} {sign}", palette.rich_style(trouble)

    # The inspector

    def _selection_changed(self) -> None:
        self._inspect()
        self._write_keys()

    def on_resize(self) -> None:
        self.call_after_refresh(self._fitted)

    def _fitted(self) -> None:
        self._inspect()
        if self.ready:
            self._divide()
            self._write_title()

    def _inspect(self) -> None:
        """Describe what is selected: a problem in its place, the row of a table, a component of the file, a device."""
        if not self.ready:
            return
        problem, selection, drafting = self.shown_problem, self.selection, bool(self.workspace.drafting)
        self.query_one(ProblemsPanel).chosen = problem or self._notice
        self._make_room(problem is not None and self.view == "grid" and not drafting)
        if not drafting:
            self.query_one(Inspector).subject = Subject(
                self.picture,
                "grid" if self.pane is self.grid else self.view,
                selection,
                selection.place or self.grid.cursor,
                problem,
                self._file_in_focus,
                alone=not self.query_one("#side").is_on_screen,
                squeezed=self._inspector_lines is not None,
            )

    def _make_room(self, for_problem: bool) -> None:
        """A problem stands above the grid where there is no side panel, and elsewhere in the inspector's place."""
        lower, upper = self.query_one("#lower"), self.query_one("#upper")
        above = for_problem and self.has_class("-narrow")
        if above != (self.children.index(lower) < self.children.index(upper)):
            if above:
                self.move_child(lower, before=upper)
            else:
                self.move_child(lower, after=self.query_one("#rows"))
        if for_problem != self.has_class("-problem"):
            self.set_class(for_problem, "-problem")

    def details(self) -> None:
        from placetui.tui.dialogs.details import DetailsScreen, room_for_details

        if self.palette is None:
            return
        width = room_for_details(self.size.width)
        place, seen = self.selection.place or self.grid.cursor, self.picture.observation
        # A job that placetui did not launch has its own variables.
        ours = seen is None or not any(job.name == seen.job for job in seen.jobs)
        found = self.query_one(Inspector).describe(self.picture, place, width, details=True, environment=ours)
        self.app.push_screen(
            DetailsScreen(plain_line(found.title).strip(), text_of_lines(found.lines, self.palette), drawn=True)
        )

    # Views

    def on_descendant_focus(self) -> None:
        self._inspect()
        self._write_status()

    def watch_view(self, view: View) -> None:
        """One pane is in view, and beside the text that is edited the grid."""
        shown = "table" if view in TABLES else "file" if view == "text" else view
        self.query_one("#views", ContentSwitcher).current = shown
        self.set_class(view in TABLES, "-table")
        self.set_class(view in FILES, "-file")
        self.set_class(view == "text", "-editing")
        if view == "text":
            self.grid.display = self.size.width >= ROOM_FOR_BOTH
        if view in ("file", "text") and self.file is not None:
            self.file.read_only = view == "file"
        self._divide()
        self._write_tabs()
        self._write_keys()
        self._inspect()

    def view_plan(self) -> None:
        self.view = "grid"
        self.grid.focus()

    async def view_yaml(self) -> None:
        """The file, from elsewhere at the problem that is selected."""
        if self.view not in FILES and (problem := self.shown_problem) is not None:
            await self.go_to_problem(problem)
        else:
            await self.show_file()

    async def edit_yaml(self) -> None:
        problem = self.shown_problem
        self.workspace.settle()
        if problem is None:
            await self.show_file("text")
        else:
            await self.go_to_problem(problem, "text")
        await self.show_file("text")

    async def show_file(self, view: View = "file") -> FilePane:
        """Show the file's text; the pane is made when it is first wanted, since it costs time."""
        from placetui.tui.panes.file import FilePane

        self.workspace.settle()
        pane = self.file
        if pane is None:
            pane = FilePane(self._ascii, id="file")
            await self._add(pane)
        self.view = view
        pane.focus()
        return pane

    async def _add(self, pane: FilePane | TablePane) -> None:
        await self.query_one("#views", ContentSwitcher).add_content(pane)
        self.watch(pane, "target", self._selection_changed)
        self.watch(self, "picture", lambda picture: setattr(pane, "picture", picture))
        self.watch(self, "palette", lambda palette: setattr(pane, "palette", palette))

    async def _show_table(self, name: TableName) -> None:
        from placetui.tui.panes.table import TablePane

        self.workspace.settle()
        pane = next(iter(self.query(TablePane)), None)
        if pane is None:
            pane = TablePane(self.feed.events, ascii=self._ascii, keys=self._options.keys, id="table")
            await self._add(pane)
            self.watch(pane, "summary", self._write_title)
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
        self.call_after_refresh(self._fitted)

    def _drawn(self, before: Drawing | None, drawing: Drawing | None) -> None:
        heat = drawing if drawing and drawing.density == "heat" and drawing.overlay else None
        self._divide()
        panels = None if heat is None else HeatPanels(heat)
        for panel in self.query(HeatPanel):
            panel.panels = panels
        self.query_one(FitsPanel).drawing = drawing
        if heat is not None:
            self._scrolled()
        if before is None or drawing is None or before.plan is not drawing.plan:
            self._write_status()
        if before is None or drawing is None or not drawing.has_signs_of(before):
            self._write_title()
            self._write_keys()

    def _divide(self) -> None:
        """Beside a heat wall stand its own panels, and the inspector leaves it the lines that it needs."""
        drawing = self.grid.drawing
        heat = drawing is not None and drawing.density == "heat" and self.view == "grid"
        if (panels := heat and self.picture.live is not None) != self._heat_panels:
            self._heat_panels = panels
            self.query_one("#side-plan").display = not panels
            self.query_one("#side-heat").display = panels
            for name in ("#events", "#fullest"):
                # Not a class of the screen: the styles of everything on it would be worked out again.
                self.query_one(name).set_class(panels, "-heat")
        # Whether it fits does not hang on the density: with its room another one would fit, and then without it again.
        crowded = panels and len(self.picture.plan.nodes) > self.size.height
        self.query_one("#rows").set_class(crowded or self.size.height < ROOMY, "-crowded")
        if not heat and self._inspector_lines is None:
            return
        left, lower = None, self.query_one("#lower")
        taken = self.workspace.drafting or self.has_class("-problem")
        if heat and drawing is not None and lower.display and not taken:
            room = self.grid.size.height + lower.size.height - drawing.height - len(drawing.header())
            left = max(LEAST_INSPECTOR, room) if room < self._inspector_height else None
        if left != self._inspector_lines:
            self._inspector_lines = lower.styles.height = left

    @property
    def _inspector_height(self) -> int:
        """Lines of the inspector and what is beside it, as the style sheet has it."""
        styles = self.query_one("#lower").styles.base
        heights = [scalar for scalar in (styles.height, styles.max_height) if scalar is not None]
        return min((int(scalar.resolve(self.size, self.size)) for scalar in heights), default=0)

    def _scrolled(self) -> None:
        """The map shows which part of the heat wall is in view."""
        if self._heat_panels:
            first = int(self.grid.scroll_y)
            self.query_one("#map", HeatPanel).view = first, first + self.grid.size.height

    def clear(self) -> None:
        """Clear a table's filter first, then close the table; in the grid, clear the highlight."""
        table = self.table
        if table is None or not table.clear():
            self.grid.clear()
            if self.view == "grid":
                self.problem = None
            self.view_plan()

    # Where things lead

    @on(JumpToRule)
    async def _jump(self, event: JumpToRule) -> None:
        session, problem = self.picture.session, self.shown_problem
        if problem is not None:
            await self.go_to_problem(problem)
            return
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
            await self.go_to_problem(event.value)
        elif isinstance(event.value, Place):
            self.view_plan()
            self.grid.reveal(event.value)
        elif isinstance(event.value, tuple):
            self._show_rank(*event.value)
        else:
            self.post_message(RowChosen(event.value))

    def _show_rank(self, component: str, rank: int) -> None:
        """Go to where a rank is planned; a launch goes on while another file is open."""
        place = place_of_rank(self.picture.plan, component, rank)
        if place is None:
            self.notify(f"{clean(component, self._ascii)} {rank} is not in the open file", markup=False)
            return
        self.view_plan()
        self.grid.reveal(place)

    async def next_problem(self) -> None:
        """Select the next problem; from elsewhere, the one that was selected last."""
        notices = sorted(self.picture.notices, key=lambda one: one.kind not in DEADLY)
        problems = [*self.picture.session.problems, *notices]
        if not problems and (waiting := self._waiting):
            after = waiting.index(self._waited) + 1 if self._waited in waiting else 0
            self._waited = waiting[after % len(waiting)]
            self._show_rank(*self._waited)
            return
        if not problems:
            self.notify("there are no problems", markup=False)
            return
        shown = self.shown_problem
        file = self._file_in_focus
        if shown is not None and file is not None and shown not in file.problems:
            self._problem = problems.index(shown)
            shown = None
        last = problems[self._problem] if 0 <= self._problem < len(problems) else None
        if shown is not None and shown in problems:
            self._problem = (problems.index(shown) + 1) % len(problems)
        elif not isinstance(last, Problem):
            self._problem = (self._problem + 1) % len(problems)
        problem = problems[self._problem]
        if not isinstance(problem, Problem):
            self.post_message(RowChosen(problem))
        elif self.view == "grid":
            self.problem = problem
        else:
            await self.go_to_problem(problem, "text" if self.view == "text" else "file")

    async def go_to_problem(self, problem: Problem, view: View = "file") -> None:
        """Show the line of a problem in the file."""
        self.problem = problem
        pane = await self.show_file(view)
        if problem.line is not None:
            pane.go_to(problem.line, problem.column or 1)

    @on(RowChosen)
    def _row_chosen(self, event: RowChosen) -> None:
        if isinstance(event.row, Drift | Alert):
            self._notice = event.row
            self._inspect()
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
            await self.mount(bar, before="KeyBar")
        pane = self.table or self.grid
        bar.open(pane)

    @on(FindClosed)
    def _find_closed(self) -> None:
        self.pane.focus()

    # A rule in place

    async def _write_rule(self, component: str) -> None:
        from placetui.tui.widgets.rule_panel import RulePanel

        panel = self.rule
        if panel is None:
            panel = RulePanel(ascii=self._ascii)
            await self.query_one("#lower").mount(panel, before="#inspector")
            self.watch(self, "palette", lambda palette: setattr(panel, "palette", palette))
        preview = self.workspace.open_rule(component)
        if preview is None:
            self.notify(f"{clean(component, self._ascii)} is no longer in the file", markup=False)
        else:
            self._make_room_for_rule(True)
            panel.edit(preview)
            self._write_keys()

    @property
    def rule(self) -> RulePanel | None:
        """The panel in which a rule is edited, once one was."""
        from placetui.tui.widgets.rule_panel import RulePanel

        return next(iter(self.query(RulePanel)), None)

    def _make_room_for_rule(self, wanted: bool) -> None:
        """Put what belongs to a rule in place of the inspector and of the panels about what runs."""
        for name in ("lower", "side", "rows"):
            self.query_one(f"#{name}").set_class(wanted, "-rule")
        self._divide()

    def _close_rule(self) -> None:
        if self.query("#lower.-rule") and (panel := self.rule) is not None:
            self._make_room_for_rule(False)
            panel.close()
            self.set_focus(self.grid)

    @on(RuleTyped)
    def _rule_typed(self, event: RuleTyped) -> None:
        self.workspace.draft_rule(event.text)

    @on(RuleResized)
    def _rule_resized(self, event: RuleResized) -> None:
        text = self.edits.resized_rule(event.processes)
        if text is not None and self.rule is not None:
            self.rule.text = text

    @on(RuleDone)
    async def _rule_done(self, event: RuleDone) -> None:
        preview = self.workspace.preview
        if preview is not None and (refusal := preview.refusal) is not None:
            self.workspace.refuse(refusal)
        elif preview is not None:
            self._next_rule = bool(event.steps)
            self.workspace.finish_rule()
            self._next_rule = False
            names = list(self.workspace.session.plan.components)
            if event.steps and preview.component in names:
                await self._write_rule(names[(names.index(preview.component) + event.steps) % len(names)])
            else:
                self._close_rule()

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

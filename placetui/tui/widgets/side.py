"""The side panels: components, problems, and what happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.geometry import Size
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget

from placetui.grid import Drawing, HeatMetric, Pen, Run
from placetui.grid.heat_panels import HeatPanels
from placetui.grid.look.style import FAINT
from placetui.grid.panels import Entry, component_entries, event_entries, problem_entries
from placetui.grid.panels.components import component_rows
from placetui.grid.panels.fits import Fits, fit_lines
from placetui.grid.panels.jobs import job_entries
from placetui.grid.panels.launch import waiting_entries
from placetui.grid.panels.moves import move_lines
from placetui.grid.panels.problems import problem_key
from placetui.grid.tables.rows import Notice
from placetui.placement.plan import Plan
from placetui.placement.problems import Problem
from placetui.placement.wording import count
from placetui.tui.actions import BY_ID, Context, is_named
from placetui.tui.cluster.launch import Launch
from placetui.tui.live import LivePicture
from placetui.tui.widgets.panel import ListPanel, name_border, title_of

ONE_LINE = 3
"""Lines of a panel with a single line in its border."""

HEAT_AFTER = 0.5
"""Seconds after which the panels beside the heat wall show it."""

SPREADS: dict[HeatMetric, str] = {"state": "ranks by state", "temperature": "GPUs by temp"}
HIGHEST: dict[HeatMetric, str] = {
    "memory": "Fullest",
    "load": "Busiest",
    "temperature": "Hottest",
    "state": "Not alive",
}
"""What the GPUs with the highest values are called."""

HEAT_EVERY = 3.0
"""Seconds after which they follow new values: all GPUs are gone through for that."""


class SidePanel(ListPanel):
    """A panel that follows the picture; one that is hidden does nothing."""

    picture: reactive[LivePicture | None] = reactive(None, repaint=False, init=False)

    def update(self) -> None:
        picture, width = self.picture, self.content_size.width
        if picture is not None and self.palette is not None and width and self._is_shown:
            self.fill(self.entries(picture, self.pen_of(picture.plan), width), self.palette)

    watch_picture = update

    @property
    def _is_shown(self) -> bool:
        return self.display and (not isinstance(self.parent, Widget) or self.parent.display)

    def entries(self, picture: LivePicture, pen: Pen, width: int) -> list[Entry]:
        """What it shows; nothing by itself."""
        return []


class ComponentsPanel(SidePanel):
    """Who is placed."""

    component: reactive[str | None] = reactive(None, repaint=False, init=False)
    """The highlighted one."""

    watch_component = SidePanel.update

    counts_rest = True

    _alone = False
    """Whether what is below needs no more than a line."""

    @property
    def selected(self) -> str | None:
        preview = None if self.picture is None else self.picture.preview
        return self.component if preview is None else preview.component

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """All entries, as far as what is below has the lines that it needs."""
        below = ONE_LINE if self._alone else container.height * 2 // 5
        return min(super().get_content_height(container, viewport, width), max(1, container.height - below))

    def entries(self, picture: LivePicture, pen: Pen, width: int) -> list[Entry]:
        name_border(self, title_of("Components", len(picture.plan.components)))
        if self.has_class("-rows"):
            return component_rows(pen, width, picture.totals)
        preview = picture.preview
        launching, jobs = picture.live is not None and picture.live.launching, self.screen.has_class("-wide", "-jobs")
        alone = not (launching or jobs or preview or picture.session.problems or picture.notices)
        if alone != self._alone:
            self._alone = alone
            self.refresh(repaint=False, layout=True)
        if preview is not None:
            was = preview.was if preview.differs and preview.refusal is None else ""
            return component_entries(pen, width, chosen=preview.component, was=was)
        return component_entries(pen, width, live=picture.live, totals=picture.totals, chosen=self.component)


class ProblemsPanel(SidePanel):
    """Problems; during a launch, the ranks it waits for."""

    counts_rest = True

    launch: reactive[Launch | None] = reactive(None, repaint=False, init=False, always_update=True)

    chosen: reactive[Problem | Notice | None] = reactive(None, repaint=False, init=False)
    """The problem that is selected."""

    watch_launch = watch_chosen = SidePanel.update

    @property
    def selected(self) -> Problem | Notice | None:
        return self.chosen

    def key_of(self, value: Any) -> object:
        return problem_key(value)

    def entries(self, picture: LivePicture, pen: Pen, width: int) -> list[Entry]:
        if self.launch is not None and not picture.notices:
            waiting = self.launch.waiting
            name_border(self, title_of("Waiting for", sum(len(one.ranks) for one in waiting)), "F log of the rank")
            # Another file may be open than the one that is launched.
            return list(waiting_entries(self.pen_of(self.launch.plan), waiting, width))
        problems, notices = picture.session.problems, picture.notices
        number = len(problems) + len(notices)
        title = title_of("Problems", number or None, trouble=bool(number))
        following = "! next  " if number > (self.chosen is not None) else ""
        name_border(self, title, f"{following}enter go" if number else "")
        self.set_class(bool(number), "-trouble")
        return problem_entries(pen, problems, notices, width, chosen=self.chosen, opened=self.current, room=self.room)

    def action_move(self, steps: int) -> None:
        super().action_move(steps)
        self.update()


class MovesPanel(SidePanel):
    """Who moves, is added or removed by the rule that is typed."""

    def entries(self, picture: LivePicture, pen: Pen, width: int) -> list[Entry]:
        preview = picture.preview
        difference = None if preview is None else preview.difference
        if difference is None:
            name_border(self, title_of("Changes"))
            refused = preview is not None and preview.refusal is not None
            return [Entry(((Run("the rule cannot be placed", FAINT),),))] if refused else []
        counts = difference.counts
        number = counts["moves"] + counts["appears"] + counts["vanishes"]
        stay = f"{count(counts['stays'], 'rank')} {'stays' if counts['stays'] == 1 else 'stay'}"
        name_border(self, title_of("Changes", f"{number:,}" if number else None), stay)
        return [Entry((line,)) for line in move_lines(pen, difference, width, max(2, self.room))]


class FitsPanel(SidePanel):
    """How a plan fits on its GPUs, where there is nothing live."""

    drawing: reactive[Drawing | None] = reactive(None, repaint=False, init=False)
    """Of the plan: what stands on its nodes is counted once."""

    _fits: tuple[Plan, Fits] | None = None

    watch_drawing = SidePanel.update

    def entries(self, picture: LivePicture, pen: Pen, width: int) -> list[Entry]:
        drawing, preview = self.drawing, picture.preview
        if drawing is None or drawing.plan is not picture.plan:
            return []
        if self._fits is None or self._fits[0] is not picture.plan:
            self._fits = picture.plan, Fits.of(picture.plan, drawing.census)
        fits = self._fits[1]
        errors = [one for one in (preview.problems if preview else ()) if one.severity == "error"]
        wrong = next((one for one in errors if one.rule != "oversubscribed"), None)
        number = bool(wrong) + bool(fits.over.number)
        name_border(self, title_of("Fits", number or None, trouble=True))
        self.set_class(bool(number), "-trouble")
        planned, difference = preview is None or preview.refusal is None, preview.difference if preview else None
        lines = fit_lines(pen, fits, width, wrong=wrong, difference=difference, planned=planned)
        return [Entry((line,)) for line in lines]


class JobsPanel(SidePanel):
    """Jobs of the cluster."""

    def __init__(self, context: Callable[[], Context], *, ascii: bool, id: str) -> None:
        super().__init__(ascii=ascii, id=id)
        self._app_context = context
        """What the availability of actions depends on."""

    def entries(self, picture: LivePicture, pen: Pen, width: int) -> list[Entry]:
        seen = picture.observation
        found = [] if seen is None else job_entries(pen, seen, picture.totals, width)
        name_border(
            self, title_of("Jobs", len(found)), "J list" if is_named(BY_ID["jobs"], self._app_context()) else ""
        )
        return found


class EventsPanel(SidePanel):
    """What happened."""

    def entries(self, picture: LivePicture, pen: Pen, width: int) -> list[Entry]:
        seen = picture.observation
        latest = picture.events[-max(1, self.room) :]
        hidden = len(latest) < len(picture.events)
        name_border(self, title_of("Events"), f"7 all {len(picture.events):,}" if hidden else "")
        if seen is not None and not latest:
            return [Entry(((Run("nothing has happened yet", FAINT),),))]
        return event_entries(pen, reversed(latest), seen, width)


class HeatPanel(SidePanel):
    """Something that stands beside the heat wall: `cluster`, `map`, `spread`, or the `highest` values.

    The last of these are `fullest` where they stand below the others, beside the inspector.
    """

    panels: reactive[HeatPanels | None] = reactive(None, repaint=False, init=False)
    """What stands beside the wall that is shown; the same for all of them."""

    view: reactive[tuple[int, int]] = reactive((0, 0), repaint=False, init=False)
    """Its first line that is on the screen, and the one after the last."""

    _due: Timer | None = None
    _shown: HeatPanels | None = None

    def watch_panels(self, before: HeatPanels | None, after: HeatPanels | None) -> None:
        """Another wall is followed soon, and one with new values now and then."""
        same = before is not None and after is not None and after.follow(before)
        if self._due is None or not same:
            if self._due is not None:
                self._due.stop()
            self._due = self.set_timer(HEAT_EVERY if same else HEAT_AFTER, self._drawn)

    def _drawn(self) -> None:
        self._due, self._shown = None, self.panels
        self.update()

    def catch_up(self) -> None:
        """Show the newest values at once."""
        if self._due is not None:
            self._due.stop()
            self._drawn()

    def watch_view(self) -> None:
        if self.id == "map":
            self.update()

    def watch_picture(self) -> None:
        """The figures of the cluster follow the picture, all else the drawing."""
        if self.id == "cluster" and self._shown is not None:
            self.update()

    def entries(self, picture: LivePicture, pen: Pen, width: int) -> list[Entry]:
        panels = self.panels
        if panels is not None and self._shown is not None and panels.follow(self._shown):
            panels = self._shown  # what they have worked out still stands
        if panels is None:
            return []
        if self.id == "cluster":
            name_border(self, title_of("Cluster"))
            return [Entry((line,)) for line in panels.cluster(width, picture.totals)] if picture.totals else []
        if self.id == "map":
            name_border(self, title_of("Map", None, "all nodes"), "g G ends")
            return [Entry((line,)) for line in panels.minimap(width, max(1, self.room), *self.view)]
        if self.id == "spread":
            name_border(self, title_of("Spread", None, SPREADS.get(panels.metric, f"GPUs by {panels.metric}")))
            return [Entry((line,)) for line in panels.spread(width, max(2, self.room - 1))]
        name_border(self, title_of(HIGHEST[panels.metric]), "enter go there")
        return [Entry((line,), place) for line, place in panels.highest(width, max(1, self.room))]

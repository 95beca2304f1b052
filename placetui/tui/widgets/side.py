"""The side panels: components, problems, and what happened."""

from __future__ import annotations

from rich.cells import cell_len
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget

from placetui.grid import Pen
from placetui.grid.heat_panels import HeatPanels
from placetui.grid.panels import Entry, component_entries, event_entries, problem_entries
from placetui.grid.panels.components import component_rows
from placetui.grid.panels.jobs import job_entries
from placetui.grid.panels.launch import waiting_lines
from placetui.tui.cluster.launch import Launch
from placetui.tui.live import LivePicture
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.panel import ListPanel, name_border, title_of

HEAT_AFTER = 0.5
"""Seconds after which the panels beside the heat wall follow it."""


class PlanPanel(ListPanel):
    """A panel that follows the picture; one that is hidden does nothing."""

    picture: reactive[LivePicture | None] = reactive(None, repaint=False, init=False)
    palette: reactive[GridPalette | None] = reactive(None, repaint=False, init=False)

    def __init__(self, *, ascii: bool, id: str) -> None:
        super().__init__(id=id)
        self._ascii = ascii
        self._pen: Pen | None = None

    def on_resize(self) -> None:
        self.call_after_refresh(self.update)  # a new layout that is asked for during one is lost

    on_show = on_resize

    def update(self) -> None:
        """Draw what there is for the room there is."""
        picture, width = self.picture, self.content_size.width
        if picture is None or self.palette is None or not width or not self._is_shown:
            return
        if self._pen is None or self._pen.plan is not picture.plan:
            self._pen = Pen(picture.plan, self._ascii, cell_len)
        self.fill(self.entries(picture, self._pen, width), self.palette)

    watch_picture = watch_palette = update

    @property
    def _is_shown(self) -> bool:
        return self.display and (not isinstance(self.parent, Widget) or self.parent.display)

    def entries(self, picture: LivePicture, pen: Pen, width: int) -> list[Entry]:
        """What it shows; nothing by itself."""
        return []


class ComponentsPanel(PlanPanel):
    """Who is placed."""

    component: reactive[str | None] = reactive(None, repaint=False, init=False)
    """The highlighted one."""

    watch_component = PlanPanel.update

    def entries(self, picture: LivePicture, pen: Pen, width: int) -> list[Entry]:
        name_border(self, title_of("Components", len(picture.plan.components)))
        if self.has_class("-rows"):
            names = list(picture.plan.components)
            return [Entry((line,), names[min(n, len(names) - 1)]) for n, line in enumerate(component_rows(pen, width))]
        return component_entries(pen, width, live=picture.live, totals=picture.totals, chosen=self.component)


class ProblemsPanel(PlanPanel):
    """Problems; during a launch, the ranks it waits for."""

    launch: reactive[Launch | None] = reactive(None, repaint=False, init=False, always_update=True)

    watch_launch = PlanPanel.update

    def entries(self, picture: LivePicture, pen: Pen, width: int) -> list[Entry]:
        if self.launch is not None and not picture.notices:
            waiting = self.launch.waiting
            name_border(self, title_of("Waiting for", sum(len(one.ranks) for one in waiting)), "F log of the rank")
            return [Entry(tuple(waiting_lines(pen, waiting, width, max(1, self.room))))]
        problems, notices = picture.session.problems, picture.notices
        number = len(problems) + len(notices)
        title = title_of("Problems", number or None, trouble=bool(number))
        name_border(self, title, "! next  enter go" if number else "")
        self.set_class(bool(number), "-trouble")
        return problem_entries(pen, problems, notices, width)


class JobsPanel(PlanPanel):
    """Jobs of the cluster."""

    def entries(self, picture: LivePicture, pen: Pen, width: int) -> list[Entry]:
        seen = picture.observation
        found = [] if seen is None else job_entries(pen, seen, picture.totals, width)
        name_border(self, title_of("Jobs", len(found)), "J list")
        return found


class EventsPanel(PlanPanel):
    """What happened."""

    def entries(self, picture: LivePicture, pen: Pen, width: int) -> list[Entry]:
        seen = picture.observation
        name_border(self, title_of("Events"), f"7 all {len(picture.events)}" if picture.events else "")
        latest = picture.events[-max(1, self.room) :]
        now = seen.time if seen else max((one.time for one in latest), default=0.0)
        return event_entries(pen, reversed(latest), now, width)


class HeatPanel(PlanPanel):
    """Something that stands beside the heat wall: `map`, `spread` or `highest`."""

    panels: reactive[HeatPanels | None] = reactive(None, repaint=False, init=False)
    """What stands beside the wall that is shown; the same for all of them."""

    view: reactive[tuple[int, int]] = reactive((0, 0), repaint=False, init=False)
    """Its first line that is on the screen, and the one after the last."""

    _due: Timer | None = None

    def watch_panels(self) -> None:
        """The values are others: soon, since all of them are gone through."""
        if self._due is None:
            self._due = self.set_timer(HEAT_AFTER, self._drawn)

    def _drawn(self) -> None:
        self._due = None
        self.update()

    def watch_view(self) -> None:
        if self.id == "map":
            self.update()

    def watch_picture(self) -> None:
        """The drawing follows the picture."""

    def entries(self, picture: LivePicture, pen: Pen, width: int) -> list[Entry]:
        panels = self.panels
        if panels is None:
            return []
        if self.id == "map":
            name_border(self, title_of("Map", None, "all nodes"), "g G ends")
            return [Entry((line,)) for line in panels.minimap(width, max(1, self.room), *self.view)]
        if self.id == "spread":
            name_border(self, title_of("Spread", None, f"GPUs by {panels.metric}"))
            return [Entry((line,)) for line in panels.spread(width, max(2, self.room - 1))]
        name_border(self, title_of("Highest", None, panels.metric), "enter go there")
        return [Entry((line,), place) for line, place in panels.highest(width, max(1, self.room))]

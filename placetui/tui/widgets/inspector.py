"""The panel below the grid: a problem in its place, a component of the file, or a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.reactive import reactive

from placetui.grid import Line, Pen, Place, Run, clean
from placetui.grid.excerpt import excerpt_lines, problem_block, problem_lines, problem_title
from placetui.grid.inspector import COMPACT, Flow, Inspection, inspect
from placetui.grid.look.style import FAINT, MUTED, NAME
from placetui.grid.panels.components import component_lines, place_lines
from placetui.placement.plan import GPU
from placetui.placement.problems import Problem
from placetui.tui.actions import BY_ID, READ_ONLY, Context, View, key_names, why_not
from placetui.tui.live import LiveFeed, LivePicture
from placetui.tui.options import Options
from placetui.tui.selection import Selection, ranks_at
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.content import content_of
from placetui.tui.widgets.panel import PlanPanel, name_border, title_of

if TYPE_CHECKING:
    from placetui.tui.panes.file import FilePane

LEAST_EXCERPT = 3
"""Lines of the file that are worth showing."""

CONTEXT = 3
"""Lines of the file before and after a problem that stands above the grid."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What the panel is about."""

    picture: LivePicture
    view: View
    """That of the pane that is meant."""

    selection: Selection
    place: Place
    """A device: that of the selection, else the one under the cursor of the grid."""

    problem: Problem | None
    """If there is one, the panel is about that."""

    file: FilePane | None
    """If there is one, the panel is about the line under its cursor."""

    alone: bool
    """Whether no other panel lists the problems."""

    squeezed: bool
    """Whether the panel has fewer lines than usual."""


class Inspector(PlanPanel):
    """Describes its subject for the room there is."""

    subject: reactive[Subject | None] = reactive(None, repaint=False, init=False, always_update=True)

    def __init__(self, feed: LiveFeed, options: Options, context: Callable[[], Context], *, id: str) -> None:
        super().__init__(ascii=options.ascii, id=id)
        self._feed = feed
        self._keys = options.keys
        self._app_context = context
        """What the availability of actions depends on."""

    def update(self) -> None:
        one, palette = self.subject, self.palette
        if one is None or palette is None:
            return
        self.set_class(one.problem is not None and one.problem.severity == "error", "-trouble")
        pen = self.pen_of(one.picture.plan)
        if one.problem is not None:
            if self.content_size.width > 1:
                self._show_problem(one, one.problem, pen, palette)
        elif not self.content_size.height:
            return
        elif one.file is not None and pen.plan.components:
            self._show_components(one, one.file, pen, palette)
        else:
            self._show_place(one, pen, palette)

    watch_subject = update

    def _show_problem(self, one: Subject, problem: Problem, pen: Pen, palette: GridPalette) -> None:
        """In its place; in the file, where that is in view above, the words alone."""
        width, height, screen = self.content_size.width, self.room, self.screen
        session, in_grid = one.picture.session, one.view == "grid"
        above = in_grid and screen.has_class("-narrow")
        void = screen.has_class("-void")
        if above and not void:
            height = screen.size.height - 5 if screen.has_class("-tiny") else (screen.size.height - 3) * 2 // 3 - 2
        listed = session.problems if above or one.alone else (problem,)
        if one.file is not None and problem in one.file.problems and one.file.components:
            ordered = [problem, *(other for other in one.file.problems if other is not problem)]
            lines = [line for other in ordered for line in (*problem_block(pen, other, width), ())]
            lines += component_lines(pen, one.file.components, width, max(0, height - len(lines)))
            lines = lines[:height]
        elif one.file is not None and problem in one.file.problems:
            lines = problem_lines(pen, (), problem, session.problems, width, height)
        else:
            text, context = session.text.splitlines(), CONTEXT if above and not void else height
            lines = problem_lines(pen, text, problem, listed, width, height, context=context)
        keys = ["! next"] * (len(session.problems) > 1 and one.view != "text") + ["enter go there"] * in_grid
        title = content_of(problem_title(pen, problem, session.problems, width), palette)
        name_border(self, title, "  ".join(keys))
        self.show(lines, palette)

    def _show_components(self, one: Subject, file: FilePane, pen: Pen, palette: GridPalette) -> None:
        """What the file's line under the cursor places, else all components; where they are listed, their ranks."""
        names, width = file.components, max(20, self.content_size.width)
        if names:
            title = title_of(clean(", ".join(names), self._ascii), None, f"line {file.cursor_location[0] + 1}")
        else:
            title = title_of("Components", len(pen.plan.components), "" if one.alone else "nodes and devices")
        listed = names or list(pen.plan.components)
        lines = (component_lines if names or one.alone else place_lines)(pen, listed, width, self.room)
        name_border(self, title)
        self.show(lines, palette)

    def _show_place(self, one: Subject, pen: Pen, palette: GridPalette) -> None:
        """A device, below all that the row of a table says of it."""
        width, lines = max(20, self.content_size.width), list[Line]()
        if one.file is None and one.selection.row is not None:
            from placetui.grid.tables.table import row_lines

            lines = row_lines(Flow(pen, width), one.selection.row)
        tiny = self.screen.has_class("-tiny")
        compact = tiny or self.screen.has_class("-short") or (one.squeezed and self.room <= COMPACT)
        rows = self.room - len(lines)
        found = self.describe(one.picture, one.place, width, compact=compact, rows=rows, heading=tiny)
        lines += found.lines
        if one.picture.observation is None and one.view == "grid":
            lines += self._excerpt(one, found, pen, width)
        hint = self._hint(one)
        if hint and len(lines) < self.room:
            lines += [(), hint][-max(1, self.room - len(lines)) :]
        title = content_of(found.title, palette) if found.title else title_of("Device")
        name_border(self, title, "d all fields  enter rule" if one.view == "grid" else "d all fields")
        self.show(lines, palette)

    def _excerpt(self, one: Subject, found: Inspection, pen: Pen, width: int) -> list[Line]:
        """The first of the rules in its place in the file, where enough lines are left."""
        session, room, path = one.picture.session, self.room - len(found.lines) - 1, found.target()
        place = None if path is None else session.locate(path)
        if place is None or room < LEAST_EXCERPT:
            return []
        return [(), *excerpt_lines(pen, session.text.splitlines(), place[0], (), width, room)]

    def _hint(self, one: Subject) -> Line:
        """What can be done about a rank that is dead."""
        if not any(one.picture.is_dead(*rank) for rank in ranks_at(one.picture.plan, one.place)):
            return ()
        hint: list[Run] = []
        context, glyphs = self._app_context(), self.pen_of(one.picture.plan).glyphs
        for action in (BY_ID["restart_rank"], BY_ID["rank_log"]):
            lacking = why_not(action, context)
            if not lacking or lacking == READ_ONLY:
                key = next(key_names(action, self._keys, self._ascii))
                why = f" ({lacking})" if lacking else ""
                start = glyphs.dot if hint else f"{glyphs.right} "
                hint += [Run(start, FAINT), Run(key, NAME), Run(f" {action.label}{why}", MUTED)]
        return tuple(hint)

    def describe(
        self,
        picture: LivePicture,
        place: Place,
        width: int,
        *,
        compact: bool = False,
        rows: int | None = None,
        details: bool = False,
        environment: bool = False,
        heading: bool = False,
    ) -> Inspection:
        """All about a device, in a number of columns."""
        notices = picture.notices_at(place.node, place.index if place.kind == GPU else None)
        return inspect(
            picture.plan,
            place,
            locate=picture.session.locate,
            observation=picture.observation,
            history=self._feed.history,
            hour=self._feed.hour,
            notices=notices,
            events=picture.events,
            width=width,
            ascii=self._ascii,
            compact=compact,
            rows=rows,
            details=details,
            environment=environment,
            heading=heading,
        )

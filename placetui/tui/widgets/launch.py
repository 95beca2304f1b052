"""A launch on the main screen: its steps with the ranks that are alive, and what the slowest rank writes."""

from __future__ import annotations

from textual.reactive import reactive

from placetui.grid import Line, Pen, Run
from placetui.grid.look.style import FAINT, MUTED, TEXT
from placetui.grid.panels.launch import clock_text, rank_bar, step_lines
from placetui.tui.cluster.launch import Launch
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.content import content_of
from placetui.tui.widgets.panel import PlanPanel, name_border, title_of


class LaunchPart(PlanPanel):
    """A panel that follows a launch."""

    launch: reactive[Launch | None] = reactive(None, repaint=False, init=False, always_update=True)

    def update(self) -> None:
        launch, palette, width = self.launch, self.palette, self.content_size.width
        if launch is not None and palette is not None and width:
            self.show(self.lines(launch, self.pen_of(launch.plan), palette, width), palette)

    watch_launch = update

    def lines(self, launch: Launch, pen: Pen, palette: GridPalette, width: int) -> list[Line]:
        """What it shows; nothing by itself."""
        return []


class StepsPanel(LaunchPart):
    """The steps, and a bar of the ranks by role."""

    def lines(self, launch: Launch, pen: Pen, palette: GridPalette, width: int) -> list[Line]:
        steps = launch.steps
        doing = next((number for number, one in enumerate(steps, 1) if one.progress != "done"), len(steps))
        title = title_of("Launch", None, f"step {doing} of {len(steps)}  {clock_text(int(launch.elapsed))}")
        name_border(self, title, "L details and cancel")
        lines = step_lines(pen, steps, width)
        if self.screen.has_class("-short"):
            lines = lines[:1]
        elif len(lines) > 1:
            lines.append(())
        return [*lines, rank_bar(pen, launch.alive_by_component, launch.size, width, launch.left)]


class OutputPanel(LaunchPart):
    """The last lines that the slowest rank wrote."""

    def lines(self, launch: Launch, pen: Pen, palette: GridPalette, width: int) -> list[Line]:
        rank = launch.output_of
        if rank is None:
            name_border(self, title_of("Output"), "O Ray's output")
            return [(Run("no rank is slow to start; F follows the log of the selected one", FAINT),)]
        title = [Run("Output  ", TEXT._replace(bold=True))]
        title.append(Run(f"{pen.clean(rank[0])} {rank[1]}", pen.letter_style(rank[0])))
        title.append(Run(f"  {launch.place_of(*rank)}", MUTED))
        name_border(self, content_of(tuple(title), palette), "F follow  O Ray's output")
        shown = [pen.cut(pen.clean(one.expandtabs(4)), width) for one in launch.output]
        last = len(shown) - 1
        lines: list[Line] = [(Run(one, TEXT if at == last else MUTED),) for at, one in enumerate(shown)]
        return lines[-max(1, self.room) :] or [(Run(launch.output_note or "nothing was written yet", FAINT),)]

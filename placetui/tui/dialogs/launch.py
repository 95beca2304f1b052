"""The launch screen: what will start where, the progress, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from placetui.grid import Pen, Run
from placetui.grid.look.style import ERROR, MUTED, NAME, OK, TEXT, WARNING
from placetui.grid.panels.launch import rank_bar, step_lines, waiting_lines
from placetui.observe.operations import Failure
from placetui.placement.wording import count, listing, plain, ranges, share_figure
from placetui.tui.cluster.launch import Launch, gpu_text, worker_of
from placetui.tui.dialogs.choose import Answer, AnswerList
from placetui.tui.dialogs.dialog import Dialog
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.content import text_of
from placetui.tui.widgets.panel import Panel, title_of

MOST_ROWS = 1000
"""Ranks that are listed; a person reads fewer."""

MOST_SINGLE = 12
"""Ranks up to which each has a line of its own."""

MOST_NOTES = 4
"""Of what preflight says; its own screen has all."""

MOST_WAITING = 6
"""Lines of who is waited for."""

YES, NO, BACK = "yes", "no", "back"


class LaunchScreen(Dialog[str | None]):
    """One launch, which continues without the screen: `yes` and `no` are answers to it, `back` leaves it as it is."""

    CHIP = "LAUNCH"
    KEYS = (("enter", "choose"), ("pgup pgdn", "scroll"))

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "back"),
        Binding("pageup", "scroll(-1)", "up", show=False),
        Binding("pagedown", "scroll(1)", "down", show=False),
    ]

    def __init__(self, launch: Launch, refusal: str, ascii: bool) -> None:
        super().__init__(f"Launch {launch.job}", ascii=ascii)
        self.launch = launch
        self._refusal = refusal
        self._pen = Pen(launch.plan, ascii, cell_len)
        self._asked = ""

    def compose(self) -> ComposeResult:
        with self.box(classes="-fit -launch"):
            with VerticalScroll(can_focus=False):
                yield Static(id="launch-refusal", classes="refusal", markup=False)
                yield Panel(id="launch-steps")
                yield Static(id="launch-text", markup=False)
            yield AnswerList()

    def on_mount(self) -> None:
        self.query_one("#launch-refusal").display = False
        self.call_after_refresh(self._fill)
        self.set_interval(1.0, self.follow)

    def follow(self) -> None:
        if self.is_mounted:
            self._fill()

    def _fill(self) -> None:
        self._fill_steps()
        words = _Words(self.launch, self._pen, GridPalette(self.app.theme_variables, color=not self.app.no_color))
        self.query_one("#launch-text", Static).update(Group(*words.lines()))
        if self.launch.dry_run and not self.launch.under_way:
            refusal = self.query_one("#launch-refusal", Static)
            refusal.display = True
            refusal.update(Content(f"It will not be launched: {self._refusal}."))
        self.query_one(AnswerList).show(self._possible())
        self.name_keys((*self.KEYS, ("escape", "cancel" if self._undecided else "back")))
        failed = isinstance(self.launch.outcome, Failure)
        before, self._asked = self._asked, "failed" if failed else self.launch.question
        if self._asked not in (before, "", "launch"):  # what the answer depends on comes before the steps
            body = self.query_one(VerticalScroll)
            text = self.query_one("#launch-text")
            text.add_class("-first")
            body.move_child(text, before=self.query_one("#launch-steps"))
            body.scroll_home(animate=False)

    def _fill_steps(self) -> None:
        """The steps, the ranks that are alive, and who is waited for."""
        launch, panel = self.launch, self.query_one("#launch-steps", Panel)
        if not panel.content_size.width:
            return
        pen, width = self._pen, panel.content_size.width
        steps = launch.steps
        doing = next((number for number, one in enumerate(steps, 1) if one.progress != "done"), len(steps))
        panel.border_title = title_of("Steps", None, f"{doing} of {len(steps)}")
        # While ranks start, they matter; before a decision and after a failure, what is known does.
        starting = launch.confirmed and launch.under_way and not launch.question
        lines = step_lines(pen, steps, width, listed=not starting)
        if launch.confirmed and launch.size:
            lines += [(), rank_bar(pen, launch.alive_by_component, launch.size, width)]
            lines += waiting_lines(pen, launch.waiting if launch.under_way else (), width, MOST_WAITING)
        panel.show(lines, GridPalette(self.app.theme_variables, color=not self.app.no_color))

    def _possible(self) -> list[Answer]:
        launch = self.launch
        ranks = count(sum(one.world_size for one in launch.plan.components.values()), "rank")
        if launch.question == "launch":
            return [Answer(YES, f"launch {ranks}", key="ctrl+l"), Answer(NO, "do not launch", key="n")]
        if launch.question == "moved":
            return [Answer(NO, "roll back", key="n"), Answer(YES, "launch there", key="ctrl+l")]
        if launch.question == "used":
            return [Answer(NO, "do not launch", key="n"), Answer(YES, "launch on used GPUs", key="ctrl+l")]
        if launch.under_way and not launch.cancelled:
            cancel = "stop the job and its cluster" if launch.ready else "cancel and roll back"
            return [Answer(BACK, "back to the grid; it continues", key="b"), Answer(NO, cancel, key="ctrl+x")]
        label = "back to the grid" if launch.under_way or isinstance(launch.outcome, Failure) else "close"
        return [Answer(BACK, label, key="b")]

    def action_leave(self) -> None:
        """Before anything was begun leaving means no; later it continues."""
        self.dismiss(NO if self._undecided else BACK)

    @property
    def _undecided(self) -> bool:
        return bool(self.launch.question) or (self.launch.under_way and not self.launch.confirmed)

    def action_scroll(self, pages: int) -> None:
        body = self.query_one(VerticalScroll)
        body.scroll_relative(y=pages * max(1, body.size.height - 1), animate=False)

    @on(AnswerList.Chosen)
    def _chosen(self, event: AnswerList.Chosen) -> None:
        self.dismiss(event.value)


class _Words:
    """All that is known of a launch, for a person who decides or waits."""

    def __init__(self, launch: Launch, pen: Pen, palette: GridPalette) -> None:
        self._launch = launch
        self._pen = pen
        self._palette = palette

    def _text(self, *runs: Run) -> Text:
        text = text_of(tuple(Run(self._pen.clean(text), style) for text, style in runs), self._palette)
        text.end = "\n"
        return text

    def _hanging(self, head: Run, words: str) -> Table:
        """Words that stay right of their head when they need several lines."""
        table = Table.grid()
        table.add_column(no_wrap=True)
        table.add_column()
        table.add_row(self._text(head), Text(self._pen.clean(plain(words))))
        return table

    def _warning(self, head: str, words: str) -> Table:
        return self._hanging(Run(f"{self._pen.glyphs.above} {head}: ", WARNING), words)

    def lines(self) -> Iterator[Text | Table]:
        launch = self._launch
        for warning in launch.told.get("match", {}).get("warnings", ()):
            yield self._warning("warning", str(warning))
        if launch.preflight is not None and not launch.confirmed:
            yield from self._preflight(launch.preflight)
        if launch.unsaved and not launch.confirmed and launch.under_way:
            yield self._warning("unsaved", "the launch uses the plan on the screen, which differs from the file")
        outcome = launch.outcome
        if isinstance(outcome, Failure):
            yield from self._failure(outcome)
            return
        if launch.under_way and not launch.question and not launch.ready:
            words = launch.ending if launch.cancelled else launch.next_words
            yield self._text(Run(f"{self._pen.glyphs.states['starting']} ", NAME), Run(words, TEXT))
        if launch.question == "moved":
            yield Text("Other jobs have planned GPUs. These ranks would run elsewhere:")
            yield from self._table(("rank", "node", "planned", "would get"), self._moves())
        elif launch.question == "used":
            yield Text("Other processes use planned GPUs without a Ray reservation:")
            rows = ((f"GPU {one['gpu_id']}", str(one["node"]), listing(one["used_by"], 3)) for one in launch.used)
            yield from self._table(("device", "node", "used by"), rows)
        elif launch.expected and not launch.confirmed:
            yield from self._table(("rank", "node", "expected", "share", "worker"), self._ranks())

    def _preflight(self, found: Mapping[str, Any]) -> Iterator[Table]:
        """Whether Ray could place what the framework itself asks for, and what to know before."""
        glyphs = self._pen.glyphs
        if found["fits"]:
            yield self._hanging(Run(f"{glyphs.done} preflight  ", OK), "Ray can place what the framework requests")
        else:
            yield self._hanging(Run(f"{glyphs.states['dead']} preflight  ", ERROR), "the job cannot be scheduled")
        errors = [one for one in found["problems"] if one["severity"] == "error"]
        for one in [*errors, *found["notes"]][:MOST_NOTES]:
            words = f"{one['message']} ({one['hint']})" if one["hint"] else one["message"]
            yield self._hanging(Run(f"  {glyphs.above} ", WARNING), words)

    def _failure(self, failure: Failure) -> Iterator[Text | Table]:
        launch = self._launch
        if failure.interrupted:
            yield Text("It was cancelled, and everything was rolled back." if launch.confirmed else "It was cancelled.")
            return
        yield self._hanging(Run(f"{self._pen.glyphs.states['dead']} ", ERROR), failure.message)
        for line in failure.details.get("problems") or failure.details.get("traceback") or ():
            for part in str(line).splitlines():
                yield self._text(Run(f"  {self._pen.glyphs.divider} {plain(part)}", MUTED))
        yield from self._table(("node", "lacks", "needed", "free", "reserved by"), _shortages(failure))
        if failure.hint:
            yield self._hanging(Run("hint: ", NAME), failure.hint)
        if not failure.details.get("lost") and not launch.dry_run:
            yield Text("Everything was rolled back." if launch.confirmed else "Nothing was started.")

    def _rank(self, component: str, ranks: Sequence[int]) -> Text:
        """` A  actor 0-7`."""
        known = component in self._pen.marks
        return self._text(
            self._pen.chip(component) if known else Run("   ", TEXT), Run(f" {component} {ranges(ranks)}", TEXT)
        )

    def _ranks(self) -> Iterator[tuple[str | Text, ...]]:
        """Where each rank will be; where that is many lines, those that are alike on a node in one."""
        launch = self._launch
        groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
        for one in launch.expected:
            name, rank = one["component"], one["rank"]
            component = launch.plan.components.get(name)
            share = component.rank_share(rank) if component and rank < component.world_size else None
            alike = (None if len(launch.expected) > MOST_SINGLE else rank, one["gpu_ids"] is None, len(one["planned"]))
            groups.setdefault((name, one["node_rank"], one["node"], share, *alike), []).append(one)
        for (name, node, host, share, *_), ranks in groups.items():
            planned = [index for one in ranks for index in one["planned"]]
            ids = None if ranks[0]["gpu_ids"] is None else [gpu for one in ranks for gpu in one["gpu_ids"]]
            each = f", {len(ranks[0]['planned'])} each" if len(ranks) > 1 and len(ranks[0]["planned"]) > 1 else ""
            yield (
                self._rank(str(name), [one["rank"] for one in ranks]),
                f"{node}  {host}",
                gpu_text(ids, planned) + each,
                "" if share is None else share_figure(share),
                worker_of(launch.plan, str(name)) if name in launch.plan.components else "",
            )

    def _moves(self) -> Iterator[tuple[str | Text, ...]]:
        for one in self._launch.moved:
            rank = self._rank(one["component"], [one["rank"]])
            yield (
                rank,
                str(one["node_rank"]),
                gpu_text(None, one["planned"]).rstrip("?"),
                gpu_text(None, one["got"]).rstrip("?"),
            )

    def _table(self, headings: Sequence[str], rows: Iterable[tuple[str | Text, ...]]) -> Iterator[Text]:
        """Rows in columns; nothing if there are none."""
        shown = [tuple(one if isinstance(one, Text) else Text(self._pen.clean(one)) for one in row) for row in rows]
        if not shown:
            return
        left = len(shown) - MOST_ROWS
        del shown[MOST_ROWS:]
        head = tuple(self._text(Run(heading, MUTED)) for heading in headings)
        widths = [max(row[column].cell_len for row in (head, *shown)) for column in range(len(headings))]
        yield Text()
        for row in (head, *shown):
            line = Text(no_wrap=True, overflow="ellipsis")
            for cell, width in zip(row, widths, strict=True):
                line.append_text(cell)
                line.append(" " * (width - cell.cell_len + 3))
            line.rstrip()
            yield line
        if left > 0:
            yield self._text(Run(f"and {left} more", MUTED))


def _shortages(failure: Failure) -> Iterator[tuple[str, ...]]:
    for one in failure.details.get("shortages", ()):
        held: Mapping[str, Any] = one
        yield (
            f"{held['node_rank']}  {held['node']}",
            str(held["resource"]),
            f"{held['needed']:g}",
            f"{held['free']:g} of {held['total']:g}",
            listing(held.get("held_by", ()), 4),
        )

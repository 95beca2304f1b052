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

from placetui.grid import Pen, clean
from placetui.grid.panels.launch import rank_bar, step_lines, waiting_lines
from placetui.observe.operations import Failure
from placetui.placement.wording import count, listing, plain, share_figure
from placetui.tui.cluster.launch import Launch, gpu_text, worker_of
from placetui.tui.dialogs.choose import Answer, AnswerList
from placetui.tui.dialogs.dialog import Dialog
from placetui.tui.themes import GridPalette
from placetui.tui.widgets.panel import Panel, title_of

MOST_ROWS = 1000
"""Ranks that are listed; a person reads fewer."""

MOST_NOTES = 4
"""Of what preflight says; its own screen has all."""

MOST_WAITING = 6
"""Lines of who is waited for."""

YES, NO, BACK = "yes", "no", "back"


class LaunchScreen(Dialog[str | None]):
    """One launch, which continues without the screen: `yes` and `no` are answers to it, `back` leaves it as it is."""

    CHIP = "LAUNCH"
    KEYS = (("enter", "choose"), ("page up/down", "scroll"), ("escape", "back"))

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
        self.query_one("#launch-text", Static).update(launch_text(self.launch, self._ascii))
        if self.launch.dry_run and not self.launch.under_way:
            refusal = self.query_one("#launch-refusal", Static)
            refusal.display = True
            refusal.update(Content(f"It will not be launched: {self._refusal}."))
        self.query_one(AnswerList).show(self._possible())
        failed = isinstance(self.launch.outcome, Failure)
        before, self._asked = self._asked, "failed" if failed else self.launch.question
        if self._asked not in (before, "", "launch"):  # what the answer depends on stands below the steps
            text = self.query_one("#launch-text")
            self.call_after_refresh(text.scroll_visible, top=True, animate=False)

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
        undecided = self.launch.under_way and not self.launch.confirmed
        self.dismiss(NO if undecided or self.launch.question else BACK)

    def action_scroll(self, pages: int) -> None:
        body = self.query_one(VerticalScroll)
        body.scroll_relative(y=pages * max(1, body.size.height - 1), animate=False)

    @on(AnswerList.Chosen)
    def _chosen(self, event: AnswerList.Chosen) -> None:
        self.dismiss(event.value)


def launch_text(launch: Launch, ascii: bool) -> Group:
    """All that is known of a launch, for a person who decides or waits."""
    return Group(*_lines(launch, ascii))


def _hanging(head: str, words: str) -> Table:
    """Words that stay right of their head when they need several lines."""
    table = Table.grid()
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row(Text(head, "bold"), Text(words))
    return table


def _lines(launch: Launch, ascii: bool) -> Iterator[Text | Table]:
    done, doing = ("+", "-") if ascii else ("✓", "…")
    for warning in launch.told.get("match", {}).get("warnings", ()):
        yield _hanging("! warning: ", clean(str(warning), ascii))
    if launch.preflight is not None and not launch.confirmed:
        yield from _preflight(launch.preflight, done, ascii)
    if launch.unsaved and not launch.confirmed and launch.under_way:
        yield _hanging("! unsaved: ", "the launch uses the plan on the screen, which differs from the file")
    outcome = launch.outcome
    if isinstance(outcome, Failure):
        yield from _failure(launch, outcome, ascii)
        return
    if launch.under_way and not launch.question and not launch.ready:
        words = launch.ending if launch.cancelled else launch.next_words
        yield Text(f"{doing} {clean(words, ascii)}")
    if launch.question == "moved":
        yield Text()
        yield Text("Other jobs have planned GPUs. These ranks would run elsewhere:")
        yield from _table(("rank", "node", "planned", "would get"), _moves(launch), ascii)
    elif launch.question == "used":
        yield Text()
        yield Text("Others use planned GPUs without a reservation in Ray:")
        rows = [(f"GPU {one['gpu_id']}", str(one["node"]), listing(one["used_by"], 3)) for one in launch.used]
        yield from _table(("device", "node", "used by"), rows, ascii)
    elif launch.expected and not launch.confirmed:
        yield Text()
        yield from _table(("rank", "node", "expected", "share", "worker"), _ranks(launch), ascii)


def _preflight(found: Mapping[str, Any], done: str, ascii: bool) -> Iterator[Table]:
    """Whether Ray could place what the framework itself asks for, and what to know before."""
    verdict = "Ray can place what the framework requests" if found["fits"] else "it does not fit"
    yield _hanging(f"{done if found['fits'] else '!'} preflight  ", verdict)
    errors = [one for one in found["problems"] if one["severity"] == "error"]
    for one in [*errors, *found["notes"]][:MOST_NOTES]:
        words = f"{one['message']} ({one['hint']})" if one["hint"] else one["message"]
        yield _hanging("  ! ", clean(plain(words), ascii))


def _failure(launch: Launch, failure: Failure, ascii: bool) -> Iterator[Text | Table]:
    if failure.interrupted:
        yield Text("It was cancelled, and everything was rolled back." if launch.confirmed else "It was cancelled.")
        return
    yield Text()
    yield Text(clean(plain(failure.message), ascii), "bold")
    for line in failure.details.get("problems") or failure.details.get("traceback") or ():
        for part in str(line).splitlines():
            yield Text(f"  | {clean(plain(part), ascii)}", "dim")
    yield from _table(("node", "lacks", "needed", "free", "reserved by"), _shortages(failure), ascii)
    if hint := failure.hint:
        yield _hanging("hint: ", clean(plain(hint), ascii))
    if not failure.details.get("lost") and not launch.dry_run:
        yield Text("Everything was rolled back." if launch.confirmed else "Nothing was started.")


def _ranks(launch: Launch) -> Iterator[tuple[str, ...]]:
    workers = {name: worker_of(launch.plan, name) for name in launch.plan.components}
    for one in launch.expected:
        component = launch.plan.components.get(one["component"])
        share = component.rank_share(one["rank"]) if component and one["rank"] < component.world_size else None
        yield (
            f"{one['component']}:{one['rank']}",
            f"{one['node_rank']}  {one['node']}",
            gpu_text(one["gpu_ids"], one["planned"]),
            "" if share is None else share_figure(share),
            workers.get(one["component"], ""),
        )


def _moves(launch: Launch) -> Iterator[tuple[str, ...]]:
    for one in launch.moved:
        yield f"{one['component']}:{one['rank']}", str(one["node_rank"]), _gpus(one["planned"]), _gpus(one["got"])


def _gpus(positions: Sequence[int]) -> str:
    return f"GPU {','.join(map(str, positions))}"


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


def _table(headings: Sequence[str], rows: Iterable[tuple[str, ...]], ascii: bool) -> Iterator[Text]:
    """Rows in columns; nothing if there are none."""
    shown = [tuple(clean(cell, ascii) for cell in row) for row in rows]
    if not shown:
        return
    left = len(shown) - MOST_ROWS
    del shown[MOST_ROWS:]
    widths = [max(len(row[column]) for row in (headings, *shown)) for column in range(len(headings))]
    yield Text(_row(headings, widths), "dim", no_wrap=True, overflow="ellipsis")
    for row in shown:
        yield Text(_row(row, widths), no_wrap=True, overflow="ellipsis")
    if left > 0:
        yield Text(f"and {left} more", "dim")


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()

"""What the ranks of a group answer to a call, as it comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.timer import Timer
from textual.widgets import Static

from placetui.grid import clean
from placetui.observe.operations import Failure
from placetui.placement.wording import count, plain, ranges
from placetui.tui.cluster.requests import ClusterRequest
from placetui.tui.dialogs.dialog import Dialog

LONGEST = 2_000
"""Characters of one answer."""

MOST_ROWS = 1_000
PAINT_AFTER = 0.1
"""Seconds in which answers are gathered before they are painted."""


class ResultsScreen(Dialog[None]):
    """One call on all ranks of a component: who has answered, who failed, who hangs."""

    CHIP = "CALL"
    KEYS = (("x", "stop waiting"), ("↑ ↓", "scroll"), ("escape", "close"))

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "back"),
        Binding("x", "cancel", "stop waiting"),
    ]

    def __init__(self, title: str, component: str, size: int, ascii: bool, begin: Callable[[], ClusterRequest]) -> None:
        super().__init__(title, ascii=ascii)
        self._component = component
        self._begin = begin
        self._request: ClusterRequest | None = None
        self._waiting = set(range(size))
        self._answers: dict[int, tuple[bool, str]] = {}
        self._painting: Timer | None = None

    def compose(self) -> ComposeResult:
        with self.box(classes="-fit"):
            yield Static(id="results-says", markup=False)
            with VerticalScroll():
                yield Static(id="results", markup=False)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()
        self._paint()
        self._follow()

    @work
    async def _follow(self) -> None:
        self._request = request = self._begin()
        try:
            async for step in request:
                if step.get("step") == "result":
                    self._take(step)
                    if self._painting is None:
                        self._painting = self.set_timer(PAINT_AFTER, self._paint)
        finally:
            request.interrupt()  # nobody waits any more
        self._paint()

    def action_cancel(self) -> None:
        if self._request is not None:
            self._request.interrupt()

    def _take(self, one: Mapping[str, Any]) -> None:
        rank = int(one["rank"])
        self._waiting.discard(rank)
        if one.get("error") is not None:
            last = [str(line) for line in one.get("traceback") or ()]
            self._answers[rank] = False, "\n".join([str(one["error"]), *last])
        else:
            self._answers[rank] = True, str(one.get("value"))

    def _paint(self) -> None:
        self._painting = None
        self.query_one("#results-says", Static).update(self._summary())
        text = Text()
        # Failures first: they are what one looks for.
        for rank in sorted(self._answers, key=lambda one: (self._answers[one][0], one))[:MOST_ROWS]:
            fine, said = self._answers[rank]
            text.append(f"{clean(self._component, self._ascii)}:{rank:<6}", "bold")
            text.append("" if fine else "failed: ", "bold")
            first, *rest = (said[:LONGEST] or " ").splitlines() or [" "]
            text.append(f"{clean(first, self._ascii)}\n")
            for line in rest:
                text.append(f"  | {clean(line, self._ascii)}\n", "dim")
        if len(self._answers) > MOST_ROWS:
            text.append(f"and {len(self._answers) - MOST_ROWS} more\n", "dim")
        self.query_one("#results", Static).update(text)

    def _summary(self) -> Text:
        outcome = self._request.outcome if self._request is not None else None
        failed = sum(not fine for fine, _ in self._answers.values())
        text = Text(f"{len(self._answers) - failed} answered", "bold")
        if failed:
            text.append(f", {failed} failed")
        if self._waiting:
            ranks = f"{clean(self._component, self._ascii)}:{ranges(sorted(self._waiting))}"
            how = "no answer from" if outcome is not None else "waiting for"
            text.append(f", {how} {count(len(self._waiting), 'rank')}: {ranks}")
        if isinstance(outcome, Failure) and not outcome.interrupted:
            text.append(f"\n{clean(plain(outcome.message), self._ascii)}")
            if outcome.hint:
                text.append(f"\nhint: {clean(plain(outcome.hint), self._ascii)}")
        return text

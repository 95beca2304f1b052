"""Notices at the edge of the screen end in any case, and stop nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from textual.notifications import Notify
from textual.widgets._toast import Toast

from placetui.document import PlanRequest
from placetui.tui.options import Options
from placetui.tui.session import Session
from placetui.tui.terminal.toasts import LEAST, Notice
from tests.tui.monkey import Painted

if TYPE_CHECKING:
    from tests.tui.conftest import Desk


class JustOver(Notice):
    """Its time runs out between the look whether it is over and the question how much is left."""

    asked = False

    @property
    def time_left(self) -> float:
        self.asked = True
        return super().time_left

    @property
    def has_expired(self) -> bool:
        return self.asked


def test_there_is_always_some_time_left() -> None:
    over, fresh = Notice("over", timeout=-3.0), Notice("fresh", timeout=3.0)
    assert (over.has_expired, over.time_left) == (True, LEAST)
    assert not fresh.has_expired
    assert 2.0 < fresh.time_left <= 3.0


async def test_one_that_is_over_as_it_is_shown_goes_away(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        notice = JustOver("over", timeout=-0.0002)
        seat.app.post_message(Notify(notice))
        await seat.until(lambda: notice.asked, "the notice")
        await seat.until(lambda: not seat.app.screen.query(Toast), "the notice gone")
        # Before, no key was heard any more.
        await seat.press("question_mark")
        await seat.sees("Move to the device on the left.")


async def test_all_of_ours_are_such(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        seat.app.notify("a word", markup=False)
        seat.app.screen.notify("another", markup=False)
        await seat.until(lambda: len(seat.toasts) == 2)
        assert {type(one) for one in seat.app._notifications} == {Notice}


async def test_one_that_is_gone_is_no_longer_on_the_terminal(tmp_path: Path) -> None:
    session = Session.open(str(Path(__file__).parents[2] / "sample_configs" / "collocated.yaml"), PlanRequest())
    app = Painted(session, Options(user_themes=tmp_path), (100, 30))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        app.notify("a word", timeout=60, markup=False)
        while "a word" not in "\n".join(app.terminal.lines):
            await pilot.pause(0.01)
        # As it is when a widget has just appeared: then removing another one lays out the screen, and notes nothing.
        app.screen._compositor._full_map_invalidated = True
        app.clear_notifications()
        await pilot.pause(0.3)
        assert app.torn() == []


async def test_one_is_shown_once_on_the_screen_in_front(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        seat.app.notify("a word", timeout=600, markup=False)
        await seat.sees("a word")
        assert seat.lines[3].startswith("╭─ Grid"), "no title is covered"
        assert "a word" not in seat.lines[3]
        await seat.press("question_mark")
        await seat.sees("Move to the device on the left.", "▌ a word")
        await seat.until(lambda: seat.text.count("▌ a word") == 1, "not on the screen behind")
        await seat.press("escape")
        await seat.misses("Move to the device on the left.")
        await seat.sees("▌ a word")

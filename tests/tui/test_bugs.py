"""A bug of our own ends the dashboard with one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.pilot import Pilot

from placetui import locations
from placetui.cli.commands.dashboard import stopped
from placetui.document import PlanRequest
from placetui.tui.app import Dashboard
from placetui.tui.session import Session

if TYPE_CHECKING:
    from tests.tui.conftest import Desk

SECRET = "hunter2"


def bug() -> None:
    secret = SECRET
    raise TypeError(f"no such thing: {len(secret)}")


def test_it_is_named_and_the_log_says_where(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    app = Dashboard(Session.open(str(desk.copy("hybrid")), PlanRequest()), desk.options())

    async def meet_it(pilot: Pilot[object]) -> None:
        app.call_later(bug)
        await pilot.pause()

    app.run(headless=True, auto_pilot=meet_it)
    assert app.return_code == 1
    assert isinstance(app.crash, TypeError)
    assert "no such thing" not in "".join(capfd.readouterr())
    end = stopped(app.crash)
    assert end.message == "the dashboard stopped because of a bug: TypeError: no such thing: 7"
    log = locations.logs_dir() / "dashboard.log"
    assert str(log) in end.hint
    assert "in bug" in log.read_text()
    assert SECRET not in log.read_text()

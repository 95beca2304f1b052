"""A picture of the whole dashboard, taken without a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from textual.pilot import Pilot

from placetui.observe.model import Observation, Source
from placetui.observe.ports import CONNECTED, Subscriber
from placetui.tui.app import Dashboard
from placetui.tui.widgets.side import HeatPanel

MOST_PAUSES = 50
"""Times that the screen may still change before its picture is taken as it is."""


class PlayedSource:
    """A source whose observations come all at once, as fast as they are shown."""

    def __init__(self, name: Source) -> None:
        self.name: Source = name
        self.interval = 1.0
        self.paused = False
        self._subscriber: Subscriber | None = None

    def start(self, subscriber: Subscriber) -> None:
        """Begin; nothing comes before `play`."""
        self._subscriber = subscriber
        subscriber.status_changed(CONNECTED)

    def set_interval(self, seconds: float) -> None:
        self.interval = seconds

    def set_paused(self, paused: bool) -> None:
        self.paused = paused

    def close(self) -> None:
        self._subscriber = None

    @property
    def started(self) -> bool:
        return self._subscriber is not None

    def show(self, observation: Observation) -> None:
        if self._subscriber is not None:
            self._subscriber.updated(observation)


async def take_picture(
    app: Dashboard,
    size: tuple[int, int],
    *,
    source: PlayedSource | None = None,
    observations: Iterable[Observation] = (),
    keys: Sequence[str] = (),
) -> str:
    """The dashboard as SVG, after its source has shown these observations and these keys were pressed.

    The same input gives the same bytes.
    """
    app.animation_level = "none"
    app.options = replace(app.options, recovers=False, remember=lambda _key, _value: None)
    async with app.run_test(size=size) as pilot:
        await settled(app, pilot)
        if source is not None:
            for _ in range(MOST_PAUSES):
                if source.started:
                    break
                await pilot.pause(0.05)
            for observation in observations:
                source.show(observation)
                await pilot.pause()
        await pilot.press(*keys)
        app.clear_notifications()
        await settled(app, pilot)
        for panel in app.screen.query(HeatPanel):
            panel.catch_up()
        await settled(app, pilot)
        title = app.session.file if app.session is not None else app.title
        return stable(app.export_screenshot(title=title, simplify=True))


async def settled(app: Dashboard, pilot: Pilot[int]) -> None:
    """Wait until the screen no longer changes."""
    before: list[str] = []
    for _ in range(MOST_PAUSES):
        await pilot.pause(0.05)
        now = [strip.text for strip in app.screen._compositor.render_strips()]
        if now == before and app.main is not None and not app.workers:
            return
        before = now


def stable(svg: str) -> str:
    """The same bytes on every run: Textual numbers its classes by chance, and asks for a font from elsewhere."""
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)

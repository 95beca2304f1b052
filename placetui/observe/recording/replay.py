"""`ReplaySource`: a recording, played like a cluster that is there."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from placetui.observe.model import Source
from placetui.observe.ports import Status, Subscriber
from placetui.observe.recording.reader import Recording, RecordingError, clock

LONGEST_GAP = 5
"""A pause in the recording is not sat out: it lasts no longer than this many intervals."""

_SAMPLE = 1000
"""Observations from which the pace of a recording is taken."""


@dataclass(frozen=True, slots=True)
class ReplayPosition:
    """Where in a recording one is."""

    number: int
    """Of the observation, from 0."""

    count: int
    time: float
    """When it was made, seconds since the epoch."""


class ReplaySource:
    """A `ClusterSource` that plays a recording. At its end it rests, and the last picture stands.

    `interval` is the time for which an observation is shown: that of the recording is its own pace.
    """

    name: Source = "replay"

    def __init__(self, recording: Recording, *, start: int = 0, interval: float = 1.0, paused: bool = False) -> None:
        self._recording = recording
        self.interval = interval
        self.paused = paused
        self._wanted: int | None = start
        """The observation to show next, at once; None: when it is time."""

        self._number = -1
        self._closed = False
        self._changed = threading.Condition()
        # Reentrant, so that a subscriber may close the source from within a call.
        self._delivery = threading.RLock()
        self._subscriber: Subscriber | None = None
        self._pace = 1.0
        self._end: str | None = None

    @property
    def position(self) -> ReplayPosition:
        """What is shown now, or will be first."""
        count = len(self._recording.times)
        number = self._number if self._number >= 0 else self._wanted or 0
        moment = self._recording.times[number] if number < count else 0.0
        return ReplayPosition(number, count, moment)

    @property
    def times(self) -> Sequence[float]:
        """When the observations were made; empty until the recording has been gone through."""
        return self._recording.times

    @property
    def problem(self) -> str | None:
        """What is wrong with the rest of the recording: `cut off after 9 observations`."""
        return self._recording.problem

    def start(self, subscriber: Subscriber) -> None:
        self._subscriber = subscriber
        threading.Thread(target=self._run, name="replay", daemon=True).start()

    def set_interval(self, seconds: float) -> None:
        with self._changed:
            self.interval = seconds
            self._changed.notify()

    def set_paused(self, paused: bool) -> None:
        with self._changed:
            self.paused = paused
            self._changed.notify()

    def step(self, by: int = 1) -> None:
        """Rest, and show the observation that many later; earlier, if negative."""
        with self._changed:
            self.paused = True
            here = self._number if self._wanted is None else self._wanted
            self._wanted = min(max(0, here + by), max(0, len(self._recording.times) - 1))
            self._changed.notify()

    def seek(self, moment: float) -> None:
        """Go on from the last observation made by `moment`, seconds since the epoch."""
        with self._changed:
            self._wanted = self._recording.number_at(moment)
            self._changed.notify()

    def skip(self, seconds: float) -> None:
        """Go on from that much later in the recording; earlier, if negative."""
        times = self._recording.times
        if times:
            here = times[min(max(self._number, 0), len(times) - 1)]
            self.seek(here + seconds)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        with self._delivery:
            self._subscriber = None

    # The thread of the source

    def _run(self) -> None:
        self._tell(Status("starting", f"reading {self._recording.path}"))
        self._recording.scan()
        times = self._recording.times
        if not times:
            self._tell(Status("failed", f"{self._recording.path}: {self._recording.problem or 'nothing was recorded'}"))
            return
        self._pace = pace_of(times)
        self._end = "the end of the recording"
        if self._recording.problem:
            self._end = f"the recording is {self._recording.problem}"
            self._tell(Status("connected", f"{self._end}; it plays to {clock(times[-1])}"))
        else:
            self._tell(Status("connected"))
        while (number := self._next()) is not None:
            if not self._show(number):
                return

    def _next(self) -> int | None:
        """The observation to show, once it is time; None when closed."""
        with self._changed:
            while not self._closed:
                if self._wanted is not None:
                    number, self._wanted = self._wanted, None
                    return min(number, len(self._recording.times) - 1)
                wait = self._wait()
                if not self._changed.wait(wait) and wait is not None:
                    return self._number + 1
            return None

    def _wait(self) -> float | None:
        """Seconds until the next observation; None: it does not come by itself."""
        times = self._recording.times
        if self.paused or self._number + 1 >= len(times):
            return None
        gap = times[self._number + 1] - times[self._number]
        return min(gap / self._pace, LONGEST_GAP) * self.interval

    def _show(self, number: int) -> bool:
        try:
            observation = replace(self._recording.observation(number), source="replay")
        except RecordingError as problem:
            self._tell(Status("failed", str(problem)))
            return False
        self._number = number
        with self._delivery:
            if self._subscriber:
                self._subscriber.updated(observation)
        if number + 1 == len(self._recording.times) and self._end:
            self._tell(Status("connected", self._end))
        return True

    def _tell(self, status: Status) -> None:
        with self._delivery:
            if self._subscriber:
                self._subscriber.status_changed(status)


class Replays:
    """Sources that play one recording, for one plan after the other: each continues where the last one was."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.latest: ReplaySource | None = None

    def __call__(self, plan: object) -> ReplaySource:
        """A source; which plan it is for does not matter to it."""
        before = self.latest
        if before is None:
            self.latest = ReplaySource(self._recording)
        else:
            self.latest = ReplaySource(self._recording, start=before.position.number, paused=before.paused)
        return self.latest


def pace_of(times: Sequence[float]) -> float:
    """Seconds from one observation to the next, as a rule."""
    gaps = sorted(later - earlier for earlier, later in pairwise(times[:_SAMPLE]))
    return max(0.05, gaps[len(gaps) // 2]) if gaps else 1.0


# Where in a recording somebody wants to be

_OFFSET = re.compile(r"([+-])([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*(s|m|min|h)?")
_PART = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)\s*%")
_NUMBER = re.compile(r"#\s*([0-9]{1,9})")
_CLOCK = re.compile(r"(?:([0-9]{4})-([0-9]{2})-([0-9]{2})[ T])?([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")
_SECONDS = {None: 1, "s": 1, "m": 60, "min": 60, "h": 3600}
_DAY = 86_400.0

EXAMPLES = "12:30, 12:30:05, +90, -5m, 50%, #120"


def moment_of(text: str, times: Sequence[float], here: float) -> float:
    """The moment that a person means, seconds since the epoch.

    Args:
        text: a time of day, also with a date; seconds, minutes or hours from here; a part of the recording; or the
            number of an observation, from 1.
        times: when the observations were made, ascending; at least one.
        here: what is shown now.

    Raises:
        ValueError: it is none of these, or not within the recording; the text says so.
    """
    text = text.strip()
    if found := _OFFSET.fullmatch(text):
        return here + (1 if found[1] == "+" else -1) * float(found[2]) * _SECONDS[found[3]]
    if found := _PART.fullmatch(text):
        return times[0] + min(100.0, float(found[1])) / 100 * (times[-1] - times[0])
    if found := _NUMBER.fullmatch(text):
        number = int(found[1])
        if not 1 <= number <= len(times):
            raise ValueError(f"there is no observation {number}: the recording has {len(times)}")
        return times[number - 1]
    if found := _CLOCK.fullmatch(text):
        return _time_of_day(found, times, here)
    raise ValueError(f"`{text}` is no place in a recording; write for example {EXAMPLES}")


def _time_of_day(found: re.Match[str], times: Sequence[float], here: float) -> float:
    hour, minute, second = int(found[4]), int(found[5]), int(found[6] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"`{found[0]}` is no time of day")
    if found[1] is not None:
        year, month, day = int(found[1]), int(found[2]), int(found[3])
        if not (1970 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= 31):
            raise ValueError(f"`{found[0]}` is no date")
        wanted = [time.mktime((year, month, day, hour, minute, second, 0, 0, -1))]
    else:
        date = time.localtime(here)
        today = time.mktime((date.tm_year, date.tm_mon, date.tm_mday, hour, minute, second, 0, 0, -1))
        first, last = int((times[0] - today) // _DAY), int((times[-1] - today) // _DAY) + 1
        wanted = [today + number * _DAY for number in {0, first, first + 1, last, last - 1}]
    # A minute or second that has begun counts as a whole.
    span = 1 if found[6] else 60
    inside = [moment for moment in wanted if times[0] - span < moment <= times[-1]]
    if not inside:
        raise ValueError(f"the recording goes from {clock(times[0])} to {clock(times[-1])}")
    return max(times[0], min(inside, key=lambda moment: abs(moment - here)))

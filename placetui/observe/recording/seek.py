"""Where in a recording somebody wants to be: `12:30`, `+90`, `-5m`, `50%`, `#120`."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from placetui.observe.recording.reader import clock

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

"""What a person writes to get to a place in a recording."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.observe.recording.replay import moment_of

START = time.mktime((2026, 3, 1, 23, 50, 10, 0, 0, -1))
TIMES = [START + 10.0 * number for number in range(121)]
"""Twenty minutes over midnight."""


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("+90", 690),
        ("-30 s", 570),
        ("+5m", 900),
        ("-1h", -3000),
        ("50%", 600),
        ("0%", 0),
        ("#1", 0),
        ("# 121", 1200),
        ("23:51", 50),
        ("00:05", 890),
        ("0:05:30", 920),
        ("2026-03-02 00:00:10", 600),
        ("23:50", 0),  # the minute in which it begins
    ],
)
def test_a_place_in_a_recording(text: str, seconds: float) -> None:
    assert moment_of(text, TIMES, START + 600) == START + seconds


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("soon", "`soon` is no place in a recording; write for example 12:30"),
        ("#122", "there is no observation 122: the recording has 121"),
        ("#0", "there is no observation 0"),
        ("12:30", "the recording goes from 2026-03-01 23:50:10 to 2026-03-02 00:10:10"),
        ("2026-03-05 00:00", "the recording goes from"),
        ("25:00", "`25:00` is no time of day"),
        ("2026-13-01 00:00", "is no date"),
    ],
)
def test_what_is_no_place_is_said(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        moment_of(text, TIMES, START)


@given(st.floats(0, 1200), st.floats(0, 1200))
def test_every_second_of_it_can_be_named(here: float, wanted: float) -> None:
    moment = float(int(START + wanted))
    text = time.strftime("%H:%M:%S", time.localtime(moment))
    assert moment_of(text, TIMES, START + here) == max(moment, TIMES[0])

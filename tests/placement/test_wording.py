from __future__ import annotations

import pytest

from placetui.placement.wording import age


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0 s"), (59, "59 s"), (61, "1 min"), (3_599, "59 min"), (7_300, "2 h"), (200_000, "2 d")],
)
def test_the_largest_unit_that_fits(seconds: float, text: str) -> None:
    assert age(1_000_000.0, 1_000_000.0 + seconds) == text


def test_what_nobody_knows_is_empty() -> None:
    assert age(0.0, 1_000_000.0) == ""

"""Words that all queries share: comparisons, amounts, and numbers such as `0-3,5`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

GIB = 1 << 30

COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
}

NUMBERS = r"[0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*"
"""`3`, `0-3`, `0-3,5`."""

AMOUNT = r"([0-9]{1,9}(?:\.[0-9]{1,4})?)(%|g|gb|gib)?"
"""A number, and what it counts: percent, GiB, or what goes without saying."""

_SPEC = re.compile(NUMBERS)


def is_numbers(text: str) -> bool:
    """Whether it reads like `0-3,5`."""
    return _SPEC.fullmatch(text) is not None


def pieces(spec: str) -> list[range]:
    """`0-3,5` as ranges."""
    found = []
    for piece in spec.split(","):
        first, _, last = piece.partition("-")
        found.append(range(int(first), int(last or first) + 1))
    return found

"""How long ago something was, in few words: for commands and for screens."""

from __future__ import annotations


def age(since: float, now: float) -> str:
    """`5 s`, `3 min`, `2 h`, `4 d`; empty where nobody knows.

    Args:
        since: Seconds since the epoch; 0 if that is not known.
        now: Likewise.
    """
    if not since:
        return ""
    seconds = max(0.0, now - since)
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"

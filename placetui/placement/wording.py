"""Ranks, devices and shares in few words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from placetui.placement.plan import GPU, NODE, Occupant

MOST_PROCESSES = 8
"""Processes of one node that are listed one by one."""


NO_SHARE = "-"


def ranges(numbers: Iterable[int]) -> str:
    """`0-3,5`; the order is kept, and only what ascends by one is joined."""
    parts: list[str] = []
    first = last = None
    for number in numbers:
        if first is not None and last is not None and number == last + 1:
            last = number
            continue
        if first is not None and last is not None:
            parts.append(_range(first, last))
        first = last = number
    if first is not None and last is not None:
        parts.append(_range(first, last))
    return ",".join(parts)


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def device_text(kind: str, indices: Sequence[int]) -> str:
    """`GPU 0-3`, `Franka 0`; nothing for a node, which is its own device."""
    return "" if kind == NODE else f"{kind_name(kind)} {ranges(indices)}"


def kind_name(kind: str) -> str:
    """What people call a kind of device."""
    return "GPU" if kind == GPU else kind


def place_text(node: str, kind: str, indices: Sequence[int]) -> str:
    """`node0 GPU 0-3`, or `node0` for a process on a node."""
    return f"{node} {device_text(kind, indices)}".rstrip()


def share_text(share: float | None) -> str:
    """`0.80`, `0.3333`, `1.00`; a dash where there is no share."""
    if share is None:
        return NO_SHARE
    text = f"{share:.4f}"
    return text[:-2] if text.endswith("00") else text.rstrip("0")


def pattern_text(kind: str, owned: Sequence[Sequence[int]]) -> str:
    """Devices of a node's processes: `GPU 0-7`, `GPU 0-1 ×2`, `GPU {0,2} {1,3}`."""
    if kind == NODE:
        return "the node" if len(owned) == 1 else f"the node ×{len(owned)}"
    name = kind_name(kind)
    if all(len(one) == 1 for one in owned):
        indices = [one[0] for one in owned]
        each = indices.count(indices[0])
        spread = indices[::each]
        if each > 1 and indices == [index for index in spread for _ in range(each)]:
            return f"{name} {ranges(spread)} ×{each}"
        return f"{name} {ranges(indices)}"
    sets = [ranges(one) if len(ranges(one).split(",")) == 1 else f"{{{ranges(one)}}}" for one in owned]
    more = [f"… {len(sets) - MOST_PROCESSES} more"] if len(sets) > MOST_PROCESSES else []
    return f"{name} {' '.join([*sets[:MOST_PROCESSES], *more])}"


def one_line(text: str) -> str:
    """`text` without line breaks, escape sequences and other characters that do something: names come from files."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "·" for character in text)


def occupants_text(occupants: Iterable[Occupant]) -> Iterator[tuple[str, str]]:
    """`agent 0-199 ×200`, and the share of each: one for every component and share."""
    found: dict[tuple[str, float | None], list[int]] = {}
    for one in occupants:
        found.setdefault((one.component, one.share), []).append(one.rank)
    for (component, share), ranks in found.items():
        times = f" ×{len(ranks)}" if len(ranks) > 1 else ""
        yield f"{component} {ranges(ranks)}{times}", share_text(share)


def with_share(who: str, share: str) -> str:
    """`actor 3 (0.80)`, or only who where there is no share."""
    return who if share == NO_SHARE else f"{who} ({share})"


def field_lines(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Names and values as indented lines; a name that repeats is said once."""
    before = ""
    for name, value in pairs:
        yield f"  {'' if name == before else name:<10}{value}"
        before = name


def mode_text(mode: str, placement_mode: str | None) -> str:
    """`model_parallel (collocated)`; the second only where it says more."""
    return f"{mode} ({placement_mode})" if placement_mode not in (None, mode) else mode

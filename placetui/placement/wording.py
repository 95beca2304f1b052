"""Numbers, names and amounts in few words: every sentence of placetui takes them from here."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

GIB = 1 << 30
"""Bytes."""

NO_SHARE = "-"

MOST_COMPARED = 200
"""Characters of a word that are compared with names: that is quadratic in its length."""

MOST_PROCESSES = 8
"""Processes of one node that are listed one by one."""


def ranges(numbers: Iterable[int]) -> str:
    """`0-3,5`; the order is kept, and only what ascends by one is joined."""
    if isinstance(numbers, range) and numbers.step == 1 and numbers:  # those of a large cluster need no walk
        return number_range(numbers[0], numbers[-1])
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(number_range(first, last) for first, last in runs)


def number_range(first: int, last: int) -> str:
    """`3` or `3-7`."""
    return str(first) if first == last else f"{first}-{last}"


def count(number: int, noun: str) -> str:
    """`1 device`, `8 devices`, `8,192 devices`."""
    many = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"


def listing(names: Iterable[object], most: int = 8) -> str:
    """A readable list: `a, b and c`; long ones end in `and 12 more`."""
    known = names if isinstance(names, Sequence) else list(names)
    parts = [str(name) for name in known[:most]]
    if len(known) > most:
        parts.append(f"{len(known) - most} more")
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question about the name that is most like a word; empty if none is."""
    from difflib import get_close_matches  # slow to load

    near = get_close_matches(word[:MOST_COMPARED], list(known), 1)
    return f"did you mean `{near[0]}`?" if near else ""


def quoted(names: Iterable[object]) -> list[str]:
    """Each name in backticks, as messages quote what was written."""
    return [f"`{name}`" for name in names]


def plain(text: str) -> str:
    """A message as people see it: the backticks that quote what was written are for documents and JSON."""
    return text.replace("`", "")


def dotted(path: Iterable[str | int]) -> str:
    """Keys and list indices as `cluster.node_groups[0].label`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def numbered(noun: str, number: int) -> str:
    """How many there are and how they are numbered: `no ranks`, `rank 0 only`, `ranks 0 to 15`."""
    if number == 0:
        return f"no {noun}s"
    return f"{noun} 0 only" if number == 1 else f"{noun}s 0 to {number - 1}"


def kind_name(kind: str) -> str:
    """What people call a kind of device."""
    return "GPU" if kind == "gpu" else kind


def device_text(kind: str, indices: Iterable[int]) -> str:
    """`GPU 0-3`, `Franka 0`; nothing for a node, which is its own device."""
    return "" if kind == "node" else f"{kind_name(kind)} {ranges(indices)}"


def place_text(node: str, kind: str, indices: Iterable[int]) -> str:
    """`node0/gpu0-3`, `node0 Franka 0`, or `node0` for a process on a node."""
    return f"{node}/gpu{ranges(indices)}" if kind == "gpu" else f"{node} {device_text(kind, indices)}".rstrip()


def pattern_text(kind: str, owned: Sequence[Sequence[int]]) -> str:
    """Devices of a node's processes: `GPU 0-7`, `GPU 0-1 ×2`, `GPU {0,2} {1,3}`."""
    if kind == "node":
        return "the node" if len(owned) == 1 else f"the node ×{len(owned)}"
    name = kind_name(kind)
    if all(len(one) == 1 for one in owned):
        indices = [one[0] for one in owned]
        each = indices.count(indices[0])
        spread = indices[::each]
        if each > 1 and indices == [index for index in spread for _ in range(each)]:
            return f"{name} {ranges(spread)} ×{each}"
        return f"{name} {ranges(indices)}"
    sets = [f"{{{text}}}" if "," in (text := ranges(one)) else text for one in owned]
    more = [f"… {len(sets) - MOST_PROCESSES} more"] if len(sets) > MOST_PROCESSES else []
    return f"{name} {' '.join([*sets[:MOST_PROCESSES], *more])}"


def share_text(share: float | None) -> str:
    """`0.80`, `0.3333`, `1.00`; a dash where there is no share."""
    if share is None:
        return NO_SHARE
    text = f"{share:.4f}"
    return text[:-2] if text.endswith("00") else text.rstrip("0")


def share_figure(share: float) -> str:
    """`.80`, `1.0`, `1.25`; always rounded down, as shares are."""
    hundredths = round(share * 10_000) // 100
    if hundredths == 0:
        return "<.01" if share > 0 else ".00"
    if hundredths == 100:
        return "1.0"
    text = f"{hundredths // 100}.{hundredths % 100:02d}"
    return text[1:] if hundredths < 100 else text


def gib(amount: float) -> str:
    """Bytes as `61.2 GiB`."""
    return f"{amount / GIB:.1f} GiB"


def duration(seconds: float) -> str:
    """`5 s`, `3 min`, `2 h`, `4 d`."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"


def age(since: float, now: float) -> str:
    """How long ago a moment was, both in seconds since the epoch; empty where it is 0, which stands for unknown."""
    return duration(max(0.0, now - since)) if since else ""


def clean(text: str, ascii: bool = False) -> str:
    """`text` without anything that a terminal, a viewer or a reader could take for an instruction.

    Control characters, escape sequences, direction marks and line breaks become a dot; in ASCII mode accents are
    dropped and other characters become a question mark.
    """
    if text.isascii() and text.isprintable():
        return text
    if ascii:
        decomposed = unicodedata.normalize("NFKD", text)
        return "".join(_ascii(character) for character in decomposed)
    return "".join("·" if is_unsafe(character) else character for character in text)


def is_unsafe(character: str) -> bool:
    """Whether a terminal or a reader could take a character for an instruction."""
    category = unicodedata.category(character)
    return category[0] == "C" or category in ("Zl", "Zp")


def _ascii(character: str) -> str:
    if character.isascii():
        return character if character.isprintable() else "."
    return "" if unicodedata.combining(character) else "?"

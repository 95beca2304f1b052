"""The text of a placement file for a cluster as it is."""

from __future__ import annotations

from placetui.placement.picture import Picture, topology_entry
from placetui.placement.plan import SHARE_UNITS

from .quoting import written


def picture_text(picture: Picture, title: str = "") -> str:
    """A file that resolves to the picture.

    Args:
        picture: what was seen.
        title: a first line, which says where and when.
    """
    lines = [f"# {_comment(title)}"] if title else []
    lines += [f"# {_comment(note)}" for note in picture.notes]
    lines += ["cluster:", f"  num_nodes: {len(picture.nodes)}"]
    lines.append("  component_placement:" if picture.parts else "  component_placement: {}")
    lines += [
        f"    {written(part.name, key=True)}: {written(part.rule)}  # {_comment(part.about)}" for part in picture.parts
    ]
    lines += ["", "placetui:", "  topology:"]
    lines.append("    nodes:" if picture.nodes else "    nodes: []")
    for node in picture.nodes:
        entries = (f"{name}: {written(value, flow=True)}" for name, value in topology_entry(node).items())
        lines.append(f"      - {{{', '.join(entries)}}}")
    shared = [part for part in picture.parts if part.units is not None]
    if shared:
        lines.append("  shares:")
        lines += [f"    {written(part.name, key=True)}: {(part.units or 0) / SHARE_UNITS:g}" for part in shared]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)

"""The text of a placement file for a cluster as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from placetui.placement.picture import Part, Picture, topology_entry
from placetui.placement.plan import SHARE_UNITS
from placetui.placement.stride import MODE

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
        f"    {written(part.name, key=True)}: {written(part.rule)}  # {_comment(_about(part))}"
        for part in picture.parts
    ]
    if picture.stride is not None:
        lines += ["", *_sections(picture.stride.sections())]
    lines += ["", "placetui:"]
    if picture.stride is not None:
        lines.append(f"  mode: {MODE}  # rollout has every {picture.stride.step}. GPU: the sizes above say so")
    lines.append("  topology:")
    lines.append("    nodes:" if picture.nodes else "    nodes: []")
    for node in picture.nodes:
        entries = (f"{name}: {written(value, flow=True)}" for name, value in topology_entry(node).items())
        lines.append(f"      - {{{', '.join(entries)}}}")
    shared = [part for part in picture.parts if part.units is not None]
    if shared:
        lines.append("  shares:")
        lines += [f"    {written(part.name, key=True)}: {(part.units or 0) / SHARE_UNITS:g}" for part in shared]
    return "\n".join(lines) + "\n"


def _about(part: Part) -> str:
    return f"{part.about}; {part.note}" if part.note else part.about


def _sections(sections: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    for name, value in sections.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from _sections(value, f"{indent}  ")
        else:
            yield f"{indent}{name}: {written(value)}"


def _comment(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)

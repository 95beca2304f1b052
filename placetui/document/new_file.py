"""Texts of new placement files: from a framework's template, and for a cluster as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from placetui.frameworks import registry
from placetui.frameworks.new_job import JobSize, Layout
from placetui.frameworks.picture import MODE, Picture, topology_entry
from placetui.placement.config.settings import SECTION
from placetui.placement.edits import Refusal
from placetui.placement.plan import SHARE_UNITS
from placetui.placement.yaml_text import written


def new_file(layout: Layout, size: JobSize, framework: str = "") -> str | Refusal:
    """The text of a new file with training and rollout, or why there is none for these sizes.

    Without a name, the framework is the first one that has a template.
    """
    known = [registry.framework(framework)] if framework else registry.frameworks()
    template = next((one.template for one in known if one.template), None)
    if template is None:
        return Refusal(f"there is no template for {framework} files")
    sections = template(layout, size)
    if isinstance(sections, Refusal):
        return sections
    ours = ["placetui:", f"  topology: {{nodes: {size.nodes}, gpus_per_node: {size.gpus_per_node}}}"]
    if framework and registry.framework_for(sections).name != framework:
        ours.append(f"  framework: {framework}")  # its sections alone look like another's
    return "\n".join([*_lines(sections), "", *ours, ""])


def picture_text(picture: Picture, title: str = "") -> str:
    """A file that resolves to the picture, with its title as a comment."""
    lines = [f"# {_comment(text)}" for text in (title, *picture.notes) if text]
    own = dict(picture.sections)
    settings = list(_lines(own.pop(SECTION, {}), "  "))
    lines += _lines(own) if own else _rules(picture)
    lines += ["", f"{SECTION}:", *settings]
    if picture.stride is not None:
        lines.append(f"  mode: {MODE}  # rollout has every {picture.stride.step}. GPU: the sizes above say so")
    lines.append("  topology:")
    lines.append("    nodes:" if picture.nodes else "    nodes: []")
    lines += [f"      - {written(topology_entry(node))}" for node in picture.nodes]
    shared = [] if own else [part for part in picture.parts if part.units is not None]
    if shared:
        lines.append("  shares:")
        lines += [f"    {written(part.name, key=True)}: {(part.units or 0) / SHARE_UNITS:g}" for part in shared]
    return "\n".join(lines) + "\n"


def _rules(picture: Picture) -> Iterator[str]:
    yield "cluster:"
    yield f"  num_nodes: {len(picture.nodes)}"
    yield "  component_placement:" if picture.parts else "  component_placement: {}"
    for part in picture.parts:
        about = f"{part.about}; {part.note}" if part.note else part.about
        yield f"    {written(part.name, key=True)}: {written(part.place())}  # {_comment(about)}"
    if picture.stride is not None:
        yield ""
        yield from _lines(picture.stride.sections())


def _comment(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)


def _lines(section: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    for name, value in section.items():
        if isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from _lines(value, f"{indent}  ")
        else:
            yield f"{indent}{name}: {written(value)}"

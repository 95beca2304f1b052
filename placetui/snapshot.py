"""A drawing kept in a file, and whether the plan is still drawn like it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from placetui.grid import Density, Drawing, caption, clean, to_svg, to_text
from placetui.placement.plan import Plan

Format: TypeAlias = Literal["text", "json", "svg"]


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How a plan is rendered. The same plan and options give the same bytes."""

    format: Format = "text"
    density: Density = "tile"
    width: int | None = None
    """Columns to fill; None for the size that the drawing has by itself, whatever the terminal."""

    nodes: Sequence[int] | None = None
    """Ranks of the nodes to draw; None for all."""

    ascii: bool = False
    color: bool = False
    """Whether colours are shown; an SVG always shows them."""


PLAIN = RenderOptions()


def render(plan: Plan, options: RenderOptions = PLAIN) -> str:
    """A plan as plain text, JSON or SVG."""
    if options.format == "json":
        import json

        return json.dumps(plan.to_dict(), indent=2) + "\n"
    drawing = drawing_of(plan, options)
    if options.format == "svg":
        return to_svg(drawing, title=os.path.basename(plan.source))
    return title(plan, ascii=options.ascii) + to_text(drawing)


def drawing_of(plan: Plan, options: RenderOptions) -> Drawing:
    """The drawing of a plan with these options."""
    color = options.color or options.format == "svg"
    return Drawing(plan, options.density, ascii=options.ascii, color=color, width=options.width, nodes=options.nodes)


def title(plan: Plan, *, ascii: bool = False) -> str:
    """File and topology, above a drawing. Without the folder, so that it does not matter where one stands."""
    name = clean(os.path.basename(plan.source), ascii=ascii) or "placetui"
    about = caption(plan)
    if ascii:
        about = about.replace("×", "x")
    return f"{name}: {about}\n\n"


def difference(stored: str, drawn: str, name: str) -> str:
    """What changed, as a unified difference; nothing if nothing did. Kinds of line break do not count."""
    before, after = stored.splitlines(), drawn.splitlines()
    if before == after:
        return ""
    from difflib import unified_diff  # most drawings are as before

    lines = unified_diff(before, after, f"{name} (stored)", f"{name} (drawn now)", lineterm="")
    return "".join(f"{line}\n" for line in lines)


def read_snapshot(path: Path) -> str | None:
    """What is stored; None if nothing is.

    Raises:
        OSError: it is there and cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None


def write_snapshot(path: Path, text: str) -> None:
    """Store a drawing: all of it or nothing, and the same bytes on every system.

    Raises:
        OSError: it cannot be written.
    """
    import tempfile  # seldom needed, and slow to load

    path.parent.mkdir(parents=True, exist_ok=True)
    target = path.resolve()  # a link stays a link
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
        os.chmod(temporary, target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

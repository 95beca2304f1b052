"""Makes the pictures of the documentation from the real program, so that they never lie.

Run: python docs/pictures.py
"""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from placetui.document import Document, Wishes, plan_document
from placetui.grid import Drawing, to_svg
from placetui.observe.layout import layout_of
from placetui.observe.simulate import Simulation, SimulationOptions
from placetui.tui.app import Dashboard, Options
from placetui.tui.session import Session

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
SIZE = (128, 34)


async def screen(sample: str, keys: tuple[str, ...], *, live: bool, theme: str = "placetui-dark") -> str:
    """The dashboard on a sample after some keys, with a simulated cluster behind it if wanted."""
    app = Dashboard(Session.open(f"sample_configs/{sample}", Wishes()), Options(theme=theme))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        main = app.main
        assert main is not None
        if live:
            simulation = Simulation(layout_of(main.session.plan), SimulationOptions(seed=7))
            for second in range(40):
                main.show_observation(simulation.step(float(second)))
            main.show_live_words("simulated", ok=True)
        await pilot.press(*keys)
        await pilot.pause()
        return stable(app.export_screenshot(title="placetui", simplify=True))


def stable(svg: str) -> str:
    """The same bytes on every run: Textual numbers its classes by chance, and asks for a font from elsewhere."""
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def grid(sample: str) -> str:
    """A drawing as `placetui show --format svg` makes it."""
    document = Document.from_file(f"sample_configs/{sample}")
    return to_svg(Drawing(plan_document(document), width=110), title=sample)


def pictures() -> dict[str, str]:
    """File name → SVG."""
    os.chdir(ROOT)
    return {
        "dashboard.svg": asyncio.run(screen("collocated.yaml", ("right", "down", "c"), live=True)),
        "edit-rule.svg": asyncio.run(screen("disaggregated.yaml", ("c", "c", "e"), live=False)),
        "light.svg": asyncio.run(screen("model-parallel-stride.yaml", ("right",), live=False, theme="placetui-light")),
        "stride.svg": grid("model-parallel-stride.yaml"),
    }


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for name, svg in pictures().items():
        (IMAGES / name).write_text(svg, encoding="utf-8")

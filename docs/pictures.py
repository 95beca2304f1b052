"""Makes the pictures of the documentation from the real program, so that they never lie.

Run: python docs/pictures.py
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from placetui.cli import main  # noqa: E402
from placetui.document import Document, PlanRequest, plan_document  # noqa: E402
from placetui.grid import Drawing, to_svg  # noqa: E402
from placetui.tui.app import Dashboard, Options  # noqa: E402
from placetui.tui.session import Session  # noqa: E402
from placetui.tui.shot import settled, stable  # noqa: E402
from tests.tui.pretend import ADDRESS, PretendedOperations  # noqa: E402

IMAGES = ROOT / "docs" / "images"
SIZE = (120, 36)
START = 1_767_268_800.0
FRAME = 0.6
"""Seconds that a frame of the recording is shown; the last one three times as long."""


def shot(sample: str, *words: str) -> str:
    """The dashboard on a sample, as `placetui shot` draws it."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "shot.svg"
        main(["shot", f"sample_configs/{sample}", *words, "-o", str(target)])
        return target.read_text(encoding="utf-8")


def grid(sample: str) -> str:
    """A drawing as `placetui show --format svg` makes it."""
    document = Document.from_file(f"sample_configs/{sample}")
    return to_svg(Drawing(plan_document(document), width=110), title=sample)


# A recording of a launch


async def launch_frames() -> list[str]:
    """The dashboard while a job comes up, rank by rank."""
    operations, clock = PretendedOperations(), [START]
    session = Session.open("sample_configs/collocated.yaml", PlanRequest())
    options = Options(
        operations=operations, write=True, address=ADDRESS, now=lambda: clock[0], motion=False, recovers=False
    )
    app = Dashboard(session, options)
    app.animation_level = "none"
    frames: list[str] = []
    async with app.run_test(size=SIZE) as pilot:

        async def take() -> None:
            app.clear_notifications()
            for _ in range(3):
                await pilot.pause(0.1)
            await settled(app, pilot)
            frames.append(stable(app.export_screenshot(title="placetui --write collocated.yaml", simplify=True)))

        await take()
        await pilot.press("L", "enter")
        while not operations.asked("up"):
            await pilot.pause(0.05)
        up = operations.of("up")
        up.check(session.plan)
        await take()
        await pilot.press("ctrl+l")
        clock[0] += 1.8
        up.reserve()
        for _ in range(3):
            await pilot.pause(0.1)
        ranks = [(name, rank) for rank in range(16) for name in session.plan.components]
        begun, slow = 0, ("actor", 9)
        writes = iter(("importing my_pkg.workers", *(f"building {number} of 73" for number in (12, 29, 41, 66))))
        for alive in range(0, len(ranks) + 1, 6):
            clock[0] += 5
            for name, rank in ranks[begun : alive + 9]:
                up.tell(step="launch", component=name, rank=rank, state="starting")
            begun = max(begun, min(len(ranks), alive + 9))
            for name, rank in ranks[max(0, alive - 6) : alive]:
                if (name, rank) != slow or alive == len(ranks):
                    up.tell(step="launch", component=name, rank=rank, state="alive")
            if alive == len(ranks):
                up.tell(step="launch", component=slow[0], rank=slow[1], state="alive")
            for _ in range(12):
                await pilot.pause(0.1)
                for one in operations.begun:
                    if one.kind == "logs" and one.interrupted:
                        one.fail("interrupted", interrupted=True)
            if operations.asked("logs") and (logs := operations.of("logs")).body["rank"] == slow[1]:
                logs.tell(step="lines", component=slow[0], rank=slow[1], lines=[next(writes, "ready")])
            await take()
    return frames


def animated(frames: Sequence[str]) -> str:
    """One SVG that shows frames one after the other; what several have in common is in it once."""
    styles: dict[str, str] = {}
    shown: dict[tuple[str, str], list[int]] = {}
    for number, frame in enumerate(frames):
        names = dict(re.findall(r"\.terminal-(r\d+) \{ (.*?) \}", frame))
        body = frame[frame.index("</defs>") :]
        for element in re.findall(r"<rect [^>]*/>|<text [^>]*>.*?</text>", body):
            used = re.search(r'class="terminal-(r\d+)"', element)
            if used is not None:
                style = styles.setdefault(names[used[1]], f"s{len(styles)}")
                element = element.replace(used[0], f'class="{style}"')
            if 'clip-path="url(#terminal-line' in element or 'shape-rendering="crispEdges"' in element:
                kind = "rect" if element.startswith("<rect") else "text"
                seen = shown.setdefault((kind, element), [])
                if number not in seen:
                    seen.append(number)
    total = FRAME * (len(frames) + 2)
    ends = [*(FRAME * (number + 1) for number in range(len(frames) - 1)), total]
    starts = [0.0, *ends[:-1]]
    sets = {tuple(numbers): f"f{place}" for place, numbers in enumerate(dict.fromkeys(map(tuple, shown.values())))}
    css = [f".{name} {{ {style} }}" for style, name in styles.items()]
    for numbers, name in sets.items():
        if len(numbers) == len(frames):
            continue
        steps = [f"{100 * starts[n] / total:.2f}% {{ opacity: {int(n in numbers)} }}" for n in range(len(frames))]
        css.append(f".{name} {{ opacity: 0; animation: {name} {total:g}s steps(1, end) infinite }}")
        css.append(f"@keyframes {name} {{ {' '.join(steps)} 100% {{ opacity: {int(len(frames) - 1 in numbers)} }} }}")
    parts = []
    for kind in ("rect", "text"):
        for numbers, name in sets.items():
            of_set = [element for (what, element), seen in shown.items() if what == kind and tuple(seen) == numbers]
            if of_set:
                parts.append(f'<g class="{name}">{"".join(of_set)}</g>')
    first = frames[-1]
    head, rest = first.split("</style>", 1)
    head = re.sub(r"\.terminal-r\d+ \{.*?\}\n?", "", head)
    # Without motion, the last frame stands.
    still = "".join(f".{name} {{ animation: none; opacity: {int(len(frames) - 1 in n)} }}" for n, name in sets.items())
    css.append(f"@media (prefers-reduced-motion: reduce) {{ {still} }}")
    frame_of = rest[: rest.index('<g class="terminal-matrix">')]
    frame_of = re.sub(r'<rect [^>]*shape-rendering="crispEdges"/>', "", frame_of)
    body = f'<g class="terminal-matrix">{"".join(parts)}</g></g></svg>\n'
    return f"{head}{chr(10).join(css)}</style>{frame_of}{body}"


def pictures() -> dict[str, str]:
    """File name → SVG."""
    os.chdir(ROOT)
    os.environ["TZ"] = "UTC"
    time.tzset()
    return {
        "launch.svg": animated(asyncio.run(launch_frames())),
        "dashboard.svg": shot("collocated.yaml", "--demo", "--press", "!"),
        "large.svg": shot("collocated.yaml", "--demo", "--size", "200x60", "--press", "!"),
        "heat.svg": shot("large.yaml", "--demo"),
        "what-if.svg": shot("collocated.yaml", "--demo", "--size", "140x40", "--press", "w,right,right"),
        "edit-rule.svg": shot("hybrid.yaml", "--press", "e,tab,tab,2,minus,5"),
        "light.svg": shot("collocated.yaml", "--demo", "--theme", "placetui-light", "--press", "!"),
        "stride.svg": grid("model-parallel-stride.yaml"),
    }


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for name, svg in pictures().items():
        (IMAGES / name).write_text(svg, encoding="utf-8")

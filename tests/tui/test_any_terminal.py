"""Any size, any colours, any character set; and names that look like markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len
from textual.widgets import Input, OptionList

from placetui import resources
from placetui.observe.ports import Status
from placetui.tui.app import Choice
from placetui.tui.dialogs.what_if import WhatIfScreen
from tests.tui.pretend import ADDRESS, PretendedOperations

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.tui.conftest import Desk, Seat

SIZES = [(200, 60), (120, 36), (80, 24), (40, 10), (20, 5), (1, 1)]


async def walk(seat: Seat) -> AsyncIterator[str]:
    """All screens and dialogs, one after the other."""
    yield "at first"
    for density in ("letters", "heat"):
        await seat.press("minus")
        yield density
    for key, name in (
        ("2", "yaml"),
        ("question_mark", "help"),
        ("d", "details"),
        ("w", "what if"),
        ("o", "picker"),
        ("x", "export"),
        ("slash", "find"),
    ):
        await seat.press(key)
        yield name
        await seat.press("escape")
    await seat.find("actor 1")
    yield "a toast"
    await seat.press("ctrl+p")
    yield "palette"
    await seat.press("escape", "plus", "plus")


# Sizes


@pytest.mark.parametrize("size", [size for size in SIZES if size != (120, 36)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_every_screen_at_every_size(desk: Desk, size: tuple[int, int]) -> None:
    async with desk.open("broken-oversubscribed", size) as seat:
        async for _ in walk(seat):
            assert len(seat.lines) == size[1]
            assert {cell_len(line) for line in seat.lines} == {size[0]}


async def test_what_80_by_24_shows(desk: Desk) -> None:
    async with desk.open("collocated", (80, 24), density=None) as seat:
        await seat.sees("collocated.yaml", "node0", "node1", "15", "GPU 0", "actor 0", "keys")


async def test_what_40_by_10_shows(desk: Desk) -> None:
    async with desk.open("collocated", (40, 10)) as seat:
        await seat.sees("collocated.yaml", "node0 · GPU 0", "actor 0", "keys")
        await seat.press("minus")
        await seat.sees("node0")
        await seat.pilot.resize_terminal(40, 7)
        await seat.until(lambda: "keys" not in seat.lines[-1], "room for the grid alone")


async def test_a_storm_of_resizes(desk: Desk) -> None:
    async with desk.open("heterogeneous", live=True) as seat:
        for width, height in [*SIZES, *reversed(SIZES), (3, 60), (200, 2), (2, 2), (99, 15), (100, 16), (120, 36)]:
            await seat.pilot.resize_terminal(width, height)
            await seat.press("down", "minus" if width % 2 else "plus")
        await seat.until(lambda: seat.grid.drawing and seat.grid.drawing.requested_width == seat.grid.room)
        await seat.press("g")
        await seat.sees("Components", "Problems", "train-0")


# Colours


def colors(seat: Seat) -> set[str]:
    """All colours on the screen but the terminal's own."""
    styles = (segment.style for strip in seat.app.screen._compositor.render_strips() for segment in strip)
    used = (color for style in styles if style for color in (style.color, style.bgcolor) if color)
    return {color.name for color in used if not color.is_default}


async def test_without_colour_there_is_no_colour(desk: Desk) -> None:
    """In ASCII, too: both at once are what a terminal gets that can do nothing."""
    async with desk.open("broken-oversubscribed", color=False, ascii=True) as seat:
        async for screen in walk(seat):
            assert not colors(seat), screen
            assert seat.text.isascii(), screen


async def test_no_color_in_the_environment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with desk.open("collocated", color=False) as seat:
        assert not colors(seat)


async def test_with_colour_there_is_colour(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        assert len(colors(seat)) > 5


async def test_the_cursor_is_seen_without_colour(desk: Desk) -> None:
    async with desk.open("collocated", color=False) as seat:
        for density in ("tile", "letters", "heat"):
            strips = seat.app.screen._compositor.render_strips()
            marked = [one.text for strip in strips for one in strip if one.style and one.style.reverse]
            assert marked, density
            await seat.press("minus")


# ASCII


async def test_ascii_is_ascii_everywhere(desk: Desk) -> None:
    choices = [Choice("/somewhere/früh.yaml", "“über” – alles", "recent")]
    async with desk.open("large", (80, 24), ascii=True, choices=choices, live=True) as seat:
        async for screen in walk(seat):
            assert seat.text.isascii(), (screen, {one for one in seat.text if not one.isascii()})


async def test_ascii_of_one_dashboard_does_not_reach_the_next(desk: Desk) -> None:
    async with desk.open("large", (80, 24), ascii=True) as seat:
        assert seat.text.isascii()
    async with desk.open("large", (80, 24)) as seat:
        await seat.sees("·")


# Themes


async def test_every_theme_of_everyone_works(desk: Desk) -> None:
    async with desk.open("collocated", (80, 24)) as seat:
        before = seat.text
        for name in seat.app.available_themes:
            seat.app.theme = name
            await seat.pilot.pause()
            assert seat.text.split() == before.split(), name
        await seat.press("w")
        assert seat.shows(WhatIfScreen)


async def test_a_theme_changes_the_grid_at_once(desk: Desk) -> None:
    async with desk.open("collocated") as seat:
        dark = colors(seat)
        seat.app.theme = "placetui-light"
        await seat.until(lambda: len(colors(seat) - dark) > 5, "other colours")


async def test_a_bad_theme_file_gives_one_notice_and_the_default(desk: Desk) -> None:
    themes = desk.folder / "themes"
    themes.mkdir()
    (themes / "bad.yaml").write_text("name: bad\nprimary: bleu\n")
    (themes / "worse.yaml").write_text("[")
    async with desk.open("collocated", user_themes=themes, theme="placetui-dark") as seat:
        assert len(seat.toasts) == 1
        assert "primary: bleu is not a colour" in seat.toasts[0]
        assert seat.app.theme == "placetui-dark"


async def test_a_theme_that_is_not_there_gives_the_default(desk: Desk) -> None:
    async with desk.open("collocated", theme="[bold]nowhere[/]") as seat:
        assert seat.toasts == ["there is no theme [bold]nowhere[/]"]
        assert seat.app.theme == "placetui-dark"


async def test_a_theme_of_the_user_is_used(desk: Desk) -> None:
    themes = desk.folder / "themes"
    themes.mkdir()
    (themes / "mine.yaml").write_text("name: mine\nprimary: '#336699'\n")
    async with desk.open("collocated", user_themes=themes, theme="mine") as seat:
        assert seat.app.theme == "mine"
        assert not seat.toasts


# Names that look like markup

STRANGE = """
cluster:
  num_nodes: 2
  node_groups:
    - {label: "g[/]x", node_ranks: 0-1}
  component_placement:
    "rollout[env]": {node_group: "g[/]x", placement: 0-3}
    "[bold]": 0-3
    "path[/]x": 4-7
    "wide字é": 8-15
placetui:
  topology:
    nodes:
      - {name: "host[red]", gpus: 8}
      - {name: "n[/b]\\e[31m", gpus: 8}
"""


async def test_names_are_never_markup(desk: Desk) -> None:
    file = desk.write(STRANGE, "file[bold]x[b].yaml")
    async with desk.open(file, (200, 60), live=True, choices=[Choice(str(file), "[/] about", "recent")]) as seat:
        await seat.sees("file[bold]x[b].yaml", "rollout[env]", "[bold]", "host[red]", "path[/]x")
        for query in ("[bold] 1", "rollout[env]", "host[red]", "[/]nothing", "path[/]x 2"):
            await seat.find(query)
        assert seat.toasts
        async for _ in walk(seat):
            assert "\x1b" not in seat.text
        desk.sources[0].say(Status("lost", "the [child] has [/] died"))
        await seat.sees("the [child] has [/] died")
        await seat.press("o")
        await seat.sees("[/] about")
        await seat.press("escape", "x")
        seat.app.screen.query_one(Input).value = "no[/]where/x[y].txt"
        await seat.press("enter")
        assert seat.toasts[-1].startswith("no[/]where/x[y].txt cannot be written")
        for query, key, title in (("path[/]x 2", "m", "─ path[/]x ─"), ("[bold] 0", "d", "─ host[red]")):
            await seat.find(query)
            await seat.press(key)
            await seat.sees(title)
            await seat.press("escape")


async def test_jobs_are_never_markup(desk: Desk) -> None:
    operations = PretendedOperations()
    job = {"name": "job[red]", "file": "/runs/x[/].yaml", "state": "[b]odd", "created": 0.0, "groups": {}}
    operations.replies["ps"] = {"address": ADDRESS, "jobs": [job]}
    async with desk.open(desk.write(STRANGE), operations=operations, write=True) as seat:
        await seat.press("J")
        await seat.sees("job[red]", "/runs/x[/].yaml", "[b]odd")
        operations.replies["ps"] = {"address": ADDRESS, "jobs": [{**job, "state": "[/]worse"}]}
        await seat.sees("[/]worse")
        await seat.press("s")
        await seat.sees("─ Stop job[red] ─")
        await seat.press("escape")
        seat.app.cluster.job = "job[red]"
        await seat.find("path[/]x 2")
        await seat.press("F")
        await seat.sees("─ Log of path[/]x:2 ─")


async def test_a_strange_file_in_ascii(desk: Desk) -> None:
    async with desk.open(desk.write(STRANGE), ascii=True) as seat:
        async for screen in walk(seat):
            assert seat.text.isascii(), (screen, {one for one in seat.text if not one.isascii()})


# Any file


@pytest.mark.parametrize("sample", [path.stem for path in resources.samples() if "large" not in path.stem])
async def test_every_sample_opens_and_can_be_walked_through(desk: Desk, sample: str) -> None:
    async with desk.open(sample, (80, 24), live=True) as seat:
        await seat.press("down", "end", "enter", "1", "c", "minus", "w", "escape", "exclamation_mark")
        await seat.sees(f"{sample}.yaml")


@pytest.mark.parametrize("text", ["", "[]", "cluster:", "\t", "a: &a [*a]", "cluster: {num_nodes: 0}", "slime: {}"])
async def test_files_with_nothing_to_draw_say_so(desk: Desk, text: str) -> None:
    async with desk.open(desk.write(text), (80, 24), live=True) as seat:
        await seat.press("down", "right", "enter", "G", "pagedown", "end", "d", "escape", "c", "s", "minus", "y", "w")
        await seat.press("escape")
        await seat.find("free")
        await seat.sees("plan.yaml", "error")


@pytest.mark.parametrize("key", ["a", "ctrl+p"])
async def test_the_chosen_one_of_a_list_is_underlined_without_colour(desk: Desk, key: str) -> None:
    async with desk.open("collocated", color=False) as seat:
        await seat.press(key)
        listing = seat.app.screen.query_one(OptionList)
        await seat.until(lambda: listing.highlighted is not None, "an option is highlighted")
        assert listing.highlighted is not None
        underlined = [y for y in range(listing.size.height) if _is_underlined(listing, y)]
        assert underlined == [listing.highlighted]


def _is_underlined(listing: OptionList, y: int) -> bool:
    return any(segment.style is not None and segment.style.underline for segment in listing.render_line(y))

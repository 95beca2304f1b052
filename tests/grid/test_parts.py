"""Letters, figures, names, rows, colours and files."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.grid import (
    DARK,
    LIGHT,
    Colors,
    Drawing,
    Palette,
    Style,
    caption,
    cell_width,
    clean,
    plain,
    share_figure,
    to_ansi,
    to_svg,
)
from placetui.grid.densities.rows import arrange
from placetui.grid.look.glyphs import ASCII, UNICODE
from placetui.grid.look.meters import gradient, history, thin
from placetui.grid.look.text import Keep, cut
from placetui.placement.plan import Plan

Build = Callable[..., Plan]


@pytest.mark.parametrize(
    ("share", "figure"),
    [(0.8, ".80"), (1.0, "1.0"), (0.29, ".29"), (0.3333, ".33"), (0.9999, ".99"), (1.2, "1.20"), (0.004, "<.01")],
)
def test_shares_are_written_shortly(share: float, figure: str) -> None:
    assert share_figure(share) == figure


def test_names_are_neutralised() -> None:
    assert clean("a\x1b[31mb\nc\u202ed\u200be") == "a·[31mb·c·d·e"
    assert clean("Zürich 模型\x07", ascii=True) == "Zurich ??."


@given(st.text(max_size=20), st.integers(0, 12), st.sampled_from(["start", "ends", "end"]))
def test_cut_names_fit(text: str, width: int, keep: Keep) -> None:
    shown = cut(clean(text), width, keep=keep)
    assert cell_width(shown) <= width
    assert shown == clean(text) or "…" in shown or width == 0


def test_wide_and_combining_characters_are_measured() -> None:
    assert cell_width("模型") == 4
    assert cell_width("e\u0301") == 1
    assert cut("模型模型", 5) == "模型…"
    assert cut("gpu-rack12-node07", 9, keep="ends") == "gpu-…de07"
    assert cut("10.0.12.101", 8, keep="end") == "….12.101"


@given(st.sampled_from([0, 0.1, 3, 49.9, 77, 100]), st.integers(1, 40), st.floats(0, 100))
def test_a_meter_fills_its_width(percent: float, width: int, unknown: float) -> None:
    for glyphs in (UNICODE, ASCII):
        text = plain(tuple(gradient(glyphs, width, percent, None, min(unknown, percent))))
        assert len(text) == width
        assert (text[0] != " ") == (percent > 0)
    held = plain(tuple(thin(UNICODE, width, percent / 100, Style(), Style())))
    assert (len(held), held[0] in "━╸") == (width, percent > 0)


@given(st.lists(st.none() | st.integers(0, 100), max_size=90), st.integers(1, 40), st.integers(1, 4))
def test_a_history_fills_its_room_and_leaves_what_is_not_known_blank(
    values: list[int | None], width: int, lines: int
) -> None:
    for glyphs in (UNICODE, ASCII):
        drawn = [plain(line) for line in history(glyphs, values, width, lines)]
        assert [len(line) for line in drawn] == [width] * lines
    known = any(value is not None for value in values[-2 * width :])
    assert known == any(line.strip() for line in (plain(one) for one in history(UNICODE, values, width, lines)))


def test_a_history_is_as_high_as_its_values() -> None:
    (line,) = history(UNICODE, [0, 25, 50, 75, 100, None], 3, 1)
    assert plain(line) == "⣀⣴⡇"
    top, bottom = (plain(one) for one in history(UNICODE, [100, 50], 1, 2))
    assert (top, bottom) == ("⡇", "⣿")


@given(st.lists(st.tuples(st.integers(0, 2), st.sets(st.integers(0, 7), min_size=1, max_size=3)), max_size=12))
def test_no_two_processes_share_a_row_on_a_device(processes: list[tuple[int, set[int]]]) -> None:
    shape = tuple(
        (component, tuple(sorted(devices))) for component, devices in sorted(processes, key=lambda one: one[0])
    )
    taken: set[tuple[int, int]] = set()
    seen: set[tuple[int, int]] = set()
    for slot in arrange(shape):
        for device in slot.devices:
            assert (slot.row, device) not in taken
            taken.add((slot.row, device))
            seen.update((process, device) for process in slot.processes)
    assert seen == {(process, device) for process, (_, devices) in enumerate(shape) for device in devices}


def test_thousands_of_components_on_a_device_are_arranged_in_time_that_grows_as_they_do() -> None:
    def seconds(number: int) -> float:
        start = process_time()
        slots = arrange(tuple((component, (0, 1)) for component in range(number)))
        assert [slot.row for slot in slots] == list(range(number))
        return process_time() - start

    few, many = (min(seconds(number) for _ in range(3)) for number in (1000, 16_000))
    assert many < 16 * few * 4, "quadratic would be sixteen times as much for each"


def test_glyphs_take_one_column_and_states_differ() -> None:
    for glyphs in (UNICODE, ASCII):
        assert len(set(glyphs.states.values())) == 6
        for glyph in (
            *glyphs.ramp,
            *glyphs.eighths,
            *glyphs.box,
            *glyphs.cursor,
            *glyphs.squares.values(),
            *glyphs.states.values(),
            glyphs.span,
            glyphs.empty,
            glyphs.absent,
        ):
            assert cell_width(glyph) == len(glyph) == 1
    texts = [getattr(ASCII, name) for name in ASCII.__slots__]
    assert all(character.isascii() for text in texts for part in text for character in part)


@pytest.mark.parametrize("colors", ["truecolor", "256", "16"])
def test_colour_codes_are_of_the_kind_asked_for(two_nodes: Plan, colors: Colors) -> None:
    text = to_ansi(Drawing(two_nodes), colors=colors)
    assert ("38;2;" in text) == (colors == "truecolor")
    assert ("38;5;" in text) == (colors == "256")
    assert text.count("\x1b[0m") * 2 == text.count("\x1b[")


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=["dark", "light"])
def test_svg_is_well_formed_and_the_same_each_time(make_plan: Build, palette: Palette) -> None:
    names = ["<a&b>\x00]]>"]
    plan = make_plan([8], {"<actor>": ("0-7", 8000, [(0, [0, 1]), (0, [2, 4])])}, names=names)
    picture = to_svg(Drawing(plan), title='"x" <y>', palette=palette)
    assert picture == to_svg(Drawing(plan), title='"x" <y>', palette=palette)
    root = ElementTree.fromstring(picture)
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert '"x" <y>' in texts
    assert "<actor>" in texts
    assert "href" not in picture
    assert palette.ground in picture


def test_svg_without_a_legend(two_nodes: Plan) -> None:
    assert "rollout" not in to_svg(Drawing(two_nodes), legend=False)


def test_captions_say_what_a_plan_was_made_for(make_plan: Build, two_nodes: Plan) -> None:
    assert caption(two_nodes) == "2 nodes × 8 GPUs"
    assert caption(make_plan([4, 16], {})) == "2 nodes × 4-16 GPUs"
    assert caption(make_plan([1], {})) == "1 node × 1 GPU"

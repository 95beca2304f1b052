"""Letters, figures, names, rows, colours and files."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.grid import (
    DARK,
    HUES,
    LIGHT,
    Drawing,
    Palette,
    caption,
    cell_width,
    clean,
    identities,
    share_figure,
    to_ansi,
    to_svg,
)
from placetui.grid.arrange import arrange
from placetui.grid.export import Colors
from placetui.grid.glyphs import ASCII, UNICODE
from placetui.grid.live import GIB, DeviceLive, memory_figure
from placetui.grid.palette import rgb
from placetui.grid.text import Keep, cut
from placetui.placement.plan import Plan

Build = Callable[..., Plan]


def marks(*names: str) -> str:
    return " ".join(identity.mark for identity in identities(names).values())


def test_marks_are_the_first_free_letter_of_the_name() -> None:
    assert marks("actor", "rollout", "reward", "env") == "A R E N"
    assert marks("aa", "aaa", "模型", "_9") == "A B C D"
    assert marks(*(f"a{n}" for n in range(38))).split()[24:] == [*"YZ0123456789", "AA", "AB"]


@given(st.lists(st.text(max_size=8), max_size=120, unique=True))
def test_marks_are_unique_and_ascii(names: list[str]) -> None:
    found = identities(names)
    assert len({identity.mark for identity in found.values()}) == len(names)
    assert all(identity.mark.isascii() and len(identity.mark) <= 2 for identity in found.values())


def test_a_mark_that_is_a_digit_is_kept_apart_from_the_rank() -> None:
    found = list(identities(f"x{n}" for n in range(30)).values())
    assert found[0].label(3) == "X3"
    assert found[26].label(3) == "0:3"


def test_hue_and_pattern_are_unique_together() -> None:
    found = list(identities(map(str, range(49))).values())
    assert len({(identity.hue, identity.pattern) for identity in found}) == 49


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


@given(st.integers(0, 30))
def test_memory_fits_its_room(room: int) -> None:
    live = DeviceLive(int(61.2 * GIB), 80 * GIB, 98.0)
    assert len(memory_figure(live, room)) <= room


def test_memory_is_written_as_far_as_there_is_room() -> None:
    live = DeviceLive(int(61.25 * GIB), 80 * GIB, 98.0)
    assert memory_figure(live, 14) == "61.2/80 G  98%"
    assert memory_figure(live, 9) == "61.2/80 G"
    assert memory_figure(live, 6) == "61/80G"
    assert memory_figure(DeviceLive(), 9) == "n/a"


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


def test_glyphs_take_one_column_and_patterns_differ() -> None:
    for glyphs in (UNICODE, ASCII):
        assert len(set(glyphs.patterns)) == HUES
        assert len(set(glyphs.states.values())) == 6
        for glyph in (
            *glyphs.patterns,
            *glyphs.ramp,
            *glyphs.states.values(),
            glyphs.span,
            glyphs.empty,
            glyphs.absent,
        ):
            assert cell_width(glyph) == len(glyph) == 1
    texts = [getattr(ASCII, name) for name in ASCII.__slots__]
    assert all(character.isascii() for text in texts for part in text for character in part)


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=["dark", "light"])
def test_colours_can_be_read_on_their_ground(palette: Palette) -> None:
    def luminance(color: str) -> float:
        parts = [part / 255 for part in rgb(color)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one: str, other: str) -> float:
        bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
        return (bright + 0.05) / (dim + 0.05)

    assert len(palette.hues) == HUES
    for color in (*palette.hues, palette.text, palette.muted, palette.ok, palette.warning, palette.error):
        assert contrast(color, palette.background) >= 4.5, color


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
    assert palette.background in picture


def test_svg_without_a_legend(two_nodes: Plan) -> None:
    assert "rollout" not in to_svg(Drawing(two_nodes), legend=False)


def test_captions_say_what_a_plan_was_made_for(make_plan: Build, two_nodes: Plan) -> None:
    assert caption(two_nodes) == "2 nodes × 8 GPUs"
    assert caption(make_plan([4, 16], {})) == "2 nodes × 4–16 GPUs"
    assert caption(make_plan([1], {})) == "1 node × 1 GPU"

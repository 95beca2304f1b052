"""Whatever a file, a host or a process is called, the screen holds nothing that steers a terminal."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from placetui.observe.ports import Status
from placetui.tui.terminal.filters import harmless
from tests.tui.monkey import Painted

if TYPE_CHECKING:
    from tests.tui.conftest import Desk, World

STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
EVIL = "e\x1b]0;owned\x07\x1b[2J\x9b31m\u202ex"
# Raw in a comment, where YAML refuses it and the editor shows it; escaped in names.
FILE = f"""\
# {EVIL}
cluster:
  num_nodes: 1
  component_placement:
    actor: 0-3
"""


@pytest.mark.parametrize(
    ("text", "shown"),
    [("plain 節点 █", "plain 節点 █"), ("a\x1b[2Jb", "a[2Jb"), ("\u202ex\u200b", "x"), ("\ue0b0", "·"), ("\t", "")],
)
def test_a_line_stays_as_wide_as_it_was(text: str, shown: str) -> None:
    assert harmless(text) == shown


async def test_a_file_with_control_characters_is_shown_without_them(desk: Desk) -> None:
    async with desk.open(desk.write(FILE, "evil\x1b[2J.yaml")) as seat:
        for keys in (["2"], ["E"], ["escape"], ["1"], ["d"]):
            await seat.press(*keys)
            assert not STEERING.search(seat.text.replace("\n", ""))


async def test_hosts_and_processes_cannot_steer(desk: Desk, world: World) -> None:
    async with desk.open("collocated", live=True) as seat:
        source = desk.sources[-1]
        seen = world.simulated(source.plan)
        device = seen.nodes[0].devices[0]
        processes = tuple(replace(one, command=EVIL, user=EVIL, actor=EVIL, note=EVIL) for one in device.processes)
        seen = world.with_device(seen, 0, 0, name=EVIL, error=EVIL, processes=processes)
        nodes = (replace(seen.nodes[0], name=EVIL, ip=EVIL, error=EVIL), *seen.nodes[1:])
        source.deliver(replace(seen, nodes=nodes))
        source.say(Status("lost", EVIL))
        for keys in (["g"], ["d"], ["escape"], ["minus"], ["minus"], ["question_mark"]):
            await seat.press(*keys)
            assert not STEERING.search(seat.text.replace("\n", ""))


def test_every_screen_has_the_filter(desk: Desk) -> None:
    options: Any = desk.options(color=False, ascii=True)
    kinds = [type(one).__name__ for one in Painted(None, options, (80, 24)).get_line_filters()]
    assert "SafeFilter" in kinds

"""Which GPUs a list like CUDA_VISIBLE_DEVICES means."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.observe.model import DeviceSample
from placetui.telemetry.visible import Board, visible_devices

UUIDS = [f"GPU-{letter * 8}-0000-4000" for letter in "abcd"]
TWIN = "GPU-aaaaffff-0000-4000"
INSTANCES = ["MIG-11111111-0000", "MIG-22222222-0000"]


def board(index: int, uuid: str, name: str = "H100", instances: Sequence[str] = ()) -> Board:
    return Board(index, uuid, name, tuple(DeviceSample(index, one) for one in instances or [uuid]))


BOARDS = [board(index, uuid) for index, uuid in enumerate(UUIDS)]
NODE = [BOARDS[0], board(1, UUIDS[1], instances=INSTANCES), *BOARDS[2:], board(4, TWIN)]
MIXED = [board(0, "GPU-a"), board(1, "GPU-b", "A2")]


def uuids(words: str | None) -> list[str | None]:
    return [visible.uuid for visible in visible_devices(words, NODE)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (None, [*UUIDS, TWIN]),
        ("", []),
        ("  ", []),
        ("2,3", [UUIDS[2], UUIDS[3]]),
        ("3,2", [UUIDS[3], UUIDS[2]]),
        (" 3 , 0 ", [UUIDS[3], UUIDS[0]]),
        (UUIDS[1], [UUIDS[1]]),
        (UUIDS[1].upper(), [UUIDS[1]]),
        ("GPU-cc,GPU-b", [UUIDS[2], UUIDS[1]]),
        ("0,GPU-dddd", [UUIDS[0], UUIDS[3]]),
        ("MIG-22222222-0000,MIG-1", [INSTANCES[1], INSTANCES[0]]),
        (f"MIG-{UUIDS[1]}/7/0", [None]),
        ("GPU-aaaa", [None]),
        ("GPU-aaaaf", [TWIN]),
        ("9", [None]),
        ("-1", [None]),
        ("all", [None]),
        ("1,,2", [UUIDS[1], None, UUIDS[2]]),
    ],
)
def test_the_devices_of_a_list_in_its_order(words: str | None, expected: list[str | None]) -> None:
    assert uuids(words) == expected


@pytest.mark.parametrize(
    ("words", "problems"),
    [
        ("0,1", [None, None]),
        ("9,1", ["there is no GPU 9", "hidden, because it comes after `9`"]),
        ("0,-1,2", [None, "`-1` is neither a number nor a UUID", "hidden, because it comes after `-1`"]),
        ("GPU-aaaa", ["2 GPUs begin with GPU-aaaa"]),
        ("MIG-3", ["there is no MIG-3"]),
        ("1,1", [None, "1 is in the list twice"]),
        ("1,GPU-bbbb", [None, "GPU-bbbb is in the list twice"]),
    ],
)
def test_what_no_program_will_see_says_why(words: str, problems: list[str | None]) -> None:
    assert [visible.problem for visible in visible_devices(words, NODE)] == problems


def test_an_instance_that_an_old_driver_calls_by_its_numbers_is_found() -> None:
    old = f"MIG-{UUIDS[1]}/3/0"
    (found,) = visible_devices(old, [BOARDS[0], board(1, UUIDS[1], "A100", [old])])
    assert (found.instance, found.problem) == (old, None)


def test_numbers_are_certain_only_where_cuda_counts_as_nvml_does() -> None:
    assert [one.certain for one in visible_devices("0,GPU-b", MIXED)] == [False, True]
    assert [one.certain for one in visible_devices("0,GPU-b", MIXED, "PCI_BUS_ID")] == [True, True]
    assert [one.certain for one in visible_devices(None, MIXED)] == [False, False]
    assert all(one.certain for one in visible_devices("1,0", BOARDS))


@given(st.permutations(range(5)))
def test_every_order_of_all_gpus_is_kept(order: list[int]) -> None:
    found = visible_devices(",".join(map(str, order)), NODE)
    assert [visible.board.index for visible in found if visible.board] == order


@given(st.text(alphabet="0123456789,-GPUMIGabcd/ é", max_size=30))
def test_any_list_gives_an_answer_for_each_word(words: str) -> None:
    found = visible_devices(words, NODE)
    assert len(found) == (len(words.split(",")) if words.strip() else 0)
    assert all(one.board is not None or one.problem is not None for one in found)

"""Which GPUs a list like CUDA_VISIBLE_DEVICES means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.telemetry.visible import Listed, visible_devices

BOARDS = [Listed(index, f"GPU-{letter * 8}-0000-4000", "H100") for index, letter in enumerate("abcd")]
TWIN = Listed(4, "GPU-aaaaffff-0000-4000", "H100")
INSTANCES = [
    Listed(1, "MIG-11111111-0000", "H100 MIG", BOARDS[1].uuid),
    Listed(1, "MIG-22222222-0000", "H100 MIG", BOARDS[1].uuid),
]
NODE = [*BOARDS, TWIN, *INSTANCES]
MIXED = [Listed(0, "GPU-a", "H100"), Listed(1, "GPU-b", "A2")]


def uuids(words: str | None) -> list[str | None]:
    return [visible.device.uuid if visible.device else None for visible in visible_devices(words, NODE)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (None, [board.uuid for board in [*BOARDS, TWIN]]),
        ("", []),
        ("  ", []),
        ("2,3", [BOARDS[2].uuid, BOARDS[3].uuid]),
        ("3,2", [BOARDS[3].uuid, BOARDS[2].uuid]),
        (" 3 , 0 ", [BOARDS[3].uuid, BOARDS[0].uuid]),
        (BOARDS[1].uuid, [BOARDS[1].uuid]),
        (BOARDS[1].uuid.upper(), [BOARDS[1].uuid]),
        ("GPU-cc,GPU-b", [BOARDS[2].uuid, BOARDS[1].uuid]),
        ("0,GPU-dddd", [BOARDS[0].uuid, BOARDS[3].uuid]),
        ("MIG-22222222-0000,MIG-1", [INSTANCES[1].uuid, INSTANCES[0].uuid]),
        (f"MIG-{BOARDS[1].uuid}/7/0", [None]),
        ("GPU-aaaa", [None]),
        ("GPU-aaaaf", [TWIN.uuid]),
        ("9", [None]),
        ("-1", [None]),
        ("all", [None]),
        ("1,,2", [BOARDS[1].uuid, None, BOARDS[2].uuid]),
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
    old = Listed(1, f"MIG-{BOARDS[1].uuid}/3/0", "A100 MIG", BOARDS[1].uuid)
    (found,) = visible_devices(old.uuid, [*BOARDS, old])
    assert (found.device, found.problem) == (old, None)


def test_numbers_are_certain_only_where_cuda_counts_as_nvml_does() -> None:
    assert [one.certain for one in visible_devices("0,GPU-b", MIXED)] == [False, True]
    assert [one.certain for one in visible_devices("0,GPU-b", MIXED, "PCI_BUS_ID")] == [True, True]
    assert [one.certain for one in visible_devices(None, MIXED)] == [False, False]
    assert all(one.certain for one in visible_devices("1,0", BOARDS))


@given(st.permutations(range(5)))
def test_every_order_of_all_gpus_is_kept(order: list[int]) -> None:
    found = visible_devices(",".join(map(str, order)), NODE)
    assert [visible.device.index for visible in found if visible.device] == order


@given(st.text(alphabet="0123456789,-GPUMIGabcd/ é", max_size=30))
def test_any_list_gives_an_answer_for_each_word(words: str) -> None:
    found = visible_devices(words, NODE)
    assert len(found) == (len(words.split(",")) if words.strip() else 0)
    assert all(one.device is not None or one.problem is not None for one in found)

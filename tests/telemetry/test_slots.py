"""NVML's GPUs in Ray's order."""

from __future__ import annotations

from placetui.observe.model import DeviceSample, ProcessSample
from placetui.telemetry.visible import Board, by_slot, places_of

GIB = 2**30


def board(index: int, name: str = "H100") -> Board:
    sample = DeviceSample(index, f"GPU-{index}", name, memory_used=index * GIB, memory_total=80 * GIB)
    return Board(index, f"GPU-{index}", name, (sample,))


def divided(index: int) -> Board:
    instances = tuple(
        DeviceSample(
            index, f"MIG-{index}-{part}", "H100 MIG", part * GIB, 20 * GIB, processes=(ProcessSample(100 + part),)
        )
        for part in (1, 2)
    )
    return Board(index, f"GPU-{index}", "H100", instances)


FOUR = [board(index) for index in range(4)]


def read(boards: list[Board], gpus: int, words: str | None) -> list[tuple[int, str | None]]:
    return [(one.index, one.uuid) for one in by_slot(boards, gpus, words, "FASTEST_FIRST")]


def test_without_a_list_they_are_counted_as_nvml_does() -> None:
    devices = by_slot(FOUR, 4, None, "FASTEST_FIRST")
    assert [one.uuid for one in devices] == ["GPU-0", "GPU-1", "GPU-2", "GPU-3"]
    # The very same objects: nothing has to be sent again.
    assert all(one is board.samples[0] for one, board in zip(devices, FOUR, strict=True))
    assert places_of(FOUR, None, "FASTEST_FIRST") == {}


def test_a_list_decides_by_number_and_by_uuid() -> None:
    assert read(FOUR, 2, "3,1") == [(0, "GPU-3"), (1, "GPU-1")]
    assert read(FOUR, 2, "GPU-2,GPU-0") == [(0, "GPU-2"), (1, "GPU-0")]
    assert places_of(FOUR, "3,GPU-1", "FASTEST_FIRST") == {"3": 0, "GPU-3": 0, "GPU-1": 1}


def test_what_ray_counts_and_nvml_does_not_list_is_there_with_the_reason() -> None:
    two = by_slot(FOUR[:1], 2, None, "FASTEST_FIRST")[1]
    assert (two.index, two.memory_used, two.error) == (1, None, "Ray counts it, and NVML lists 1 GPUs")
    nine = by_slot(FOUR, 2, "9,1", "FASTEST_FIRST")
    assert nine[0].error == "Ray counts it, but there is no GPU 9"
    assert nine[1].uuid == "GPU-1"
    assert (nine[1].error or "").startswith("programs do not see it: hidden")


def test_boards_of_several_kinds_without_an_order_are_not_certain() -> None:
    mixed = [board(0), board(1, "A2")]
    assert "it may be another GPU" in (by_slot(mixed, 2, None, "FASTEST_FIRST")[0].error or "")
    assert by_slot(mixed, 2, None, "PCI_BUS_ID")[0].error is None
    assert by_slot(mixed, 1, "GPU-1", "FASTEST_FIRST")[0].error is None


def test_instances_are_gpus_of_their_own_when_ray_was_given_them() -> None:
    boards = [board(0), divided(1)]
    assert read(boards, 2, "MIG-1-2,MIG-1-1") == [(0, "MIG-1-2"), (1, "MIG-1-1")]
    assert places_of(boards, "MIG-1-2,MIG-1-1", "FASTEST_FIRST") == {"MIG-1-2": 0, "MIG-1-1": 1}


def test_a_divided_gpu_that_ray_counts_as_one_is_shown_as_one() -> None:
    whole = by_slot([board(0), divided(1)], 2, None, "FASTEST_FIRST")[1]
    assert (whole.index, whole.uuid, whole.memory_used, whole.memory_total) == (1, "GPU-1", 3 * GIB, 40 * GIB)
    assert [one.pid for one in whole.processes] == [101, 102]
    assert whole.error == "divided by MIG into 2 instances, shown as one"


def test_a_gpu_that_was_lost_before_anything_was_read_keeps_its_place() -> None:
    lost = Board(1, None, None, (DeviceSample(1, error="the GPU is lost", stale=True),))
    devices = by_slot([board(0), lost, board(2)], 3, None, "FASTEST_FIRST")
    assert [(one.uuid, one.stale) for one in devices] == [("GPU-0", False), (None, True), ("GPU-2", False)]

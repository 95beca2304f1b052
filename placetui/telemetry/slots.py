"""The GPUs of a node in the order in which Ray counts them. Pure.

Ray hands out places: place i is the i-th word of the list that it was started with (CUDA_VISIBLE_DEVICES), or the i-th
GPU where there was none. NVML knows nothing of that list, and shows GPUs that are divided by MIG as their instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from placetui.observe.model import DeviceSample
from placetui.telemetry.visible import Listed, Order, Visible, visible_devices


@dataclass(frozen=True, slots=True)
class Board:
    """A GPU as NVML lists it, with what was read of it, or of each of its instances."""

    index: int
    uuid: str | None
    name: str | None
    samples: tuple[DeviceSample, ...]

    @property
    def divided(self) -> bool:
        return len(self.samples) != 1 or self.samples[0].uuid != self.uuid

    @property
    def whole(self) -> DeviceSample:
        """All of it; what instances have in common is not known of them."""
        if not self.divided:
            return self.samples[0]
        first = self.samples[0]
        memory = [(one.memory_used, one.memory_total) for one in self.samples]
        used, total = [one[0] for one in memory], [one[1] for one in memory]
        return replace(
            first,
            uuid=self.uuid,
            name=self.name,
            memory_used=None if None in used else sum(one or 0 for one in used),
            memory_total=None if None in total else sum(one or 0 for one in total),
            processes=tuple(process for one in self.samples for process in one.processes),
            error=f"divided by MIG into {len(self.samples)} instances, shown as one",
        )


def by_slot(boards: Sequence[Board], gpus: int, words: str | None, order: Order) -> tuple[DeviceSample, ...]:
    """The GPUs that Ray counts, in its order, whether NVML knows them or not."""
    slots = visible_devices(words, _listed(boards), order)
    return tuple(_sample(boards, slots[place] if place < len(slots) else None, place) for place in range(gpus))


def places_of(boards: Sequence[Board], words: str | None, order: Order) -> dict[str, int]:
    """By word and by UUID, the place in Ray's count; empty where Ray was started without a list."""
    if words is None:
        return {}
    found: dict[str, int] = {}
    for place, visible in enumerate(visible_devices(words, _listed(boards), order)):
        names = [visible.word, *([visible.device.uuid] if visible.device and visible.device.uuid else [])]
        for name in names:
            found.setdefault(name, place)
    return found


def _listed(boards: Sequence[Board]) -> list[Listed]:
    found = [Listed(board.index, board.uuid or "", board.name or "") for board in boards]
    for board in boards:
        if board.divided and board.uuid:
            found += [Listed(board.index, one.uuid, one.name or "", board.uuid) for one in board.samples if one.uuid]
    return found


def _sample(boards: Sequence[Board], visible: Visible | None, place: int) -> DeviceSample:
    if visible is None:
        return DeviceSample(place, error=f"Ray counts it, and NVML lists {len(boards)} GPUs")
    if visible.device is None:
        return DeviceSample(place, error=f"Ray counts it, but {visible.problem}")
    board = next(one for one in boards if one.index == visible.device.index)
    sample = board.whole
    if visible.device.parent is not None:
        sample = next(one for one in board.samples if one.uuid == visible.device.uuid)
    doubts = [] if visible.problem is None else [f"programs do not see it: {visible.problem}"]
    if not visible.certain:
        doubts.append("it may be another GPU: there are several kinds, and CUDA_DEVICE_ORDER is not set")
    if sample.index == place and not doubts:
        return sample
    return replace(sample, index=place, error="; ".join([*doubts, *([sample.error] if sample.error else [])]) or None)

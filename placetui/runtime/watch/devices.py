"""Which GPU of a node is shown at which index: the order is that of the framework whose plan or job is shown."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from placetui.frameworks.base import DeviceOrder
from placetui.observe.model import DeviceSample
from placetui.telemetry.visible import NOT_COUNTED


@dataclass(frozen=True, slots=True)
class ShownDevices:
    """The GPUs of one node, by the index at which they are shown."""

    positions: tuple[int | None, ...]
    """Of each, its position in Ray's count; None: Ray does not count it."""

    gpu_ids: tuple[int, ...]
    """Of each, its physical id."""

    @classmethod
    def arrange(
        cls, order: DeviceOrder, gpus: int, gpu_ids: tuple[int, ...], owned: Collection[int], others: Iterable[int] = ()
    ) -> ShownDevices:
        """All that Ray counts, with `gpu_ids` in its order (empty: 0, 1, 2 …); by physical id all that the node has,
        else those besides that ranks own. `others` are GPUs that NVML lists besides.
        """
        counted = gpu_ids or tuple(range(gpus))
        places: list[tuple[int, int | None]] = [(gpu, place) for place, gpu in enumerate(counted)]
        beyond = {gpu for gpu in owned if gpu not in counted}
        if order == "physical_id":
            last = max((*counted, *beyond), default=-1)
            beyond = {gpu for gpu in {*others, *range(last + 1)} if gpu not in counted}
            shown = sorted([*places, *((gpu, None) for gpu in beyond)], key=lambda one: one[0])
        else:
            shown = sorted(places, key=lambda one: one[0]) if order == "lowest_id" else places
            shown += [(gpu, None) for gpu in sorted(beyond)]
        return cls(tuple(place for _, place in shown), tuple(gpu for gpu, _ in shown))

    def by_position(self) -> Mapping[int, int]:
        return {place: index for index, place in enumerate(self.positions) if place is not None}

    def by_id(self) -> Mapping[int, int]:
        return {gpu: index for index, gpu in enumerate(self.gpu_ids)}

    def samples(
        self, read: Sequence[DeviceSample], gpus: int, name: str | None = None, reason: str | None = None
    ) -> tuple[DeviceSample, ...]:
        """The GPUs in order. A sampler has `read` them in Ray's order, then those that Ray does not count; one that was
        not read has the name and the reason.
        """
        counted = {one.index: one for one in read if one.index < gpus}
        others = {one.gpu_id: one for one in read if one.index >= gpus}
        found = []
        for index, (place, gpu) in enumerate(zip(self.positions, self.gpu_ids, strict=True)):
            one = others.get(gpu) if place is None else counted.get(place)
            if one is None:
                one = DeviceSample(index, name=name, error=reason)
            physical = None if gpu == index else gpu
            if place is None:
                error = "; ".join(part for part in (NOT_COUNTED, one.error) if part)
                one = replace(one, error=error)
            if (one.index, one.physical) != (index, physical):
                one = replace(one, index=index, physical=physical)
            found.append(one)
        return tuple(found)

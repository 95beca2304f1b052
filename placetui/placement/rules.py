"""From processes and their devices to the shortest rule that gives exactly them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from placetui.placement.ranks import MOST_PROCESSES
from placetui.placement.wording import listing, number_range, ranges


class CannotExpress(Exception):
    """No rule gives these processes; `reason` says why, in a clause."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def shortest_rule(processes: Sequence[Sequence[int]], total: int, *, may_use_all: bool) -> str:
    """The rule that a person would write for these processes, given their devices or nodes as its groups number them.

    `all` must not stand for every one of them where the topology is only assumed: there it means another number of
    devices on the real cluster. Raises `CannotExpress`.
    """
    if not processes:
        raise CannotExpress("this would leave no process")
    if len(processes) > MOST_PROCESSES:
        raise CannotExpress(f"{len(processes)} processes are more than the {MOST_PROCESSES} a component may have")
    pieces: list[str] = []
    rank = 0
    for first, last, number in _segments(_seats(processes, total)):
        resources = "all" if may_use_all and last > first == 0 and last == total - 1 else number_range(first, last)
        same = number == last - first + 1
        pieces.append(resources if same else f"{resources}:{number_range(rank, rank + number - 1)}")
        rank += number
    return ",".join(pieces)


def _seats(processes: Sequence[Sequence[int]], total: int) -> Iterator[tuple[int, int, int]]:
    """(first resource, resources per process, processes on them), ascending and apart from each other."""
    end = 0
    rank = 0
    for resources, together in groupby(processes, key=tuple):
        width, number = len(resources), len(list(together))
        if not width:
            raise CannotExpress(f"rank {rank} would have no device")
        first = resources[0]
        if resources != tuple(range(first, first + width)):
            raise CannotExpress(f"the devices of rank {rank} are not adjacent: {listing(resources)}")
        if first < 0 or first + width > total:
            beyond = first if first < 0 or first >= total else total
            raise CannotExpress(f"number {beyond} does not exist: there are {total}")
        if number > 1 < width:
            raise CannotExpress(
                f"ranks {rank} and {rank + 1} would share devices {listing(resources)}; "
                "several processes share a device only when each has no other"
            )
        if first < end:
            raise CannotExpress(_overlap(processes, rank, first))
        yield first, width, number
        end = first + width
        rank += number


def _overlap(processes: Sequence[Sequence[int]], rank: int, first: int) -> str:
    before = processes[rank - 1]
    if first > before[0]:
        return f"ranks {rank - 1} and {rank} would share device {first}, and not all of their devices"
    return f"ranks would be out of order: rank {rank} on {first}, after rank {rank - 1} on {ranges(before)}"


def _segments(seats: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """(first resource, last resource, processes) of the fewest segments: neighbours of one shape become one."""
    current: tuple[int, int, int] | None = None
    shape = (0, 0)
    for first, width, number in seats:
        if current is not None and first == current[1] + 1 and shape == (width, number):
            current = current[0], first + width - 1, current[2] + number
            continue
        if current is not None:
            yield current
        current, shape = (first, first + width - 1, number), (width, number)
    if current is not None:
        yield current

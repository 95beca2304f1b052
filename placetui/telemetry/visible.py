"""Which GPUs a list like CUDA_VISIBLE_DEVICES means: pure, so that a table of cases can hold it.

Ray takes the list of a node word by word: its GPU i is the i-th word, whatever that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from placetui.observe.model import DeviceSample

Order: TypeAlias = Literal["PCI_BUS_ID", "FASTEST_FIRST"]
"""Values of CUDA_DEVICE_ORDER; the second one is what applies when it is not set."""


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


@dataclass(frozen=True, slots=True)
class Visible:
    """What one word of the list means."""

    word: str
    board: Board | None = None
    instance: str | None = None
    """UUID of the instance of that board, where one is meant."""

    certain: bool = True
    """False where CUDA may count the GPUs in another order than NVML."""

    problem: str | None = None
    """Why no program will see it."""

    @property
    def uuid(self) -> str | None:
        return self.instance or (self.board.uuid if self.board else None)


def visible_devices(words: str | None, boards: Sequence[Board], order: Order = "FASTEST_FIRST") -> tuple[Visible, ...]:
    """The GPUs of a list in its order; all of them where there is no list.

    As in CUDA, a word that means nothing hides all that come after it; those are given nevertheless, with the problem,
    since Ray counts them.
    """
    # Boards of one kind are counted along the bus in any case.
    certain = order == "PCI_BUS_ID" or len({board.name for board in boards}) < 2
    if words is None:
        return tuple(Visible(str(board.index), board, certain=certain) for board in boards)
    found: list[Visible] = []
    broken: str | None = None
    for word in map(str.strip, words.split(",") if words.strip() else []):
        board, instance, problem = _meant(word, boards)
        if board is not None and any((board, instance) == (other.board, other.instance) for other in found):
            problem = f"{word} is in the list twice"
        by_number = board is not None and word.isdigit()
        after = f"hidden, because it comes after `{broken}`" if broken is not None else None
        found.append(Visible(word, board, instance, certain or not by_number, problem or after))
        if problem and broken is None:
            broken = word
    return tuple(found)


def _meant(word: str, boards: Sequence[Board]) -> tuple[Board | None, str | None, str | None]:
    """The board, and its instance if that is meant; or the problem."""
    if word.isascii() and word.isdigit():
        board = next((one for one in boards if one.index == int(word)), None)
        return board, None, None if board else f"there is no GPU {word}"
    if word.upper().startswith(("GPU-", "MIG-")):
        known: list[tuple[Board, str | None]] = [(board, None) for board in boards]
        known += [(board, one.uuid) for board in boards if board.divided for one in board.samples]
        matches = [one for one in known if (one[1] or one[0].uuid or "").lower().startswith(word.lower())]
        if len(matches) == 1:
            return *matches[0], None
        return None, None, f"{len(matches)} GPUs begin with {word}" if matches else f"there is no {word}"
    return None, None, f"`{word}` is neither a number nor a UUID"


def by_slot(boards: Sequence[Board], gpus: int, words: str | None, order: Order) -> tuple[DeviceSample, ...]:
    """The GPUs that Ray counts, in its order, whether NVML knows them or not."""
    slots = visible_devices(words, boards, order)
    return tuple(_sample(boards, slots[place] if place < len(slots) else None, place) for place in range(gpus))


NOT_COUNTED = "Ray does not count this GPU, so no job gets it"


def not_counted(boards: Sequence[Board], gpus: int, words: str | None, order: Order) -> tuple[DeviceSample, ...]:
    """The other GPUs of the node, by their physical id, numbered behind those that Ray counts."""
    slots = visible_devices(words, boards, order)[:gpus]
    counted = {slot.board.index for slot in slots if slot.board is not None}
    others = [board for board in boards if board.index not in counted]
    return tuple(replace(board.whole, index=gpus + place, physical=board.index) for place, board in enumerate(others))


def places_of(boards: Sequence[Board], words: str | None, order: Order) -> dict[str, int]:
    """By word and by UUID, the place in Ray's count; empty where Ray was started without a list."""
    if words is None:
        return {}
    found: dict[str, int] = {}
    for place, visible in enumerate(visible_devices(words, boards, order)):
        for name in filter(None, (visible.word, visible.uuid)):
            found.setdefault(name, place)
    return found


def _sample(boards: Sequence[Board], visible: Visible | None, place: int) -> DeviceSample:
    if visible is None:
        return DeviceSample(place, error=f"Ray counts it, and NVML lists {len(boards)} GPUs")
    board = visible.board
    if board is None:
        return DeviceSample(place, error=f"Ray counts it, but {visible.problem}")
    sample = board.whole
    if visible.instance is not None:
        sample = next(one for one in board.samples if one.uuid == visible.instance)
    doubts = [] if visible.problem is None else [f"programs do not see it: {visible.problem}"]
    if not visible.certain:
        doubts.append("it may be another GPU: there are several kinds, and CUDA_DEVICE_ORDER is not set")
    if sample.index == place and not doubts:
        return sample
    physical = None if board.index == place else board.index
    return replace(
        sample,
        index=place,
        physical=physical,
        error="; ".join([*doubts, *([sample.error] if sample.error else [])]) or None,
    )

"""Which GPUs a list like CUDA_VISIBLE_DEVICES means: pure, so that a table of cases can hold it.

Ray takes the list of a node word by word: its GPU i is the i-th word, whatever that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Order: TypeAlias = Literal["PCI_BUS_ID", "FASTEST_FIRST"]
"""Values of CUDA_DEVICE_ORDER; the second one is what applies when it is not set."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A GPU as NVML lists it, or a MIG instance of one."""

    index: int
    """Of the GPU, in NVML's order, which is that of the PCI bus."""

    uuid: str
    name: str = ""
    parent: str | None = None
    """UUID of the GPU that an instance is part of."""

    gpu_instance: int | None = None
    compute_instance: int | None = None


@dataclass(frozen=True, slots=True)
class Visible:
    """What one word of the list means."""

    word: str
    device: Listed | None = None
    certain: bool = True
    """False where CUDA may count the GPUs in another order than NVML."""

    problem: str | None = None
    """Why no program will see it."""


def visible_devices(words: str | None, listed: Sequence[Listed], order: Order = "FASTEST_FIRST") -> tuple[Visible, ...]:
    """The GPUs of a list in its order; all of them where there is no list.

    As in CUDA, a word that means nothing hides all that come after it; those are given nevertheless, with the problem,
    since Ray counts them.
    """
    boards = [device for device in listed if device.parent is None]
    # Boards of one kind are counted along the bus in any case.
    certain = order == "PCI_BUS_ID" or len({board.name for board in boards}) < 2
    if words is None:
        return tuple(Visible(str(board.index), board, certain) for board in boards)
    found: list[Visible] = []
    broken: str | None = None
    for word in words.split(",") if words.strip() else []:
        device, problem = _meant(word.strip(), listed)
        if device is not None and any(device == other.device for other in found):
            problem = f"{word.strip()} is in the list twice"
        by_number = device is not None and word.strip().isdigit()
        after = f"hidden, because it comes after `{broken}`" if broken is not None else None
        found.append(Visible(word.strip(), device, certain or not by_number, problem or after))
        if problem and broken is None:
            broken = word.strip()
    return tuple(found)


def _meant(word: str, listed: Sequence[Listed]) -> tuple[Listed | None, str | None]:
    """The device and no problem, or the other way round."""
    if word.isascii() and word.isdigit():
        matches = [device for device in listed if device.parent is None and device.index == int(word)]
        return (matches[0], None) if matches else (None, f"there is no GPU {word}")
    if word.upper().startswith("MIG-GPU-"):
        return _old_instance(word, listed)
    if word.upper().startswith(("GPU-", "MIG-")):
        matches = [device for device in listed if device.uuid.lower().startswith(word.lower())]
        if len(matches) == 1:
            return matches[0], None
        return None, f"{len(matches)} GPUs begin with {word}" if matches else f"there is no {word}"
    return None, f"`{word}` is neither a number nor a UUID"


def _old_instance(word: str, listed: Sequence[Listed]) -> tuple[Listed | None, str | None]:
    """`MIG-GPU-<uuid>/<gpu instance>/<compute instance>`, as drivers before 470 had it."""
    uuid, _, numbers = word[len("MIG-") :].partition("/")
    for device in listed:
        named = (device.parent or "").lower() == uuid.lower() and numbers == (
            f"{device.gpu_instance}/{device.compute_instance}"
        )
        # Those drivers call it so themselves.
        if named or device.uuid.lower() == word.lower():
            return device, None
    return None, f"there is no {word}"

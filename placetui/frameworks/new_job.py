"""What a new file is made from: a layout and sizes, or a command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from placetui.masking import mask_secrets
from placetui.placement.edits import Refusal
from placetui.placement.wording import count

Layout: TypeAlias = Literal["collocated", "disaggregated"]

ADVICE: dict[Layout, str] = {
    "collocated": (
        "Choose collocated if you have few GPUs or want a simple setup, and rollout is light or its latency does not "
        "matter. Training and rollout then take turns on each GPU."
    ),
    "disaggregated": (
        "Choose disaggregated if rollout is heavy or needs steady latency and throughput, and you have enough GPUs. "
        "It also isolates the pools, and asynchronous training needs it."
    ),
}
"""When each is the better choice, in two sentences."""


@dataclass(frozen=True, slots=True)
class JobSize:
    """How large a new job is to be."""

    nodes: int = 1
    gpus_per_node: int = 8
    training: int | None = None
    """GPUs for training when disaggregated; None for half of them."""

    per_engine: int = 1
    """GPUs of one rollout process."""

    def split(self, layout: Layout) -> tuple[int, int]:
        """GPUs of training and of rollout."""
        total = self.nodes * self.gpus_per_node
        if layout == "collocated":
            return total, total
        training = total // 2 if self.training is None else self.training
        return training, total - training

    def misfit(self, layout: Layout, *, spans_nodes: bool) -> Refusal | None:
        """Why rollout processes of this size do not fit, if they do not."""
        training, rollout = self.split(layout)
        each, node = self.per_engine, self.gpus_per_node
        first = self.nodes * node - rollout
        reason = ""
        if self.nodes < 1 or node < 1 or training < 1 or rollout < 1 or each < 1:
            total = count(max(self.nodes * node, 0), "GPU")
            return Refusal(f"{total} cannot be divided between training and rollout", "choose larger sizes")
        if rollout % each:
            reason = f"{count(rollout, 'rollout GPU')} cannot be divided into processes of {each}"
        elif spans_nodes and each > node:
            if each % node or first % node:
                reason = f"an engine of {each} GPUs does not fill whole nodes"
        else:
            starts = range(first, first + rollout, each)
            crossing = [start for start in starts if start // node != (start + each - 1) // node]
            if crossing:
                reason = f"a rollout process on GPUs {crossing[0]} and up would cross from one node to the next"
        hint = "choose GPUs per rollout process that divide those of a node and of rollout"
        return Refusal(reason, hint) if reason else None


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file made from a command line; secrets of the command line are masked in it."""

    text: str
    notes: tuple[str, ...] = ()
    """What the author should know, in sentences."""

    questions: tuple[str, ...] = ()
    """What decides the placement and cannot be known; the file has a placeholder there, or leaves it out."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", mask_secrets(self.text))
        object.__setattr__(self, "notes", tuple(map(mask_secrets, self.notes)))
        object.__setattr__(self, "questions", tuple(map(mask_secrets, self.questions)))


@dataclass(frozen=True, slots=True)
class ScriptContext:
    """What is known around a launch script."""

    variables: Mapping[str, str] = field(default_factory=dict)
    """Values that variables have, whatever the script assigns; `1`, `2`, … are arguments of the script."""

    load: Callable[[str], str | None] | None = None
    """Gives the text of a file that the script sources, None if it is not there."""

    path: str = ""
    """Of the script; empty if it has none."""

    @property
    def parameters(self) -> list[str] | None:
        """Arguments of the script; None if none is given."""
        given = {int(name): value for name, value in self.variables.items() if name.isdecimal()}
        return [given.get(number, "") for number in range(1, max(given) + 1)] if given else None

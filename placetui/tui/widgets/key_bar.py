"""The bottom line: what it is about, then the keys that are useful now. One widget, not one per key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from placetui.tui.actions import BY_ID, Context, availability, footer, is_named, key_names

ROOMY = 100
"""Columns from which keys are a column apart."""


@dataclass(frozen=True, slots=True)
class Chip:
    """What the keys are about: `W10 ✗`, `EDIT rollout`."""

    text: str = ""
    style: RichStyle = field(default_factory=RichStyle.null)


class KeyHint(NamedTuple):
    """A key as the bottom line names it."""

    key: str
    label: str
    action: str = ""
    """What a click does; empty: nothing."""

    ready: bool = True

    @property
    def width(self) -> int:
        return cell_len(self.key) + cell_len(self.label) + 4 if self.key else 2


def pressed(key: str, label: str) -> KeyHint:
    """A key that a click presses."""
    return KeyHint(key, label, f"app.simulate_key({key!r})")


DIVIDER = KeyHint("", "")


class KeyBar(Widget):
    """Keys and labels of the actions that are useful in a view; a click does what the key does."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"key-bar--{name}" for name in ("key", "label", "disabled", "divider", "chip")
    }

    context: reactive[Context] = reactive(Context("grid"))
    chip: reactive[Chip] = reactive(Chip())
    hints: reactive[Sequence[KeyHint] | None] = reactive(None)
    """Keys of something that is no view, as a dialog; None: those of the view."""

    def __init__(self, rebound: Mapping[str, str], ascii: bool) -> None:
        super().__init__()
        self._rebound = rebound
        self._ascii = ascii

    def _entries(self) -> Iterator[tuple[int, KeyHint]]:
        """Keys and their positions, as far as there is room; the rightmost are dropped first, and none is cut."""
        *shown, last = self.hints or list(self._of_view())
        x, gap = cell_len(self.chip.text) + 3 if self.chip.text else 0, self.size.width >= ROOMY
        end = self.size.width - last.width
        for number, hint in enumerate(shown):
            # A divider with nothing behind it divides nothing.
            following = shown[number + 1].width + gap if not hint.key and number + 1 < len(shown) else 0
            if x + hint.width + gap + following > end:
                break
            yield x, hint
            x += hint.width + gap
        if x <= end:
            yield end, last

    def _of_view(self) -> Iterator[KeyHint]:
        view = self.context.view
        for number, group in enumerate(footer(self.context)):
            hints = []
            for names, label in group:
                actions = [BY_ID[name] for name in names.split("+")]
                if is_named(actions[0], self.context):
                    keys = " ".join(self._key(action.id) for action in actions)
                    ready = bool(availability(actions[0], self.context))
                    hints.append(KeyHint(keys, label or actions[0].label_in(view), actions[0].id, ready))
            if number and hints and label != "keys":
                yield DIVIDER
            yield from hints

    def _key(self, name: str) -> str:
        names = list(key_names(BY_ID[name], self._rebound, self._ascii))
        if self.context.view == "text":  # letters go into the text
            return next((name for name in names if len(name) > 1), names[0])
        return min(names, key=len)

    def render_line(self, y: int) -> Strip:
        """All in one line, painted by itself: it changes with every step of the cursor."""
        look = {name.removeprefix("key-bar--"): self.get_component_rich_style(name) for name in self.COMPONENT_CLASSES}
        base = self.visual_style.rich_style
        segments: list[Segment] = []
        if self.chip.text:
            segments.append(Segment(f" {self.chip.text} ", look["chip"] + self.chip.style))
        end = sum(segment.cell_length for segment in segments)
        for x, hint in self._entries():
            segments.append(Segment(" " * (x - end), base))
            if not hint.key:
                segments.append(Segment("| " if self._ascii else "│ ", look["divider"]))
                end = x + 2
                continue
            segments.append(Segment(f" {hint.key} ", look["key" if hint.ready else "disabled"]))
            segments.append(Segment(f" {hint.label} ", look["label" if hint.ready else "disabled"]))
            end = x + hint.width
        return Strip(segments).crop_extend(0, self.size.width, base)

    async def on_click(self, event: events.Click) -> None:
        """Do what is written under the mouse."""
        for x, hint in self._entries():
            if x <= event.x < x + hint.width and hint.action:
                await self.run_action(hint.action if "(" in hint.action else f"app.act({hint.action!r})")
                return

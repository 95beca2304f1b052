"""The side bar: components, problems, legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.text import Text
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from placetui.grid import Drawing, Identity, Style, cell_width, clean, share_figure
from placetui.placement.plan import Component, Plan
from placetui.placement.problems import Problem, count
from placetui.tui.content import text_of_lines
from placetui.tui.themes import GridPalette


class ComponentList(OptionList):
    """Each component: letter, rule, world size, strategy, share, devices and nodes."""

    @dataclass
    class Chosen(Message):
        """The user wants all ranks of a component to stand out."""

        component: str | None

    def show(
        self,
        plan: Plan,
        marks: Mapping[str, Identity],
        palette: GridPalette,
        ascii: bool,
        chosen: str | None,
        width: int,
    ) -> None:
        """Fill the list; no line is wider than `width`."""
        self._names = list(plan.components)
        column = min(12, max((cell_width(clean(name, ascii)) for name in self._names), default=4))
        highlighted = self.highlighted
        entries: list[Text] = []
        for name, component in plan.components.items():
            lines = _component(component, marks[name], palette, ascii, column, name == chosen)
            for line in lines:
                line.truncate(width, overflow="crop" if ascii else "ellipsis")
            entries.append(Text("\n").join(lines))
        if len(entries) == self.option_count:
            # The same number of lines needs no new layout.
            for index, entry in enumerate(entries):
                if not _same(self.options[index].prompt, entry):
                    self.replace_option_prompt_at_index(index, entry)
            return
        self.set_options(Option(entry) for entry in entries)
        self.highlighted = highlighted if highlighted is not None and highlighted < len(self._names) else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Chosen(self._names[event.option_index]))


def _component(
    component: Component, mark: Identity, palette: GridPalette, ascii: bool, column: int, chosen: bool
) -> tuple[Text, Text]:
    hue = palette.rich_style(Style("component", mark.index, bold=True))
    muted = palette.rich_style(Style("muted"))
    share = "" if component.share is None else share_figure(component.share)
    first = Text(no_wrap=True)
    first.append(f"{'>' if chosen and ascii else '▌' if chosen else ' '}{mark.mark} ", hue)
    name = Text(clean(component.name, ascii))
    name.truncate(column, pad=True)
    first.append_text(name)
    first.append(f" {share:>4} ", palette.rich_style(Style("share")))
    first.append(f"{clean(component.rule.text.strip(), ascii)}, {component.strategy}", muted)
    held = f" on {count(component.num_devices, 'device')}," if component.num_devices else " on"
    nodes = count(component.num_nodes, "node")
    second = Text(f"   {count(component.world_size, 'rank')}{held} {nodes}", muted, no_wrap=True)
    return first, second


class ProblemList(OptionList):
    """All problems of the file; choosing one shows its place."""

    @dataclass
    class Chosen(Message):
        """The user wants to see where a problem is."""

        problem: Problem

    def show(self, problems: Sequence[Problem], palette: GridPalette, ascii: bool) -> None:
        """Fill the list."""
        self._problems = list(problems)
        texts = [_problem(problem, palette, ascii) for problem in self._problems]
        before = [option.prompt for option in self.options]
        if len(before) != len(texts) or not all(map(_same, before, texts)):
            self.set_options(Option(text) for text in texts)

    @property
    def problems(self) -> list[Problem]:
        """What is listed."""
        return getattr(self, "_problems", [])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Chosen(self._problems[event.option_index]))


def _problem(problem: Problem, palette: GridPalette, ascii: bool) -> Text:
    role = palette.rich_style(Style("error" if problem.severity == "error" else "warning", bold=True))
    muted = palette.rich_style(Style("muted"))
    place = f"{problem.line}:{problem.column} " if problem.line else ""
    text = Text()
    text.append(
        "x "
        if ascii and problem.severity == "error"
        else "! "
        if ascii
        else "✗ "
        if problem.severity == "error"
        else "▲ ",
        role,
    )
    text.append(place, muted)
    text.append(problem.rule, role)
    text.append(f"\n{clean(problem.message, ascii)}")
    if problem.hint:
        text.append(f"\n{clean(problem.hint, ascii)}", muted)
    return text


def _same(old: object, new: Text) -> bool:
    return isinstance(old, Text) and old.plain == new.plain and old.spans == new.spans


class LegendPanel(Static):
    """What the marks of the grid mean."""

    def show(self, drawing: Drawing, palette: GridPalette, width: int) -> None:
        """Write the legend."""
        text = text_of_lines(drawing.key(width), palette)
        if not _same(self.content, text):
            self.update(text)

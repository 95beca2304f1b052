"""The command palette: each command in one line, and its keys in the bottom line."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, ProviderSource
from textual.content import Content
from textual.system_commands import SystemCommandsProvider

from placetui.tui.widgets.key_bar import Chip, KeyBar, pressed

GAP = 3
"""Columns between a command and what it does."""

ROOM_FOR_BOTH = 60
"""Columns of a terminal from which there is room for what a command does."""


class CommandProvider(SystemCommandsProvider):
    """Name, key and what a command does beside each other; a search finds words of both."""

    def _commands(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        """Names of one width, what they do, and how to do it."""
        commands = sorted(self.app.get_system_commands(self.screen), key=lambda one: one.title)
        width = max((cell_len(one.title) for one in commands), default=0) + GAP
        for one in commands:
            yield one.title + " " * (width - cell_len(one.title)), one.help, one.callback

    async def discover(self) -> Hits:
        roomy = self.app.size.width >= ROOM_FOR_BOTH
        for name, does, run in self._commands():
            yield DiscoveryHit(Content.assemble((name, "bold"), (does * roomy, "$grid-muted")), run, name)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, does, run in self._commands():
            words = name + does
            if (score := matcher.match(words)) > 0:
                yield Hit(score, matcher.highlight(words), run, name)


class SearchPalette(CommandPalette):
    """Textual's, with a bottom line of its own."""

    def __init__(self, chip: str, providers: ProviderSource | None = None, *, placeholder: str, ascii: bool) -> None:
        super().__init__(providers, placeholder=placeholder)
        self._chip = chip
        self._ascii = ascii

    def compose(self) -> ComposeResult:
        yield from super().compose()
        bar = KeyBar({}, self._ascii)
        bar.chip = Chip(self._chip)
        bar.hints = (pressed("enter", "choose"), pressed("escape", "cancel"))
        yield bar

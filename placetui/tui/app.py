"""The dashboard: owns what is open, what is tried, and the link to the cluster."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import LineFilter, NoColor
from textual.message import Message
from textual.screen import Screen

from placetui.document import DocumentError, Wishes
from placetui.grid import Density
from placetui.observe.ports import ClusterSource, Status, Update
from placetui.placement.layouts import ADVICE, Layout, arrange
from placetui.placement.plan import Plan
from placetui.placement.problems import Problem
from placetui.placement.topology import Node
from placetui.tui.actions import ACTIONS, bindings
from placetui.tui.ascii_mode import AsciiFilter, key_in_words
from placetui.tui.live import LinkChanged, Observed
from placetui.tui.screens.ask import AskScreen
from placetui.tui.screens.help import HelpScreen
from placetui.tui.screens.main import MainScreen
from placetui.tui.screens.picker import Choice, PickerScreen
from placetui.tui.screens.what_if import WhatIf, WhatIfScreen
from placetui.tui.session import Session
from placetui.tui.themes import DEFAULT_THEME, GridPalette, load_themes, notice, variable_defaults
from placetui.tui.watch import FileWatch

SLOWEST, FASTEST = 30.0, 0.2
"""Seconds between observations."""


@dataclass
class Planned(Message):
    """A session was made in the background."""

    session: Session
    number: int
    """Only the newest counts."""


@dataclass
class FileChanged(Message):
    """The file on disk is another one."""


@dataclass(frozen=True)
class Options:
    """What the command line and the configuration ask for."""

    theme: str | None = None
    density: Density = "full"
    ascii: bool = False
    color: bool = True
    keys: Mapping[str, str] = field(default_factory=dict)
    interval: float = 1.0
    user_themes: Path = Path("themes")
    """Where the user's own themes are; need not exist."""

    choices: Sequence[Choice] = ()
    notices: Sequence[Problem] = ()
    remember: Callable[[str, Any], None] = lambda _key, _value: None
    """Keeps something for the next start."""

    source_for: Callable[[Plan], ClusterSource] | None = None
    """Opens a live picture of the cluster for a plan."""


class Dashboard(App[int]):
    """`placetui FILE`."""

    TITLE = "placetui"
    CSS_PATH = "placetui.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]  # noqa: RUF012 - as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (16, "-short"), (30, "-tall")]  # noqa: RUF012
    ENABLE_COMMAND_PALETTE = True

    def __init__(self, session: Session | None, options: Options) -> None:
        self.session = session
        self.options = options
        self.source: ClusterSource | None = None
        self._watch: FileWatch | None = None
        self._planning = 0
        self._layout: Layout | None = None
        self._themes, problems = load_themes(options.user_themes)
        self._notices = [*options.notices, *problems]
        super().__init__(ansi_color=None if options.color else True)
        self.no_color = self.no_color or not options.color
        self._plain: list[LineFilter] = [NoColor()] if self.no_color else []
        if options.ascii:
            self._plain.append(AsciiFilter())
        for theme in self._themes:
            self.register_theme(theme)

    # Start and end

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What every line of every screen passes through: no colour or nothing but ASCII, where that is asked for."""
        return [*super().get_line_filters(), *self._plain]

    def get_key_display(self, binding: Binding) -> str:
        """A key in the footer."""
        shown = super().get_key_display(binding)
        return key_in_words(shown) if self.options.ascii else shown

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours of the grid for themes that do not name them."""
        return variable_defaults(self.current_theme)

    def on_mount(self) -> None:
        self._choose_theme()
        self.theme_changed_signal.subscribe(self, lambda _theme: self._theme_changed())
        if self.options.keys:
            self.set_keymap(self.options.keys)
        if self._notices:
            self.notify(notice(self._notices), severity="warning", timeout=10, markup=False)
        if self.session is None:
            self.action_open()
        else:
            self._show(self.session)

    def _choose_theme(self) -> None:
        wanted = self.options.theme or DEFAULT_THEME
        if wanted not in self.available_themes:
            self.notify(f"there is no theme {wanted!r}", severity="warning", markup=False)
            wanted = DEFAULT_THEME
        self.theme = wanted

    @property
    def palette(self) -> GridPalette:
        return GridPalette(self.theme_variables, color=self.options.color)

    def _theme_changed(self) -> None:
        if self.main is not None:
            self.main.use_palette(self.palette)
        self.options.remember("theme", self.theme)

    @property
    def main(self) -> MainScreen | None:
        return next((screen for screen in self.screen_stack if isinstance(screen, MainScreen)), None)

    def _show(self, session: Session) -> None:
        """Open a session on the main screen, watch its file and its cluster."""
        self.session = session
        self._layout = None
        main = MainScreen(
            session,
            density=self.options.density,
            ascii=self.options.ascii,
            palette=self.palette,
            rebound=self.options.keys,
        )
        if self.main is None:
            self.push_screen(main)
        else:
            self.switch_screen(main)
        if self._watch is not None:
            self._watch.close()
        self._watch = FileWatch(session.file, self._file_changed)
        self._connect(session.plan)

    def on_unmount(self) -> None:
        if self._watch is not None:
            self._watch.close()
        if self.source is not None:
            self.source.close()

    def _connect(self, plan: Plan) -> None:
        old, self.source = self.source, None
        if old is not None:
            threading.Thread(target=old.close, name="close source", daemon=True).start()
        if self.options.source_for is not None and plan.nodes:
            self.source = self.options.source_for(plan)
            self.source.start(_Subscriber(self))
            self.source.set_interval(self.options.interval)

    # Planning happens in the background, so that no key ever waits for it

    def _plan(self, make: Callable[[], Session]) -> None:
        self._planning += 1
        number = self._planning

        def work() -> None:
            self.post_message(Planned(make(), number))

        # A daemon thread: reading a file can hang, and must not keep the program from ending.
        threading.Thread(target=work, name="planning", daemon=True).start()

    def _file_changed(self) -> None:
        """Called from the watching thread."""
        self.post_message(FileChanged())

    def on_file_changed(self) -> None:
        if self.session is not None:
            self._plan(self.session.reread)

    def on_planned(self, event: Planned) -> None:
        if event.number != self._planning:
            return
        other_plan = self.session is None or event.session.plan is not self.session.plan
        self.session = event.session
        if self.main is not None:
            if other_plan:
                self.main.observation = None
            self.main.show_session(event.session)
        if other_plan:
            self._connect(event.session.plan)

    # Live

    def on_observed(self, event: Observed) -> None:
        if self.main is not None:
            self.main.show_observation(event.update.observation)
            self._say_live()

    def on_link_changed(self, event: LinkChanged) -> None:
        if self.main is None:
            return
        if event.status.link in ("connected", "starting"):
            self._say_live()
        else:
            self.main.show_live_words(f"{event.status.link}: {event.status.message}".strip(": "), ok=False)

    def _say_live(self) -> None:
        source, main = self.source, self.main
        if source is None or main is None:
            return
        rest = "paused" if source.paused else f"every {source.interval:g} s"
        main.show_live_words(f"{source.name}, {rest}", ok=True)

    def action_pause(self) -> None:
        if self._has_source() and self.source is not None:
            self.source.set_paused(not self.source.paused)
            self._say_live()

    def action_faster(self) -> None:
        self._change_interval(0.5)

    def action_slower(self) -> None:
        self._change_interval(2)

    def _change_interval(self, factor: float) -> None:
        if self._has_source() and self.source is not None:
            self.source.set_interval(min(SLOWEST, max(FASTEST, self.source.interval * factor)))
            self._say_live()

    def _has_source(self) -> bool:
        if self.source is None:
            self.notify("there is no live picture: no cluster is attached", markup=False)
        return self.source is not None

    # What the user does

    def action_what_if(self) -> None:
        session = self.session
        if session is None or not session.plan.nodes:
            return
        plan = session.plan
        now = WhatIf(len(plan.nodes), max(node.gpus for node in plan.nodes), session.wishes.mode, self._layout)
        self.push_screen(WhatIfScreen(now, modes=plan.mode != "slime"), self._tried)

    def _tried(self, wanted: WhatIf | None) -> None:
        session = self.session
        if wanted is None or session is None:
            return
        nodes = session.plan.nodes
        same = wanted.nodes == len(nodes) and wanted.gpus == max(node.gpus for node in nodes)
        wishes = replace(session.wishes, mode=wanted.mode, overrides=session.asked.overrides)
        if not same:
            wishes = replace(wishes, nodes=(Node(wanted.gpus),) * wanted.nodes, topology_source="flag")
        rearranged = wanted.layout is not None and wanted.layout != self._layout
        self._layout = wanted.layout
        if rearranged and wanted.layout is not None:
            self.notify(ADVICE[wanted.layout], title=wanted.layout, timeout=12, markup=False)
        self._plan(lambda: _rearranged(session, wishes, wanted.layout, wanted.nodes))

    def action_reload(self) -> None:
        if self.session is not None:
            self._layout = None
            session = replace(self.session, wishes=self.session.asked)
            self._plan(session.reread)

    def action_export(self) -> None:
        if self.session is not None and self.main is not None:
            stem = os.path.splitext(os.path.basename(self.session.file))[0] or "grid"
            self.push_screen(
                AskScreen("export", "File name; .svg draws a picture, anything else text.", f"{stem}.svg"), self._export
            )

    def _export(self, name: str | None) -> None:
        if name is None or self.main is None:
            return
        path = os.path.expanduser(name)
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(self.main.exported(path.endswith(".svg")))
        except FileExistsError:
            self.notify(f"{name} is there already: choose another name", severity="error", markup=False)
        except OSError as error:
            self.notify(f"{name} cannot be written: {error.strerror}", severity="error", markup=False)
        else:
            self.notify(f"saved {name}", markup=False)

    def action_open(self) -> None:
        self.push_screen(PickerScreen(self.options.choices, self.options.ascii), self._opened)

    def _opened(self, file: str | None) -> None:
        if file is None:
            if self.session is None:
                self.exit(0)
            return
        try:
            session = Session.open(file, Wishes())
        except DocumentError as error:
            self.notify(error.problems[0].message, severity="error", markup=False)
            self.call_later(self.action_open)
            return
        self.options.remember("recent", os.path.abspath(file))
        self._show(session)

    def action_next_theme(self) -> None:
        names = [theme.name for theme in self._themes] or list(self.available_themes)
        self.theme = names[(names.index(self.theme) + 1) % len(names) if self.theme in names else 0]
        self.notify(f"theme {self.theme}", timeout=2, markup=False)

    def action_help(self) -> None:
        self.push_screen(HelpScreen(self.options.keys, self.options.ascii))

    def action_interrupt(self) -> None:
        self._leave()

    async def action_quit(self) -> None:
        self._leave()

    def _leave(self) -> None:
        """End, and remember how the grid was looked at."""
        if self.main is not None:
            self.options.remember("density", self.main.view.density)
        self.exit(0)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The command palette: our actions, and the themes."""
        owners = {"app": self, "screen": screen, "grid": getattr(screen, "grid", None)}
        for action in ACTIONS:
            owner = owners[action.scope]
            method = getattr(owner, f"action_{action.id}", None)
            if action.palette and method is not None:
                yield SystemCommand(action.label, action.help, method)
        for name in self.available_themes:
            yield SystemCommand(f"theme {name}", "Change the colours.", lambda name=name: setattr(self, "theme", name))


@dataclass(frozen=True, slots=True)
class _Subscriber:
    """Posts what a source says; called from the source's thread."""

    app: Dashboard

    def updated(self, update: Update) -> None:
        self.app.post_message(Observed(update))

    def status_changed(self, status: Status) -> None:
        self.app.post_message(LinkChanged(status))


def _rearranged(session: Session, wishes: Wishes, layout: Layout | None, nodes: int) -> Session:
    """The session under other wishes; a topology of another size also changes the file's number of nodes."""
    overrides: list[Any] = list(wishes.overrides)
    if session.plan.mode != "slime" and wishes.nodes is not None:
        overrides.append((("cluster", "num_nodes"), nodes))
    plain = session.wish(replace(wishes, overrides=tuple(overrides)))
    if layout is None:
        return plain
    return session.wish(replace(wishes, overrides=(*overrides, *arrange(plain.plan, layout))))

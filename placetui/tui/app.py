"""The dashboard: owns what is open, what is tried, and the link to the cluster."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from textual.app import SystemCommand
from textual.binding import BindingType
from textual.filter import LineFilter, NoColor
from textual.message import Message
from textual.notifications import Notify, SeverityLevel
from textual.screen import Screen
from textual.timer import Timer

from placetui.placement.layouts import ADVICE, Layout
from placetui.placement.topology import Node
from placetui.tui.actions import ACTIONS, bindings
from placetui.tui.ascii_mode import AsciiFilter
from placetui.tui.editing import Editor
from placetui.tui.endings import Endings
from placetui.tui.file_actions import Options
from placetui.tui.live_actions import LiveActions
from placetui.tui.safe_filter import SafeFilter
from placetui.tui.screens.help import HelpScreen
from placetui.tui.screens.main import MainScreen
from placetui.tui.screens.what_if import WhatIf, WhatIfScreen
from placetui.tui.session import Session, arranged
from placetui.tui.themes import DEFAULT_THEME, GridPalette, load_themes, notice, variable_defaults
from placetui.tui.toasts import Notice
from placetui.tui.watch import FileWatch

__all__ = ["Dashboard", "Options"]

COLLECTING = (50_000, 1, 5)
"""Thresholds of the garbage collector. Plans and observations are up to millions of objects without cycles: to look at
new ones takes milliseconds, at all of them half a second in which no key is heard. Python does that only when a quarter
of them is new, so of a large cluster it is rare; of a small one it is quick, and closed dialogs do not pile up.
"""

FOLLOW_AFTER = 1.0
"""Seconds from the last edit until the live picture follows."""


@dataclass
class Planned(Message):
    """A session was made in the background."""

    session: Session
    number: int
    """Only the newest counts."""

    text: str
    """What was on screen when it was begun; an edit since then counts more."""


@dataclass
class FileChanged(Message):
    """The file on disk is another one."""


class Dashboard(LiveActions):
    """`placetui FILE`."""

    TITLE = "placetui"
    CSS_PATH = "placetui.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]  # noqa: RUF012 - as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (16, "-short"), (30, "-tall"), (48, "-high")]  # noqa: RUF012
    ENABLE_COMMAND_PALETTE = True

    def __init__(self, session: Session | None, options: Options) -> None:
        self._opened = session
        self.options = options
        self._watch: FileWatch | None = None
        self._planning = 0
        self._held: dict[type[Message], Planned | FileChanged] = {}
        self._rest: Timer | None = None
        self._endings: Endings | None = None
        self._collecting = gc.get_threshold()
        self._layout: Layout | None = None
        self._themes, problems = load_themes(options.user_themes)
        self._notices = [*options.notices, *problems]
        super().__init__(ansi_color=None if options.color else True)
        self.no_color = self.no_color or not options.color
        self._plain: list[LineFilter] = [SafeFilter(), NoColor()] if self.no_color else [SafeFilter()]
        if options.ascii:
            self._plain.append(AsciiFilter())
        for theme in self._themes:
            self.register_theme(theme)

    # Start and end

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What every line of every screen passes through: nothing that steers the terminal; no colour or nothing but
        ASCII, where that is asked for.
        """
        return [*super().get_line_filters(), *self._plain]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Colours of the grid for themes that do not name them."""
        return variable_defaults(self.current_theme)

    def on_mount(self) -> None:
        self._collecting = gc.get_threshold()
        gc.set_threshold(*COLLECTING)
        if not (self.is_headless or self.is_web):
            self._endings = Endings(self, self.leave)
        self._choose_theme()
        self.theme_changed_signal.subscribe(self, lambda _theme: self._theme_changed())
        if self.options.keys:
            self.set_keymap(self.options.keys)
        if self._notices:
            self.notify(notice(self._notices), severity="warning", timeout=10, markup=False)
        if self.options.new:
            self._make_new(self.options.new)
        elif self.session is None and self.options.picture is not None:
            self.watch_cluster()
        elif self.session is None:
            self.action_open()
        else:
            self._show(self.session)

    def _choose_theme(self) -> None:
        wanted = self.options.theme or DEFAULT_THEME
        if wanted not in self.available_themes:
            self.notify(f"there is no theme `{wanted}`", severity="warning", markup=False)
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

    @property
    def session(self) -> Session | None:
        """What is open."""
        return self._opened if self.main is None else self.main.session

    def _show(self, session: Session, *, new: bool = False) -> None:
        """Open a session on the main screen, watch its file and its cluster."""
        self._opened = session
        self._planning += 1
        self._held.clear()
        self._layout = None
        no_file = session.recorded or session.pictured
        editor = Editor(session, write=self.options.write and not no_file, new=new)
        main = MainScreen(
            session,
            editor,
            density=self.options.density,
            ascii=self.options.ascii,
            palette=self.palette,
            rebound=self.options.keys,
            thresholds=self.options.thresholds,
        )
        self._replace_main(main)
        if session.pictured:
            self._connected = session.plan  # by the source that showed it
        else:
            self._watch_file("" if session.recorded else session.file)
            self._connect(session.plan)
            self._offer_lost_work(editor)
        self._withdraw()
        if editor.write:
            self._tell_others(editor)

    def _replace_main(self, main: MainScreen) -> None:
        """Put a main screen in the place of the one that is there and of the dialogs above it; unsaved work is kept."""
        old = self.main
        if old is None:
            self.push_screen(main)
            return
        old.settle()
        old.editor.keep()
        for screen in reversed(self.screen_stack[self.screen_stack.index(old) + 1 :]):
            screen.dismiss()
        self.switch_screen(main)

    def _watch_file(self, file: str) -> None:
        if self._watch is not None:
            self._watch.close()
        self._watch = FileWatch(file, self._file_changed)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """As Textual has it, with notices that cannot stop everything."""
        seconds = self.NOTIFICATION_TIMEOUT if timeout is None else timeout
        self.post_message(Notify(Notice(message, title, severity, seconds, markup=markup)))

    def on_unmount(self) -> None:
        gc.set_threshold(*self._collecting)
        if self._endings is not None:
            self._endings.close()
        if self._watch is not None:
            self._watch.close()
        if self.source is not None:
            self.source.close()
        self._withdraw()

    # Planning happens in the background, so that no key ever waits for it

    def _plan(self, make: Callable[[], Session]) -> None:
        self._planning += 1
        number, text = self._planning, self._text()

        def work() -> None:
            self.post_message(Planned(make(), number, text))

        # A daemon thread: reading a file can hang, and must not keep the program from ending.
        threading.Thread(target=work, name="planning", daemon=True).start()

    def _text(self) -> str:
        """The text that is being edited."""
        if self.main is None:
            return ""
        self.main.settle()
        return self.main.editor.history.text

    def _holds(self, message: Planned | FileChanged) -> bool:
        """Keep a message back while a rule is half written; its end is an edit."""
        if self.main is None or not self.main.writing_rule:
            return False
        self._held[type(message)] = message
        return True

    def _file_changed(self) -> None:
        """Called from the watching thread."""
        self.post_message(FileChanged())

    def on_file_changed(self, event: FileChanged) -> None:
        main = self.main
        if main is None or self._holds(event):
            return
        back = main.session.old and not main.editor.dirty  # it may be there again, as it was
        if not (back or main.editor.changed_on_disk()):
            return
        main.settle()
        if main.editor.dirty:
            self.notify("the file changed on disk: saving will ask what to do", severity="warning", markup=False)
        else:
            self._plan(main.session.reread)

    def on_save_actions_edited(self) -> None:
        """What was being planned is out of date; the live picture follows when the user rests."""
        self._planning += 1
        for held in self._held.values():
            # It was the newest if its number is followed by this one; whether the text is still the same is seen later.
            self.post_message(replace(held, number=held.number + 1) if isinstance(held, Planned) else FileChanged())
        self._held.clear()
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(FOLLOW_AFTER, self._follow_edits, name="follow edits")

    def on_save_actions_saved_as(self, event: MainScreen.SavedAs) -> None:
        """From now on, it is about another file."""
        self._watch_file(event.path)
        self.options.remember("recent", event.path)
        if self.main is not None:
            self._tell_others(self.main.editor)

    def _follow_edits(self) -> None:
        session = self.session
        if session is not None and session.plan is not self._connected:
            self._connect(session.plan)

    def on_planned(self, event: Planned) -> None:
        if event.number != self._planning or self._holds(event) or event.text != self._text():
            return
        other_plan = self.session is None or event.session.plan is not self.session.plan
        self._opened = event.session
        if self.main is not None:
            if event.session.text != self.main.editor.history.text:
                self.main.editor.reread(event.session)
            if other_plan:
                self.main.observation = None
            self.main.show_session(event.session)
        if other_plan:
            self._connect(event.session.plan)

    # What the user does

    def action_what_if(self) -> None:
        session = self.session
        if session is None or not session.plan.nodes or self.is_record():
            return
        plan = session.plan
        now = WhatIf(len(plan.nodes), max(node.gpus for node in plan.nodes), session.wishes.mode, self._layout)
        self.push_screen(WhatIfScreen(now, modes=plan.mode != "slime"), self._tried)

    def _tried(self, wanted: WhatIf | None) -> None:
        session = self.session
        if wanted is None or session is None:
            return
        nodes = session.plan.nodes
        same = wanted.nodes == len(nodes) and wanted.gpus == max((node.gpus for node in nodes), default=0)
        wishes = replace(session.wishes, mode=wanted.mode, overrides=session.asked.overrides)
        if not same:
            wishes = replace(wishes, nodes=(Node(wanted.gpus),) * wanted.nodes, topology_source="flag")
        rearranged = wanted.layout is not None and wanted.layout != self._layout
        self._layout = wanted.layout
        if rearranged and wanted.layout is not None:
            self.notify(ADVICE[wanted.layout], title=wanted.layout, timeout=12, markup=False)
        self._plan(lambda: arranged(session, wishes, wanted.layout, wanted.nodes))

    def action_reload(self) -> None:
        if self.session is not None and not self.is_record():
            self._layout = None
            session = replace(self.session, wishes=self.session.asked)
            unsaved = self.main is not None and self.main.editor.dirty
            self._plan((lambda: session.wish(session.asked)) if unsaved else session.reread)

    def action_next_theme(self) -> None:
        names = [theme.name for theme in self._themes] or list(self.available_themes)
        self.theme = names[(names.index(self.theme) + 1) % len(names) if self.theme in names else 0]
        self.notify(f"theme {self.theme}", timeout=2, markup=False)

    def action_help(self) -> None:
        self.push_screen(HelpScreen(self.options.keys, self.options.ascii))

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

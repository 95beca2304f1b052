"""The dashboard: which file is open, which cluster is behind it, and who does what a key asks for."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on, work
from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.filter import LineFilter, NoColor
from textual.message import Message
from textual.notifications import Notify, SeverityLevel
from textual.screen import Screen
from textual.worker import Worker

from placetui.document import DocumentError
from placetui.observe.model import Observation
from placetui.observe.operations import AUTO
from placetui.observe.ports import ClusterSource, Status
from placetui.placement.wording import plain
from placetui.tui.actions import ACTIONS, BY_ID, Action, Context, availability, bindings, is_named, key_names, why_not
from placetui.tui.background import in_thread
from placetui.tui.cluster.controller import ClusterController
from placetui.tui.dialogs.waiting import WaitingScreen
from placetui.tui.main import MainScreen
from placetui.tui.messages import SessionChanged
from placetui.tui.options import Choice, Options
from placetui.tui.session import Session
from placetui.tui.terminal.endings import Endings
from placetui.tui.terminal.filters import AsciiFilter, SafeFilter
from placetui.tui.terminal.toasts import Notice
from placetui.tui.themes import DEFAULT_THEME, GridPalette, load_themes, notice, variable_defaults
from placetui.tui.workspace import Workspace

if TYPE_CHECKING:
    from placetui.tui.commands import CommandProvider
    from placetui.tui.dialogs.picker import PickerScreen

__all__ = ["Choice", "Dashboard", "Options"]

NEW, DEMO, CLUSTER = "\0new", "\0demo", "\0cluster "
"""What can be opened besides files."""

LEAST_KEYS = 8
"""Lines of a terminal that has one left for keys."""

TURNS = 8
"""Turns of the event loop in which an action opens its dialog, unless it has to ask somebody first."""

LOOKS = 30
"""Looks at a dialog that opens, a hundredth of a second apart."""

COLLECTING = (50_000, 1, 5)
"""Thresholds of the garbage collector. Plans and observations are up to millions of objects without cycles: to look at
new ones takes milliseconds, at all of them half a second in which no key is heard. Python does that only when a quarter
of them is new, so of a large cluster it is rare; of a small one it is quick, and closed dialogs do not pile up.
"""


def _command_provider() -> type[CommandProvider]:
    from placetui.tui.commands import CommandProvider

    return CommandProvider


class Dashboard(App[int]):
    """`placetui FILE`."""

    TITLE = "placetui"
    CSS_PATH = "placetui.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings(panes=False)
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]  # noqa: RUF012 - as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (16, "-short"), (30, "-tall"), (48, "-high")]  # noqa: RUF012
    ENABLE_COMMAND_PALETTE = True
    COMMANDS = {_command_provider}  # noqa: RUF012
    SUSPENDED_SCREEN_CLASS = "-behind"

    @dataclass
    class Observed(Message):
        """A new observation. The latest wins: older ones still in the queue are dropped."""

        observation: Observation
        source: ClusterSource

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Dashboard.Observed)

    @dataclass
    class LinkChanged(Message):
        """The link to the source changed."""

        status: Status
        source: ClusterSource

    def __init__(self, session: Session | None, options: Options) -> None:
        self.options = options
        self._first = session
        self._request = session.asked if session is not None else options.plan_request
        self._workspace: Workspace | None = None
        self._start: PickerScreen | None = None
        """The start screen, while it is open."""

        self._endings: Endings | None = None
        self.crash: Exception | None = None
        """What nobody handled, and ended the dashboard."""

        self._collecting = gc.get_threshold()
        self._themes, problems = load_themes(options.user_themes)
        self._notices = [*options.notices, *problems]
        super().__init__(ansi_color=None if options.color else True)
        self.no_color = self.no_color or not options.color
        self._plain: list[LineFilter] = [SafeFilter(), NoColor()] if self.no_color else [SafeFilter()]
        if options.ascii:
            self._plain.append(AsciiFilter())
        if not options.motion:
            self.animation_level = "none"
        for theme in self._themes:
            self.register_theme(theme)
        self.cluster = ClusterController(self)

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
        wanted = self.options.theme or DEFAULT_THEME
        if wanted not in self.available_themes:
            self.notify(f"there is no theme {wanted}", severity="warning", markup=False)
            wanted = DEFAULT_THEME
        self.theme = wanted
        self.theme_changed_signal.subscribe(self, lambda _theme: self._theme_changed())
        if self.options.keys:
            self.set_keymap(self.options.keys)
        if self._notices:
            self.notify(notice(self._notices), severity="warning", timeout=10, markup=False)
        if self.options.new:
            self.new()
        elif self._first is not None:
            self.show(self._first)
        elif self.options.picture is not None:
            self.push_screen(WaitingScreen())
            self.cluster.look_at(self.options.picture())
            if self.starts_open:
                self.open(asked=False)
        else:
            self.open(asked=False)

    def on_unmount(self) -> None:
        gc.set_threshold(*self._collecting)
        if self._endings is not None:
            self._endings.close()
        if self._workspace is not None:
            self._workspace.close()
        self.cluster.close()

    def _handle_exception(self, error: Exception) -> None:
        """End; the command says why. Textual would print the values of all variables, some of which may be secrets."""
        super()._handle_exception(error)
        self.crash = self.crash or error
        self._exit_renderables.clear()

    def leave(self, code: int = 0) -> None:
        """End, and keep what is unsaved."""
        if self.main is not None:
            self.main.workspace.settle()
            self.main.workspace.editor.keep()
        self.exit(code)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.height < LEAST_KEYS, "-bare")

    # What is open

    @property
    def main(self) -> MainScreen | None:
        return next((screen for screen in self.screen_stack if isinstance(screen, MainScreen)), None)

    @property
    def workspace(self) -> Workspace | None:
        return None if self.main is None else self.main.workspace

    @property
    def session(self) -> Session | None:
        return None if self.main is None else self.main.workspace.session

    @property
    def starts_open(self) -> bool:
        """Whether placetui searches for a cluster behind the start screen, because none was named."""
        return self.options.picture_of is not None and self.options.address == AUTO

    @property
    def is_waiting(self) -> bool:
        """Whether the user waits for the first search for a cluster, or has not touched the start screen yet."""
        untouched = self._start is not None and self.screen is self._start and not self._start.touched
        return untouched or isinstance(self.screen, WaitingScreen)

    def no_cluster(self) -> None:
        """No cluster was named and none was found: offer files."""
        if self._start is None:
            self.open(asked=False)

    def say_waiting(self, status: Status) -> None:
        """Say how the link is, while the first look at a cluster is waited for."""
        for screen in self.screen_stack:
            if isinstance(screen, WaitingScreen):
                screen.say(status)
        if self._start is not None and status.message and not status.absent:
            self._start.say(plain(f"{status.link}: {status.message}"))

    def show(self, session: Session, *, new: bool = False) -> None:
        """Open a session on a main screen of its own, in place of what is there and of the dialogs above it."""
        if self._workspace is not None:
            self._workspace.close()
        workspace = self._workspace = Workspace(self, session, self.options, new=new)
        main = MainScreen(workspace, self.options, self.palette, lambda: self.context)
        old: Screen[Any] | None = self.main
        if old is None:
            old = next((screen for screen in self.screen_stack if isinstance(screen, WaitingScreen)), None)
        if old is None:
            self.push_screen(main)
        else:
            for screen in reversed(self.screen_stack[self.screen_stack.index(old) + 1 :]):
                screen.dismiss()
            self.switch_screen(main)
        workspace.open()
        if not session.pictured:
            self.cluster.connect(session.plan)

    @on(SessionChanged)
    def _session_changed(self, event: SessionChanged) -> None:
        if self.session is not None and event.change != "shown":
            self.cluster.follow_plan(self.session.plan, edited=event.change == "edited")

    # News may still come while the screens are taken down

    @on(Observed)
    def _observed(self, event: Observed) -> None:
        if self.is_running:
            self.cluster.observed(event.observation, event.source)

    @on(LinkChanged)
    def _link_changed(self, event: LinkChanged) -> None:
        if self.is_running:
            self.cluster.link_changed(event.status, event.source)

    # Actions

    @property
    def context(self) -> Context:
        main, options = self.main, self.cluster.options
        if main is None:
            return Context("waiting", file="none")
        write = options.operations is None or not options.operations.refusal
        cluster = options.operations is not None or options.source_for is None
        return replace(main.context, job=self.cluster.has_jobs, write=write, cluster=cluster)

    async def on_key(self, event: events.Key) -> None:
        """A field keeps what is typed into it. What gets here was typed while the field opened: it is meant for it."""
        field = self.focused
        if field is not None and field.check_consume_key(event.key, event.character):
            event.prevent_default()
            await field._on_key(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Actions that do not apply to the current view are hidden."""
        if action == "act":
            return availability(BY_ID[str(parameters[0])], self.context) is not False
        return super().check_action(action, parameters)

    async def action_act(self, name: str) -> None:
        """Do what an action of the table says, or say what it lacks."""
        action, context = BY_ID[name], self.context
        if availability(action, context) is False:
            return
        if reason := why_not(action, context):
            self.notify(reason, severity="warning", markup=False)
            return
        screen = self.screen
        result = getattr(self._owner(action), name)()
        if inspect.isawaitable(result):
            await result
        elif isinstance(result, Worker) or self.screen is not screen:
            await self._opened(screen)

    async def _opened(self, before: Screen[Any]) -> None:
        """Wait for a dialog that an action opens: the next key is meant for it."""
        for _ in range(TURNS):
            await asyncio.sleep(0)
            if self.screen is not before:
                break
        else:
            return
        opened = self.screen
        for _ in range(LOOKS):
            if self.screen is not opened or opened.focused is not None or opened.AUTO_FOCUS == "":
                return
            await asyncio.sleep(0.01)

    def _owner(self, action: Action) -> Any:
        if action.owner == "app":
            return self
        if action.owner == "cluster":
            return self.cluster
        if action.owner in ("replay", "jobs", "launches"):
            return getattr(self.cluster, action.owner)
        main = self.main
        return main if action.owner == "main" else getattr(main, action.owner)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The command palette: the actions of the view with their keys, and the list of themes."""
        context = self.context
        for action in ACTIONS:
            if action.palette and is_named(action, context):
                keys = " ".join(key_names(action, self.options.keys, self.options.ascii))
                title = f"{action.label_in(context.view).capitalize()} ({keys})"
                yield SystemCommand(title, action.help, lambda name=action.id: self.run_action(f"app.act({name!r})"))
        yield SystemCommand("Themes", "Choose a theme from a list.", self.search_themes)

    def action_command_palette(self) -> None:
        from placetui.tui.commands import SearchPalette

        if not isinstance(self.screen, SearchPalette):
            self.push_screen(SearchPalette("COMMANDS", placeholder="Search for commands…", ascii=self.options.ascii))

    def help(self) -> None:
        from placetui.tui.dialogs.help import HelpScreen

        self.push_screen(HelpScreen(self.options.keys, self.options.ascii))

    # Themes

    @property
    def palette(self) -> GridPalette:
        own = {f"component-{role}": color for role, color in self.options.role_colors.items()}
        return GridPalette({**self.theme_variables, **own}, color=self.options.color)

    def _theme_changed(self) -> None:
        if self.main is not None:
            self.main.palette = self.palette
        self.options.remember("theme", self.theme)

    def next_theme(self) -> None:
        names = [theme.name for theme in self._themes] or list(self.available_themes)
        self.theme = names[(names.index(self.theme) + 1) % len(names) if self.theme in names else 0]
        self.notify(f"theme {self.theme}", timeout=2, markup=False)

    def search_themes(self) -> None:
        """Choose a theme; those of placetui and of the user come first."""
        from textual.command import SimpleProvider

        from placetui.tui.commands import SearchPalette

        own = [theme.name for theme in self._themes]
        names = [*own, *sorted(self.available_themes.keys() - set(own))]
        themes = SimpleProvider(self.screen, [(name, partial(setattr, self, "theme", name)) for name in names])
        palette = SearchPalette("THEMES", [themes], placeholder="Find a theme", ascii=self.options.ascii)  # type: ignore[list-item]
        self.push_screen(palette)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """As Textual has it, without backticks, each once at a time, and with notices that cannot stop everything."""
        for same in [one for one in self._notifications if one.message == plain(message)]:
            self._unnotify(same)
        seconds = self.NOTIFICATION_TIMEOUT if timeout is None else timeout
        self.post_message(Notify(Notice(plain(message), title, severity, seconds, markup=markup)))

    # Files

    async def may_leave_file(self) -> bool:
        """Whether the open file can be left."""
        return self.workspace is None or await self.workspace.may_leave()

    @work
    async def open(self, *, asked: bool = True) -> None:
        """Let the user choose what to open; if nobody `asked` for that, it is the start screen."""
        from placetui.tui.dialogs.picker import PickerScreen

        if not await self.may_leave_file():
            return
        start = self.main is None
        choices = [*self._other_choices(), *self.options.choices]
        find_clusters = self._found_clusters if start and self.options.picture_of is not None else None
        while True:
            leaves = len(self.screen_stack) == 1 or self.starts_open
            screen = PickerScreen(choices, self.options.ascii, start=start, leaves=leaves, find_clusters=find_clusters)
            self._start = None if asked else screen
            file = await self.push_screen_wait(screen)
            self._start = None
            if file is None:
                self._nothing_opened()
                return
            if file == NEW:
                self.new()
                return
            if file.startswith(CLUSTER):
                self._look_at_cluster(file.removeprefix(CLUSTER))
                return
            if file == DEMO:
                self.cluster.simulate()
                file = self.options.demo_file
            if await self.open_file(file):
                return

    def _other_choices(self) -> Iterable[Choice]:
        yield Choice(NEW, "with a preview of its grid", "new", label="new file")
        if self.options.demo is not None:
            yield Choice(DEMO, "a job on a simulated cluster", "demo", label="demo")

    async def _found_clusters(self) -> list[Choice]:
        found = await self.cluster.found_clusters()
        return [Choice(f"{CLUSTER}{address}", size, "cluster", "Ray", address) for address, size in found.items()]

    def _look_at_cluster(self, address: str) -> None:
        """Show a cluster of this machine as it is."""
        open_picture = self.options.picture_of
        assert open_picture is not None
        self.options = self.cluster.options = replace(self.cluster.options, address=address)
        if not self.is_waiting:
            self.push_screen(WaitingScreen())
        self.cluster.drop_source()
        self.cluster.look_at(open_picture(address))

    async def open_file(self, file: str) -> bool:
        """Open a file, under what was assumed around the first one; whether it could be read."""
        try:
            session = await in_thread(lambda: Session.open(file, self._request), "open")
        except DocumentError as error:
            self.notify(error.problems[0].message, severity="error", markup=False)
            return False
        self.options.remember("recent", os.path.abspath(file))
        self.cluster.job = ""
        self.show(session)
        return True

    def _nothing_opened(self) -> None:
        if self._workspace is None and (self.starts_open or not self.is_waiting):
            self.exit(0)

    @work
    async def new(self) -> None:
        from placetui.tui.dialogs.new_file import NewFileScreen

        if not await self.may_leave_file():
            return
        wanted = await self.push_screen_wait(NewFileScreen(self.options.new, self.options.ascii, self._request.letters))
        if wanted is None:
            self._nothing_opened()
            return
        self.cluster.job = ""
        self.show(await in_thread(lambda: Session.of_text(wanted.file, wanted.text, self._request), "new"), new=True)

    @work
    async def export(self) -> None:
        from placetui.tui.dialogs.ask import AskScreen

        main = self.main
        if main is None:
            return
        stem = os.path.splitext(os.path.basename(main.workspace.session.file))[0] or "grid"
        question = "File name; .svg draws a picture, anything else text."
        name = await self.push_screen_wait(AskScreen("Export", question, f"{stem}.svg"))
        if name is not None:
            self.write_new(name, main.exported(name.endswith(".svg")))

    @work
    async def shot(self) -> None:
        from placetui.tui.dialogs.ask import AskScreen
        from placetui.tui.shot import stable

        file = self.session.file if self.session is not None else ""
        svg = stable(self.export_screenshot(title=file or self.title, simplify=True))
        stem = os.path.splitext(os.path.basename(file))[0] or "placetui"
        name = await self.push_screen_wait(AskScreen("Save a picture", "File name:", f"{stem}-screen.svg"))
        if name is not None:
            self.write_new(name, svg)

    def write_new(self, name: str, content: str) -> None:
        """Write a file that is not there yet, and say how that went."""
        try:
            path = os.path.expanduser(name)
            file = open(path, "x", encoding="utf-8")  # noqa: SIM115
            try:
                with file:
                    file.write(content)
            except (OSError, ValueError):
                with suppress(OSError):
                    os.unlink(path)  # half a file is none, and would be in the way
                raise
        except FileExistsError:
            self.notify(f"{name} already exists; choose another name", severity="error", markup=False)
        except (OSError, ValueError) as error:  # ValueError: no file can have that name
            reason = error.strerror if isinstance(error, OSError) else error
            self.notify(f"{name} cannot be written: {reason}", severity="error", markup=False)
        else:
            self.notify(f"saved {name}", markup=False)

    # Leaving

    async def action_quit(self) -> None:
        """Textual's own key for it."""
        self.quit()

    @work
    async def quit(self) -> None:
        """Leave, once nothing is unsaved and nothing has to be taken down."""
        if await self.may_leave_file() and await self.cluster.launches.may_end():
            self.leave()

    def interrupt(self) -> None:
        """Quit immediately; the first time, ask about a launch in progress."""
        launch = self.cluster.launches.launched
        if launch is None or not launch.under_way or self.cluster.launches.hurried:
            self.leave()
            return
        self.cluster.launches.hurried = True
        self.notify("ctrl+c again: quit without waiting", markup=False)
        self.quit()

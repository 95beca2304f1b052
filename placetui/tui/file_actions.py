"""What the dashboard does with files: opens, makes, exports and leaves them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import work
from textual.app import App

from placetui.document import DocumentError, Wishes, recovery
from placetui.document.new_file import Sizes, new_file
from placetui.document.planning import NO_WISHES
from placetui.grid import Density, clean
from placetui.observe.alerts import NO_THRESHOLDS, Thresholds
from placetui.observe.operations import AUTO, Operations
from placetui.observe.ports import ClusterSource
from placetui.placement.plan import Plan
from placetui.placement.problems import Problem
from placetui.tui.editing import Editor
from placetui.tui.screens.ask import AskScreen
from placetui.tui.screens.choose import Answer, ChooseScreen
from placetui.tui.screens.picker import Choice, PickerScreen
from placetui.tui.screens.what_if import WhatIf, WhatIfScreen
from placetui.tui.session import Session

if TYPE_CHECKING:
    from placetui.tui.screens.main import MainScreen


@dataclass(frozen=True)
class Options:
    """What the command line and the configuration ask for."""

    theme: str | None = None
    density: Density = "full"
    ascii: bool = False
    color: bool = True
    keys: Mapping[str, str] = field(default_factory=dict)
    interval: float = 1.0
    thresholds: Thresholds = NO_THRESHOLDS
    """From where on values of GPUs are told."""

    user_themes: Path = Path("themes")
    """Where the user's own themes are; need not exist."""

    choices: Sequence[Choice] = ()
    notices: Sequence[Problem] = ()
    remember: Callable[[str, Any], None] = lambda _key, _value: None
    """Keeps something for the next start."""

    write: bool = False
    """Whether the opened file may be changed."""

    new: str = ""
    """A file that does not exist yet and is to be made."""

    source_for: Callable[[Plan], ClusterSource] | None = None
    """Opens a live picture of something that is not a cluster for a plan."""

    cluster: Callable[[Plan, str, str], ClusterSource] | None = None
    """Opens a live picture of a cluster: for a plan, by the cluster's address, with the ranks of a job."""

    operations: Operations | None = None
    """Does things on a cluster."""

    address: str = AUTO
    """The cluster: `auto`, `HOST:PORT`, or `local` for an embedded one."""

    launch_with: Mapping[str, Any] = field(default_factory=dict)
    """What else goes with the request for a launch."""

    child_log: Callable[[], Path | None] = lambda: None
    """Where the output of Ray goes."""

    now: Callable[[], float] = time.time

    picture: Callable[[], ClusterSource] | None = None
    """Opens a live picture without a plan: what is shown, as it is, when no file is."""


class FileActions(App[int]):
    """The half of the dashboard that deals with files."""

    options: Options
    _announced = ""
    """The file that others are told we have open for writing."""

    if TYPE_CHECKING:

        @property
        def main(self) -> MainScreen | None: ...

        @property
        def session(self) -> Session | None: ...

        def _show(self, session: Session, *, new: bool = False) -> None: ...

    async def _may_end(self) -> bool:
        """Whether the dashboard can end: nothing has to be taken down first, or it is down."""
        return True

    @work
    async def _make_new(self, file: str) -> None:
        """A new file from nothing: its layout and sizes are asked for."""
        first = WhatIf(1, 8, layout="colocated")
        wanted = await self.push_screen_wait(WhatIfScreen(first, modes=False, title=f"new file {file}"))
        text = None if wanted is None else new_file(wanted.layout or "colocated", Sizes(wanted.nodes, wanted.gpus))
        if not isinstance(text, str):
            if text is not None:
                self.notify(text.reason, severity="error", markup=False)
                self.call_later(self._make_new, file)
            else:
                self.exit(0)
            return
        self._show(Session.of_text(file, text, NO_WISHES), new=True)

    def _tell_others(self, editor: Editor) -> None:
        """Two people, one file: each is told of the other."""
        self._withdraw()
        for holder in recovery.others(editor.path):
            words = clean(f"{holder} has this file open for writing too", self.options.ascii)
            self.notify(words, severity="warning", timeout=10, markup=False)
        recovery.announce(editor.path)
        self._announced = editor.path

    def _withdraw(self) -> None:
        if self._announced:
            recovery.withdraw(self._announced)
            self._announced = ""

    @work
    async def _offer_lost_work(self, editor: Editor) -> None:
        """Work that a crash or a lost connection left unsaved."""
        lost = editor.lost_work()
        if lost is None or (self.session is not None and self.session.recorded):
            return
        answers = [
            Answer("restore", "go on with it", key="r"),
            Answer("discard", "forget it", key="d"),
            Answer("later", "leave it for later, or until something else is edited", key="l"),
        ]
        question = "There is unsaved work on this file from an earlier run."
        if editor.moved_on(lost):
            question += " The file has changed since: saving will ask what to do."
        answer = await self.push_screen_wait(ChooseScreen("unsaved work", answers, question))
        if answer == "restore" and self.main is not None:
            self.main.restore(lost)
        elif answer == "discard":
            recovery.discard(editor.path)

    def action_export(self) -> None:
        if self.session is not None and self.main is not None:
            stem = os.path.splitext(os.path.basename(self.session.file))[0] or "grid"
            self.push_screen(
                AskScreen("export", "File name; .svg draws a picture, anything else text.", f"{stem}.svg"), self._export
            )

    def _export(self, name: str | None) -> None:
        if name is None or self.main is None:
            return
        self._write_new(name, self.main.exported(name.endswith(".svg")))

    def _write_new(self, name: str, content: str) -> None:
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
            self.notify(f"{name} is there already: choose another name", severity="error", markup=False)
        except (OSError, ValueError) as error:  # ValueError: no file can have that name
            reason = error.strerror if isinstance(error, OSError) else error
            self.notify(f"{name} cannot be written: {reason}", severity="error", markup=False)
        else:
            self.notify(f"saved {name}", markup=False)

    @work
    async def action_open(self) -> None:
        """Open another file."""
        if await self._may_leave():
            self._open(await self.push_screen_wait(PickerScreen(self.options.choices, self.options.ascii)))

    def _open(self, file: str | None) -> None:
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

    def action_interrupt(self) -> None:
        self.leave()

    async def action_quit(self) -> None:
        self._quit_asking()

    @work
    async def _quit_asking(self) -> None:
        if await self._may_leave() and await self._may_end():
            self.leave()

    async def _may_leave(self) -> bool:
        """Whether the file can be left: nothing is unsaved, or the user says what to do with it."""
        main = self.main
        if main is None:
            return True
        main.settle()
        if not main.editor.dirty:
            return True
        answers = [
            Answer("save", "save", key="s"),
            Answer("keep", "leave without saving; it is offered again next time", key="l"),
            Answer("discard", "forget my changes", key="d"),
        ]
        answer = await self.push_screen_wait(ChooseScreen("unsaved changes", answers))
        if answer == "save":
            return await main.save()
        if answer == "discard":
            main.discard()
        return answer is not None

    def leave(self, code: int = 0) -> None:
        """End, keep what is unsaved, and remember how the grid was looked at."""
        if self.main is not None:
            self.main.settle()
            self.main.editor.keep()
            self.options.remember("density", self.main.view.density)
        self.exit(code)

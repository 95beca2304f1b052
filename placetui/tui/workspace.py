"""What is open: the file, its text and history, the plan on screen, and what is typed, tried or read meanwhile."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual.app import App

from placetui.document.storage import recovery
from placetui.document.storage.save import Conflict, NotSaved, Saved
from placetui.frameworks.registry import framework_of
from placetui.grid import clean
from placetui.placement.edits import Operation, Refusal, WriteRule
from placetui.placement.topology import Node
from placetui.tui.actions import FileKind
from placetui.tui.background import FileWatch, Timers, in_thread
from placetui.tui.cluster.requests import flow
from placetui.tui.editor import Editor
from placetui.tui.messages import Change
from placetui.tui.options import Options
from placetui.tui.session import Preview, Session, arranged

if TYPE_CHECKING:
    from placetui.frameworks.new_job import Layout
    from placetui.observe.history import MemoryUse

KEEP_AFTER = 0.5
"""Seconds from an edit until it is kept where a crash cannot reach it."""

TYPING_PAUSE = 0.15
"""Seconds that typing may run ahead of what takes long."""

MOST_AT_ONCE = 4096
"""Ranks of a component whose moves are worked out between two keystrokes."""

PLANNING = "planning"


class Workspace:
    """One open file. `changed` reports each new session to the screen."""

    def __init__(self, app: App[int], session: Session, options: Options, *, new: bool = False) -> None:
        self.app = app
        self.session = session
        """What is on the screen."""

        write = options.write and not (session.recorded or session.pictured)
        self.editor = Editor(session, write=write, new=new, recovers=options.recovers)
        self.changed: Callable[[Change], None] = lambda change: None

        self.preview: Preview | None = None
        """The rule that is half written: what comes from elsewhere waits for its end."""

        self._options = options
        self._ascii = options.ascii
        self._drafted = asyncio.Event()
        """Set while no rule is half written."""

        self._drafted.set()
        self._typed: str | None = None
        """What was typed and not taken over yet."""

        self.lost: recovery.Unsaved | None = None
        """Unsaved work of an earlier run that the user has not decided about."""

        self._arranged: tuple[Layout | None, int | None] = None, None
        """What a what-if has arranged the components as, with how many GPUs for training."""

        self.measured: Callable[[], Mapping[tuple[int, int], MemoryUse]] = dict
        """The most memory that was measured on each GPU of what is on the screen; asked for in a thread."""

        self._timers = Timers(app)
        self._watch: FileWatch | None = None
        self._announced = ""

    def open(self) -> None:
        """Watch the file, tell others that it is open for writing, and offer what was lost."""
        if not self.session.pictured:
            self._watch_file("" if self.session.recorded else self.session.file)
            self._announce_lost_work()
        if self.editor.write:
            self._announce()

    def close(self) -> None:
        """Keep unsaved changes and close the file; its screen may be gone already."""
        self.changed = lambda change: None
        self.settle()
        self.editor.keep()
        self._cancel_planning()
        self._timers.stop()
        if self._watch is not None:
            self._watch.close()
        self._withdraw()

    @property
    def file_kind(self) -> FileKind:
        """What the plan comes from."""
        return "record" if self.session.recorded else "cluster" if self.session.pictured else "file"

    @property
    def drafting(self) -> str:
        """The component whose rule is half written."""
        return "" if self.preview is None else self.preview.component

    # What is on the screen

    def show(self, session: Session, change: Change = "shown") -> None:
        self.session = session
        if change == "edited":
            self._cancel_planning()
            self._timers.after("keep", KEEP_AFTER, self.editor.keep)
        self.changed(change)

    def refuse(self, refusal: Refusal) -> None:
        """Say why something is not done."""
        text = f"{refusal.reason}; {refusal.hint}" if refusal.hint else refusal.reason
        self.app.notify(clean(text, self._ascii), title="Not possible", severity="warning", timeout=8, markup=False)

    def _say(self, words: str, seconds: float | None = 2) -> None:
        self.app.notify(clean(words, self._ascii), timeout=seconds, markup=False)

    # Edits

    def settle(self) -> None:
        """Apply the rule being typed before another action uses the text."""
        if self.drafting:
            self.finish_rule()
        if self._typed is not None:
            typed, self._typed = self._typed, None
            self.show(self.editor.type(self.session, typed), "edited")

    def edit(self, operation: Operation) -> None:
        self.settle()
        self._show_edit(self.editor.do(self.session, operation))

    def _show_edit(self, result: Session | Refusal) -> bool:
        """Show an edit and say what it was, or why it cannot be made; whether it was made."""
        if isinstance(result, Refusal):
            self.refuse(result)
            return False
        self.show(result, "edited")
        self._say(self.editor.history.undo_label or "")
        return True

    def type(self, text: str) -> None:
        """The file reads otherwise: the grid follows in a moment."""
        self._typed = text
        self._timers.after("typing", TYPING_PAUSE, self.settle)

    def open_rule(self, component: str) -> Preview | None:
        """Begin to write a component's rule, as it reads now; None if the file no longer has it."""
        self.settle()
        session = self.session
        text = session.rule_text(component)
        if text is None:
            return None
        self._drafted.clear()
        self._show_preview(Preview(component, text, session, session))
        return self.preview

    def draft_rule(self, text: str) -> None:
        """Show what a rule would give, or why it gives nothing."""
        preview = self.preview
        if preview is None:
            return
        result = self.editor.preview(preview.before, WriteRule(preview.component, text))
        if isinstance(result, Refusal):
            # What is typed on the way to a rule may place something that nobody meant.
            self.preview = Preview(preview.component, text, preview.before, preview.before, refusal=result)
            self.show(preview.before)
        else:
            self._show_preview(Preview(preview.component, text, preview.before, result))

    def _show_preview(self, preview: Preview) -> None:
        """Show it, of many ranks without who moves: that follows."""
        from placetui.placement.diff import diff_plans

        before, after = preview.before.plan, preview.after.plan
        parts = [plan.components.get(preview.component) for plan in (before, after)]
        quick = all(part is None or part.world_size <= MOST_AT_ONCE for part in parts)
        self.preview = replace(preview, difference=diff_plans(before, after)) if quick else preview
        self.show(preview.after)
        if not quick:
            self.app.run_worker(self._compare(self.preview), group="moves", exclusive=True)

    async def _compare(self, preview: Preview) -> None:
        from placetui.placement.diff import diff_plans

        await asyncio.sleep(TYPING_PAUSE)
        before, after = preview.before.plan, preview.after.plan
        difference = await in_thread(lambda: diff_plans(before, after), "moves")
        if self.preview is preview:
            self.preview = replace(preview, difference=difference)
            self.show(self.session)

    def finish_rule(self) -> None:
        """Make the rule that was written an edit."""
        preview = self.preview
        self.cancel_rule()
        if preview is not None and preview.differs:
            self.edit(WriteRule(preview.component, preview.text))

    def cancel_rule(self) -> None:
        if self.preview is not None:
            before, self.preview = self.preview.before, None
            self._drafted.set()
            self.show(before)

    def undo(self) -> None:
        self.settle()
        self._step(self.editor.undo(self.session), "undone", "nothing to undo")

    def redo(self) -> None:
        self.settle()
        self._step(self.editor.redo(self.session), "redone", "nothing to redo")

    def _step(self, result: tuple[str, Session] | None, word: str, nothing: str) -> None:
        if result is None:
            self._say(nothing)
        else:
            label, session = result
            self.show(session, "edited")
            self._say(f"{word}: {label}")

    # Planning happens in a thread, so that no key ever waits for it

    def plan(self, make: Callable[[], Session]) -> None:
        """Show what `make` gives, unless something is edited or planned meanwhile."""
        self.settle()
        self.app.run_worker(self._plan(make), group=PLANNING, exclusive=True)

    async def _plan(self, make: Callable[[], Session]) -> None:
        text = self.editor.history.text
        session = await in_thread(make, PLANNING)
        await self._drafted.wait()
        if self._typed is None and text == self.editor.history.text:
            if session.text != text:
                self.editor.reread(session)
            self.show(session, "planned")

    def _cancel_planning(self) -> None:
        self.app.workers.cancel_group(self.app, PLANNING)

    def reload(self) -> None:
        """Read the file again, and forget what was tried."""
        self.settle()
        self._arranged = None, None
        session = replace(self.session, plan_request=self.session.asked)
        self.plan((lambda: session.wish(session.asked)) if self.editor.dirty else session.reread)

    @property
    def is_on_assumed_nodes(self) -> bool:
        """Whether the nodes of a cluster can take the place of those that the plan is drawn on."""
        session = self.session
        return session.plan.topology_source == "assumed" and not (session.tried or self.drafting)

    def use_nodes(self, nodes: tuple[Node, ...]) -> None:
        """Draw on the nodes of a cluster what is drawn on assumed ones, if it fits there."""
        session = self.session
        if nodes and self.is_on_assumed_nodes and self._tried_nodes != (nodes, session.text):
            self._tried_nodes = nodes, session.text
            self.plan(lambda: self._on_nodes(session, nodes))

    _tried_nodes: tuple[object, ...] = ()

    def _on_nodes(self, session: Session, nodes: tuple[Node, ...]) -> Session:
        """In a thread: the session on these nodes, or as it is if it does not fit there."""
        found = session.on_nodes(nodes)
        if session.broken or not found.broken:
            return found
        reason = next(problem for problem in found.plan.problems if problem.blocking)
        words = f"the plan does not fit on the attached cluster, and is drawn on assumed nodes: {reason.message}"
        self.app.notify(words, severity="warning", timeout=10, markup=False)
        return session

    def follow(self, before: Session, after: Session) -> bool:
        """The cluster as it is has moved on; whether that could be shown."""
        if self.session is not before or self.drafting or self.editor.dirty:
            return False
        if after is not before:
            self.editor.follow(after)
            self.show(after)
        return True

    # What if

    @flow
    async def what_if(self) -> None:
        """Try another topology, mode or layout."""
        from placetui.frameworks.new_job import ADVICE
        from placetui.tui.dialogs.what_if import WhatIf, WhatIfScreen

        self.settle()
        session, plan = self.session, self.session.plan
        if not plan.nodes:
            return
        gpus, mode = max(node.gpus for node in plan.nodes), session.plan_request.mode
        now = WhatIf(len(plan.nodes), gpus, mode, *self._arranged)

        def tried(wanted: WhatIf) -> Session:
            plan_request = replace(session.plan_request, mode=wanted.mode, overrides=session.asked.overrides)
            if (wanted.nodes, wanted.gpus) != (now.nodes, now.gpus):
                plan_request = replace(plan_request, nodes=(Node(wanted.gpus),) * wanted.nodes, topology_source="flag")
            return arranged(session, plan_request, wanted.layout, wanted.nodes, wanted.training)

        measured = dict if session.tried else self.measured
        screen = WhatIfScreen(now, framework_of(plan).modes, session, tried, measured, ascii=self._ascii)
        wanted = await self.app.push_screen_wait(screen)
        if wanted is None:
            return
        if wanted.layout is not None and wanted.layout != self._arranged[0]:
            self.app.notify(ADVICE[wanted.layout], title=wanted.layout, timeout=12, markup=False)
        self._arranged = wanted.layout, wanted.training
        self.plan(lambda: tried(wanted))

    def apply_what_if(self) -> None:
        """Make what is tried an edit of the file, which undo takes back as any other."""
        self.settle()
        if not self.session.tried:
            self._say("no what-if is active; w tries another topology, mode or layout")
            return
        if self._show_edit(self.editor.apply_what_if(self.session)):
            self._arranged = None, None

    # The file on disk

    def _watch_file(self, file: str) -> None:
        if self._watch is not None:
            self._watch.close()
        self._watch = FileWatch(file, partial(self.app.call_later, self.file_changed))

    def file_changed(self) -> None:
        self.app.run_worker(self._look_at_file(), group="file", exclusive=True)

    async def _look_at_file(self) -> None:
        await self._drafted.wait()
        changed = await in_thread(self.editor.changed_on_disk, "read file")
        await self._drafted.wait()
        back = self.session.old and not self.editor.dirty  # it may be back, unchanged
        if not (back or changed):
            return
        self.settle()
        if self.editor.dirty:
            self.app.notify("the file changed on disk: saving will ask what to do", severity="warning", markup=False)
        else:
            self.plan(self.session.reread)

    def _announce(self) -> None:
        """Two people, one file: each is warned of the other."""
        self._withdraw()
        for holder in recovery.others(self.editor.path):
            words = clean(f"{holder} has this file open for writing too", self._ascii)
            self.app.notify(words, severity="warning", timeout=10, markup=False)
        recovery.announce(self.editor.path)
        self._announced = self.editor.path

    def _withdraw(self) -> None:
        if self._announced:
            recovery.withdraw(self._announced)
            self._announced = ""

    def _announce_lost_work(self) -> None:
        """Work that a crash or a lost connection left unsaved: it waits until the user goes to it."""
        self.lost = None if self.session.recorded else self.editor.lost_work()
        if self.lost is not None:
            words = "There is unsaved work on this file from an earlier run: ctrl+r continues with it or discards it."
            self.app.notify(words, title="Unsaved work", severity="warning", timeout=10, markup=False)

    @flow
    async def recover(self) -> None:
        """Continue with unsaved work of an earlier run, or discard it."""
        from placetui.tui.dialogs.choose import Answer, ChooseScreen

        lost = self.lost
        if lost is None:
            self._say("there is no unsaved work of an earlier run")
            return
        answers = [
            Answer("restore", "continue with it", key="r"),
            Answer("discard", "discard it", key="ctrl+d"),
            Answer("later", "decide later", key="l"),
        ]
        question = "There is unsaved work on this file from an earlier run."
        if self.editor.moved_on(lost):
            question += "\nThe file has changed since: saving will ask what to do."
        answer = await self.app.push_screen_wait(ChooseScreen("Unsaved work", answers, question))
        if answer == "restore":
            self.settle()
            self.lost = None
            self.show(self.editor.restore(self.session, lost), "edited")
        elif answer == "discard":
            self.lost = None
            recovery.discard(self.editor.path)
            self.editor.keep()
            self.show(self.session)

    # Saving and leaving

    async def may_leave(self) -> bool:
        """Whether the file can be left: nothing is unsaved, or the user says what to do with it."""
        from placetui.tui.dialogs.choose import Answer, ChooseScreen

        self.settle()
        if not self.editor.dirty:
            return True
        answers = [
            Answer("save", "save", key="s"),
            Answer("keep", "leave without saving; the changes are offered next time", key="l"),
            Answer("discard", "leave and discard the changes", key="ctrl+d"),
        ]
        answer = await self.app.push_screen_wait(ChooseScreen("Unsaved changes", answers))
        if answer == "save":
            return await self._save()
        if answer == "discard":
            self.show(self.editor.discard(self.session), "edited")
        return answer is not None

    @flow
    async def save(self) -> None:
        """Save, after showing what changes."""
        await self._save()

    async def _save(self) -> bool:
        """Save as the user wants it; whether it was saved."""
        from placetui.tui.dialogs.save import SaveScreen

        self.settle()
        if not self.editor.dirty:
            if self.editor.write and await in_thread(self.editor.is_gone, "look for file"):
                return await self._report(self.editor.save(self.session))
            self._say("nothing has changed")
            return True
        name = clean(os.path.basename(self.editor.path), self._ascii)
        title = f"Save {name}" if self.editor.write else f"{name} is read-only: save as a new file"
        if self.editor.pictured:
            title = "Save as a new file"
        review = self.editor.review(self.session)
        if not await self.app.push_screen_wait(SaveScreen(title, review, self._ascii)):
            return False
        if not self.editor.write:
            return await self._save_as()
        return await self._report(self.editor.save(self.session))

    async def _save_as(self) -> bool:
        from placetui.tui.dialogs.ask import AskScreen

        stem, suffix = os.path.splitext(self.editor.path)
        question = "The opened file is read-only (start with --write to change it). Save as:"
        wanted: str | None = f"{stem}-new{suffix}"
        if self.editor.pictured:
            question, wanted = "Name of the new file:", self.editor.path
        while True:
            wanted = await self.app.push_screen_wait(AskScreen("Save as", question, wanted or ""))
            if wanted is None:
                return False
            path = os.path.abspath(os.path.expanduser(wanted))
            result = self.editor.save_as(self.session, path)
            if isinstance(result, Saved):
                self.session = replace(self.session, file=path)
                self._watch_file(path)
                self._options.remember("recent", path)
                self._announce()
                return await self._report(result)
            if isinstance(result, NotSaved):
                return await self._report(result)
            question = "This file already exists. Choose another name:"

    async def _report(self, result: Saved | Conflict | NotSaved) -> bool:
        """Say how a save went, and ask what to do about a file that somebody else changed."""
        from placetui.tui.dialogs.save import SaveScreen

        while isinstance(result, Conflict):
            answer = await self._ask_about(result)
            if answer == "see":
                review = self.editor.against(result)
                await self.app.push_screen_wait(SaveScreen("From theirs to mine", review, self._ascii, only_look=True))
            elif answer == "mine":
                result = self.editor.save(self.session, overwrite=result)
            else:
                if answer == "theirs":
                    self.show(self.editor.take_theirs(self.session, result), "edited")
                return False
        if isinstance(result, NotSaved):
            self.refuse(Refusal(result.message, result.hint))
            return False
        self._say(f"saved {self.editor.path}", None)
        self.show(self.session)
        return True

    async def _ask_about(self, conflict: Conflict) -> str | None:
        from placetui.tui.dialogs.choose import Answer, ChooseScreen

        gone = conflict.theirs is None and not conflict.stamp.exists
        answers = [
            Answer("mine", "keep mine, write the file again" if gone else "keep mine, overwrite the file", key="m"),
            Answer("theirs", "take theirs, discard my changes (undo restores them)", key="t"),
            Answer("see", "see the difference first", key="d"),
        ]
        if conflict.theirs is None:
            answers = answers[:1]
        title = "Someone removed this file" if gone else "Someone else saved this file"
        question = f"The file {'is gone' if gone else 'changed on disk'} since it was read. Nothing was written."
        return await self.app.push_screen_wait(ChooseScreen(title, answers, question))

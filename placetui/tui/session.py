"""What is open: a file, what is assumed around it, and the plan that follows. No Textual here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from placetui.document import Document, DocumentError, Wishes, plan_document
from placetui.document.edit import Edited
from placetui.document.picture_file import picture_text
from placetui.document.planning import NO_WISHES
from placetui.document.splice import difference
from placetui.observe.model import Observation
from placetui.observe.picture import picture_of
from placetui.placement.layouts import Layout, arrange
from placetui.placement.plan import Plan
from placetui.placement.problems import Path, Problem
from placetui.placement.topology import Node

PICTURE = "cluster.yaml"
"""What the file of a cluster as it is would be called."""


@dataclass(frozen=True, slots=True)
class Session:
    """One moment of the dashboard's file: immutable, so that a thread can make the next one."""

    file: str
    """As the user named it; empty when nothing is open."""

    document: Document
    """The text that `plan` was made from."""

    plan: Plan
    """The last plan without blocking problems; the first one whatever it has."""

    problems: tuple[Problem, ...]
    """Of the text as it is now."""

    wishes: Wishes = NO_WISHES
    asked: Wishes = NO_WISHES
    """What was asked for when the file was opened; `wishes` may try something else."""

    old: bool = False
    """Whether the file has moved on and cannot be resolved: `plan` is of an earlier text."""

    written: Document | None = None
    """The file as it is now, where that is not `document`."""

    recorded: bool = False
    """Whether the plan comes from a job's record, and no file says it."""

    pictured: bool = False
    """Whether the text tells the cluster as it is: there is no file, and nothing can differ from it."""

    @classmethod
    def open(cls, file: str, wishes: Wishes) -> Session:
        """Read a file.

        Raises:
            DocumentError: it cannot be read.
        """
        document = Document.from_file(file)
        plan = plan_document(document, wishes)
        return cls(file, document, plan, tuple(plan.problems), wishes, wishes)

    @classmethod
    def of_text(cls, file: str, text: str, wishes: Wishes) -> Session:
        """A text that is not in its file yet."""
        document = Document(text, file)
        plan = plan_document(document, wishes)
        return cls(file, document, plan, tuple(plan.problems), wishes, wishes)

    @classmethod
    def of_observation(cls, observation: Observation) -> Session:
        """The cluster as it is, without a file."""
        session = cls.of_text(PICTURE, picture_text(picture_of(observation)), NO_WISHES)
        return replace(session, pictured=True)

    def followed(self, observation: Observation) -> Session:
        """The cluster as it is now; the same session if it is as it was."""
        text = picture_text(picture_of(observation))
        return self if text == self.text else Session.of_observation(observation)

    def reread(self) -> Session:
        """The file as it is now; what is broken keeps the last good plan."""
        if self.pictured:
            return self
        try:
            document = Document.from_file(self.file)
        except DocumentError as error:
            return replace(self, problems=tuple(error.problems), old=True)
        return self._with(document, self.wishes)

    def wish(self, wishes: Wishes) -> Session:
        """The same text under other assumptions; what is wrong with a broken one stays wrong under all of them."""
        plan = plan_document(self.document, wishes)
        problems = self.problems if self.old else tuple(plan.problems)
        return replace(self, plan=plan, problems=problems, wishes=wishes)

    def with_text(self, text: str) -> Session:
        """Another text of the same file, as it is being edited; only the section that changed is read again."""
        current = self.written or self.document
        splice = difference(current.text, text)
        return self if splice is None else self._with(current.change([splice]), self.wishes)

    def edited(self, edited: Edited) -> Session:
        """After an edit that was tried out."""
        problems = tuple(edited.plan.problems)
        return replace(
            self,
            document=edited.document,
            plan=edited.plan,
            problems=problems,
            old=False,
            written=None,
            pictured=False,
        )

    def _with(self, document: Document, wishes: Wishes) -> Session:
        plan = plan_document(document, wishes)
        problems = tuple(plan.problems)
        if any(problem.blocking for problem in problems) and not self.broken:
            return replace(self, problems=problems, old=True, written=document, pictured=False)
        return replace(
            self,
            document=document,
            plan=plan,
            problems=problems,
            wishes=wishes,
            old=False,
            written=None,
            pictured=False,
        )

    def on_nodes(self, nodes: tuple[Node, ...]) -> Session:
        """The same text on the nodes of a cluster, as if they had been asked for."""
        wishes = replace(self.asked, nodes=nodes, topology_source="ray")
        return replace(self.wish(wishes), asked=wishes)

    @property
    def broken(self) -> bool:
        """Whether the plan on screen has blocking problems of its own."""
        return any(problem.blocking for problem in self.plan.problems)

    @property
    def errors(self) -> int:
        return sum(problem.severity == "error" for problem in self.problems)

    @property
    def warnings(self) -> int:
        return len(self.problems) - self.errors

    def locate(self, path: Path) -> tuple[int, int] | None:
        """Line and column of a value in `text`."""
        return (self.written or self.document).locate(path)

    @property
    def text(self) -> str:
        """The file as it is now, as far as it could be read."""
        return (self.written or self.document).text

    @property
    def tried(self) -> bool:
        """Whether something is tried that the file does not say."""
        return self.wishes != self.asked


def arranged(session: Session, wishes: Wishes, layout: Layout | None, nodes: int) -> Session:
    """The session under other wishes; a topology of another size also changes the file's number of nodes."""
    overrides: list[Any] = list(wishes.overrides)
    if session.plan.mode != "slime" and wishes.nodes is not None:
        overrides.append((("cluster", "num_nodes"), nodes))
    plain = session.wish(replace(wishes, overrides=tuple(overrides)))
    if layout is None:
        return plain
    overrides += [(_spelled(path, session.document), value) for path, value in arrange(plain.plan, layout)]
    return session.wish(replace(wishes, overrides=tuple(overrides)))


def _spelled(path: Path, document: Document) -> Path:
    """A path as the file spells it: slime's arguments have dashes or underscores."""
    section = document.config["slime"] if path[0] == "slime" and "slime" in document.config else None
    names = section if isinstance(section, Mapping) else ()
    return (path[0], *(next((one for one in names if str(one).replace("-", "_") == name), name) for name in path[1:]))

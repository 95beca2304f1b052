"""What is open: a file, what is assumed around it, and the plan that follows. No Textual here."""

from __future__ import annotations

from dataclasses import dataclass, replace

from placetui.document import Document, DocumentError, Wishes, plan_document
from placetui.document.planning import NO_WISHES
from placetui.placement.plan import Plan
from placetui.placement.problems import Path, Problem


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

    @classmethod
    def open(cls, file: str, wishes: Wishes) -> Session:
        """Read a file.

        Raises:
            DocumentError: it cannot be read.
        """
        document = Document.from_file(file)
        plan = plan_document(document, wishes)
        return cls(file, document, plan, tuple(plan.problems), wishes, wishes)

    def reread(self) -> Session:
        """The file as it is now; what is broken keeps the last good plan."""
        try:
            document = Document.from_file(self.file)
        except DocumentError as error:
            return replace(self, problems=tuple(error.problems), old=True)
        return self._with(document, self.wishes)

    def wish(self, wishes: Wishes) -> Session:
        """The same text under other assumptions."""
        plan = plan_document(self.document, wishes)
        return replace(self, plan=plan, problems=tuple(plan.problems), wishes=wishes)

    def _with(self, document: Document, wishes: Wishes) -> Session:
        plan = plan_document(document, wishes)
        problems = tuple(plan.problems)
        if any(problem.blocking for problem in problems) and not self.broken:
            return replace(self, problems=problems, old=True)
        return replace(self, document=document, plan=plan, problems=problems, wishes=wishes, old=False)

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
        """Line and column of a value in the text that the plan was made from."""
        return self.document.locate(path)

    @property
    def tried(self) -> bool:
        """Whether something is tried that the file does not say."""
        return self.wishes != self.asked

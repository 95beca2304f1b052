"""The dashboard's link to a cluster: what is asked of it, and what is shown of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.message_pump import MessagePump

from placetui.observe.model import Observation
from placetui.observe.operations import AUTO, LOCAL, Failure, Operation
from placetui.observe.ports import ClusterSource, Link, Status
from placetui.placement.plan import Plan
from placetui.placement.topology import Node
from placetui.tui.file_actions import FileActions
from placetui.tui.launching import Launch
from placetui.tui.replay_actions import source_words
from placetui.tui.reporting import Posts
from placetui.tui.session import Session

TELL = "start placetui with --write"
TROUBLE: tuple[Link, ...] = ("lost", "failed")


class ClusterLink(FileActions):
    """The part of the dashboard that knows which cluster and which job there is."""

    launch: Launch | None = None
    """The last launch."""

    job = ""
    """The job whose ranks are looked at."""

    link = Status("starting")
    """How the link to the source is."""

    _seen: Observation | None = None
    """What the source showed last."""

    _cluster: tuple[object, ...] | None = None
    """What the source looks at, if that is a cluster."""

    _tried_nodes: tuple[object, ...] = ()

    if TYPE_CHECKING:
        source: ClusterSource | None

        def _connect(self, plan: Plan) -> None: ...

        def _plan(self, make: Callable[[], Session]) -> None: ...

    def _say_live(self) -> None:
        """Say in the top line what is looked at, and how the link to it is."""
        source, main = self.source, self.main
        if main is None:
            return
        if self.link.absent and self._seen is not None and self._seen.source == "nvml" and not self.launching:
            main.show_live_words("this machine, without Ray", ok=True)
        elif source is None or self.launching or self.is_connecting:
            main.show_live_words(self.job_words, ok=True)
        elif self.link.link in TROUBLE:
            main.show_live_words(link_words(self.link), ok=self.is_quiet(self.link))
        else:
            main.show_live_words(source_words(source, self.job_words), ok=True)

    # Asking

    @property
    def address(self) -> str:
        """Of the cluster that is asked: the embedded one while it is there."""
        launch = self.launch
        if launch is not None and launch.local and launch.under_way and launch.address:
            return launch.address
        return self.options.address

    def ask(self, kind: str, target: MessagePump, about: str = "", timeout: float = 60.0, **body: Any) -> Operation:
        """Ask the cluster for something; `target` gets `Told` and `Ended`."""
        assert self.options.operations is not None
        reporter = Posts(target, about or kind)
        return self.options.operations.begin(kind, reporter, timeout=timeout, address=self.address, **body)

    def can_ask(self, *, change: bool = False) -> bool:
        """Whether there is a cluster to ask, and whether it may be changed; if not, that is said."""
        operations = self.options.operations
        if operations is None:
            self.notify("there is no cluster behind a simulation or a recording", markup=False)
        elif change and operations.refusal:
            self.say_refusal(operations.refusal)
        elif self.address == LOCAL:
            self.notify("the embedded cluster starts with a launch: L", markup=False)
        else:
            return True
        return False

    def say_refusal(self, refusal: str) -> None:
        """Say why nothing is changed."""
        self.notify(f"{refusal}: {TELL}", title="read-only", severity="warning", markup=False)

    # Looking

    def keeps_source(self, plan: Plan) -> bool:
        """Whether the source that is there serves for a plan too: a cluster is the same whatever is planned for it."""
        before, self._cluster = self._cluster, None
        if self.options.cluster is not None and self.options.source_for is None and plan.nodes:
            self._cluster = self.address, self.job, plan.mode == "slime", len(plan.nodes)
        if self._cluster is None or self._cluster != before:
            self._seen = None
            return False
        if self._seen is not None and self.main is not None:
            self.main.show_observation(self.with_launch(self._seen))
        return True

    def open_source(self, plan: Plan) -> ClusterSource | None:
        """A live picture of what is behind a plan."""
        if self.options.source_for is not None and plan.nodes:
            return self.options.source_for(plan)
        if self.options.cluster is None or self.address == LOCAL or not plan.nodes:
            return None
        return self.options.cluster(plan, self.address, self.job)

    def is_quiet(self, status: Status) -> bool:
        """Whether nobody need be alarmed: no cluster was asked for, and none was seen."""
        return status.absent or (self._cluster is not None and self.options.address == AUTO and self._seen is None)

    def connect_cluster(self) -> None:
        """Look at the cluster anew if its address or the job is another one."""
        if self.session is not None:
            self._connect(self.session.plan)

    def use_nodes(self, nodes: tuple[Node, ...]) -> None:
        """Draw on the nodes of a cluster what is drawn on assumed ones, if it fits there."""
        session = self.session
        if session is None or session.plan.topology_source != "assumed" or session.tried or not nodes:
            return
        if self.main is not None and self.main.writing_rule:
            return  # the next observation asks again
        if self._tried_nodes != (nodes, session.text):
            self._tried_nodes = nodes, session.text
            self._plan(lambda: self._planned_on(session, nodes))

    def _planned_on(self, session: Session, nodes: tuple[Node, ...]) -> Session:
        """In a thread: the session on these nodes, or as it is if it does not fit there."""
        found = session.on_nodes(nodes)
        if session.broken or not found.broken:
            return found
        reason = next(problem for problem in found.plan.problems if problem.blocking)
        words = f"the plan does not fit on the attached cluster, and is drawn on assumed nodes: {reason.message}"
        self.notify(words, severity="warning", timeout=10, markup=False)
        return session

    def with_launch(self, observation: Observation) -> Observation:
        """What a source shows, and the ranks of the launch until it shows them itself."""
        self._seen = observation
        launch = self.shown_launch
        if launch is None:
            return observation
        # From then on the cluster has the word: a job that somebody took down, or that went with its head, is gone.
        launch.taken_over |= launch.ready and observation.job == launch.job and bool(observation.ranks)
        return observation if launch.taken_over else launch.over(observation)

    @property
    def shown_launch(self) -> Launch | None:
        """The launch whose ranks are in the grid: one that has begun, of the file that is open."""
        launch, session = self.launch, self.session
        if launch is None or session is None or not launch.confirmed or isinstance(launch.outcome, Failure):
            return None
        other = session.plan.source != launch.plan.source or self.job not in ("", launch.job)
        return None if other else launch

    def _open(self, file: str | None) -> None:
        if file is not None:
            self.job = ""
        super()._open(file)

    @property
    def is_connecting(self) -> bool:
        """Whether a cluster is looked for, and none was found yet."""
        # The process that looks is there at once, what it looks at is not.
        return self._cluster is not None and self._seen is None and self.link.link not in TROUBLE

    @property
    def launching(self) -> bool:
        """Whether a launch is on its way, or being taken back."""
        launch = self.launch
        return launch is not None and launch.under_way and (launch.cancelled or not launch.ready)

    @property
    def job_words(self) -> str:
        """What is launched or looked at, in few words."""
        if self.launching and self.launch is not None:
            return self.launch.words
        if self.is_connecting and self.options.address not in (AUTO, LOCAL):
            return f"connecting to {self.options.address}"
        return f"job {self.job}" if self.job else ""

    def is_record(self) -> bool:
        """Whether there is no file to try things with; if so, that is said."""
        recorded = self.session is not None and self.session.recorded
        if recorded:
            self.notify("this is the record of a job, not its file: o opens a file", markup=False)
        return recorded


def link_words(status: Status) -> str:
    """What there is to say of a link; empty if it is as it should be."""
    if status.link in TROUBLE:
        return f"{status.link}: {status.message}".strip(": ")
    return status.message if status.link == "connected" else ""

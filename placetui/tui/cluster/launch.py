"""A launch under way, as far as its steps tell. No Textual here."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from placetui.grid import launch_steps
from placetui.grid.overlay import SLOW
from placetui.grid.panels.launch import LaunchStep, Progress, WaitedFor
from placetui.observe.model import DeviceSample, NodeSample, Observation, RankState, State
from placetui.observe.operations import Failure
from placetui.placement.plan import Plan
from placetui.placement.topology import Node
from placetui.placement.wording import count, place_text, ranges

STEPS = ("connect", "match", "check", "reserve", "probe", "launch", "ready")
BUILT_IN = "built-in worker"

UNSEEN = 10.0
"""Seconds after which a job that is ready, but is not on the cluster, is gone."""

MOST_OUTPUT = 100
"""Lines of output that are kept."""

Outcome: TypeAlias = "Mapping[str, Any] | Failure"


class Launch:
    """What is known of one launch; the steps of `placetui up --json` go in."""

    def __init__(
        self,
        job: str,
        plan: Plan,
        *,
        local: bool = False,
        dry_run: bool = False,
        unsaved: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.job = job
        self.plan = plan
        self.local = local
        """Whether it starts an embedded cluster, which lives as long as the launch is not over."""

        self.dry_run = dry_run
        self.unsaved = unsaved
        """Whether the text differs from the file."""

        self._now = now
        self.begun = self._mark = now()
        self.lasted: dict[str, float] = {}
        """By step, how many seconds it took."""

        self.step = "connect"
        self.told: dict[str, Mapping[str, Any]] = {}
        """By step, the last that was told of it."""

        self.question = ""
        """What waits for an answer: `launch`, `moved`, `used`, or nothing."""

        self.cancelled = False
        self.unread = False
        """Whether it failed and the user has not seen why."""

        self.preflight: Mapping[str, Any] | None = None
        """Whether Ray could place what the framework itself will ask for; None until that is known."""

        self.outcome: Outcome | None = None
        self._states: dict[str, list[State]] = {}
        self._since: dict[tuple[str, int], float] = {}
        """When a rank came into its state."""

        self._made: dict[str, tuple[RankState, ...]] = {}
        self.output_of: tuple[str, int] | None = None
        """The rank whose output is read: the one that has been starting for the longest time."""

        self.output: deque[str] = deque(maxlen=MOST_OUTPUT)
        self.output_note = ""
        """Why there is no output."""

        self._ready_at = 0.0
        self._taken_over = False
        """Whether the cluster has shown what became of the job."""

    # What goes in

    def take(self, step: Mapping[str, Any]) -> None:
        name = str(step.get("step", self.step))
        if "question" in step:
            self.question = str(step["question"])
        elif name == "launch":
            self._rank(step)
            self.step = name
        elif name in STEPS:
            self.told[name] = step
            self.step = name
            if "waiting_for" not in step:
                done = "launch" if name == "ready" else name
                self.lasted[done], self._mark = self._now() - self._mark, self._now()
            self._made.clear()
            if name == "ready":
                self._ready_at = time.time()
            if name == "check":
                self._states = {group: ["pending"] * size for group, size in step.get("groups", {}).items()}

    def finish(self, outcome: Outcome) -> None:
        self.question = ""
        self.outcome = outcome

    def answer(self, yes: bool) -> None:
        """Take in what was answered to the question; the time until then belongs to no step."""
        self.question = ""
        self.cancelled = self.cancelled or not yes
        self._mark = self._now()

    def _rank(self, step: Mapping[str, Any]) -> None:
        states = self._states.get(str(step.get("component")))
        rank = step.get("rank")
        if states is not None and isinstance(rank, int) and 0 <= rank < len(states):
            states[rank] = step.get("state", "starting")
            self._since[str(step["component"]), rank] = self._now()
            self._made.pop(str(step["component"]), None)

    # What is known

    @property
    def under_way(self) -> bool:
        """Whether it can be rolled back: on a lasting cluster, a job that is ready is independent of its launch."""
        return self.outcome is None and (self.local or not self.ready)

    @property
    def confirmed(self) -> bool:
        """Whether it has begun to change something."""
        return STEPS.index(self.step) > STEPS.index("check")

    @property
    def ready(self) -> bool:
        return "ready" in self.told

    @property
    def running(self) -> bool:
        """Whether its job is there."""
        return self.ready and not isinstance(self.outcome, Failure) and not (self.local and self.outcome is not None)

    @property
    def address(self) -> str:
        """Of the cluster; empty until it is connected."""
        return str(self.told.get("connect", {}).get("address", ""))

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The matched nodes, by planned rank."""
        found = self.told.get("match", {}).get("nodes", ())
        return tuple(Node(int(one["gpus"]), name=str(one["host"]), ip=str(one["ip"])) for one in found)

    @property
    def expected(self) -> Sequence[Mapping[str, Any]]:
        """For each rank, where it will be."""
        return self._listed("check", "expected")

    @property
    def moved(self) -> Sequence[Mapping[str, Any]]:
        """Ranks that would not be on their planned devices."""
        return self._listed("probe", "moved")

    @property
    def used(self) -> Sequence[Mapping[str, Any]]:
        """Planned GPUs that others use without a reservation."""
        return self._listed("check", "used")

    def alive(self, component: str) -> int:
        return self._states[component].count("alive")

    @property
    def alive_by_component(self) -> dict[str, int]:
        return {component: self.alive(component) for component in self._states}

    @property
    def size(self) -> int:
        return sum(map(len, self._states.values()))

    @property
    def steps(self) -> list[LaunchStep]:
        """All steps, also those to come."""
        known = {name: (words, done) for name, words, done in self.progress()}
        found: list[LaunchStep] = []
        over: Progress = "failed" if isinstance(self.outcome, Failure) else "todo" if self.question else "doing"
        for name in STEPS:
            words, done = known.get(name, ("", False))
            doing = not done and (name in known or not any(one.progress == over for one in found))
            short = _SHORT[name](self.told[name]) if name in _SHORT and done else ""
            if name == "launch" and words:
                short = f"{sum(self.alive_by_component.values())} of {self.size}"
            progress: Progress = "done" if done else over if doing else "todo"
            seconds = self._now() - self._mark if progress == "doing" and self.outcome is None else None
            found.append(LaunchStep(name, progress, words, short, self.lasted.get(name, seconds)))
        return found

    @property
    def waiting(self) -> list[WaitedFor]:
        """Ranks that are not alive yet, by component and state; apart from others those that are slow or read."""
        found = []
        for component, states in self._states.items():
            groups: dict[tuple[State, bool], list[int]] = {}
            for rank, state in enumerate(states):
                if state in ("starting", "restarting", "pending"):
                    slow = state == "starting" and self.seconds(component, rank) >= SLOW
                    read = (component, rank) == self.output_of
                    groups.setdefault((state, slow or read), []).append(rank)
            for (state, _), ranks in groups.items():
                longest = max(self.seconds(component, rank) for rank in ranks)
                found.append(WaitedFor(component, tuple(ranks), state, longest, self._reason(component, ranks, state)))
        return found

    def seconds(self, component: str, rank: int) -> float:
        """For how long a rank has been in its state."""
        now = self._now()
        return now - self._since.get((component, rank), now)

    def _reason(self, component: str, ranks: Sequence[int], state: State) -> str:
        if state != "starting":
            return "" if state == "pending" else state
        if self.output and (component, ranks[0]) == self.output_of and len(ranks) == 1:
            return self.output[-1].strip()
        placements = self.plan.components[component].placements
        nodes = {placements[rank].cluster_node_rank for rank in ranks if rank < len(placements)}
        return f"starts on {self.plan.nodes[nodes.pop()].name if len(nodes) == 1 else count(len(nodes), 'node')}"

    def place_of(self, component: str, rank: int) -> str:
        """`node1/gpu1`."""
        placed = self.plan.components[component].placements[rank]
        kind = self.plan.kind_of(placed)
        return place_text(self.plan.nodes[placed.cluster_node_rank].name, kind, placed.devices)

    def reads(self, rank: tuple[str, int]) -> None:
        """From now on the output of another rank is read."""
        self.output_of, self.output_note = rank, ""
        self.output.clear()

    @property
    def slowest(self) -> tuple[str, int] | None:
        """The rank that has been starting for the longest time."""
        ranks = ((name, rank, state) for name, states in self._states.items() for rank, state in enumerate(states))
        starting = ((name, rank) for name, rank, state in ranks if state == "starting")
        return min(starting, key=lambda one: self._since.get(one, 0.0), default=None)

    @property
    def left(self) -> float | None:
        """Seconds until all ranks are alive, if they go on as they did; None while that cannot be said."""
        alive = sum(self.alive_by_component.values())
        if self.step != "launch" or self.ready or alive < max(1, self.size // 10):
            return None
        return (self._now() - self._mark) / alive * (self.size - alive)

    @property
    def elapsed(self) -> float:
        return self._now() - self.begun

    @property
    def ending(self) -> str:
        """What happens once it is cancelled: what runs is stopped, what is half done undone."""
        return "stopping" if self.ready else "rolling back"

    @property
    def words(self) -> str:
        """Progress, for the top line."""
        if self.question:
            return f"{self.job}: waiting for confirmation"
        if self.cancelled:
            return f"{self.job}: {self.ending}"
        if self.ready:
            return f"{self.job}: running"
        if self.step == "launch":
            return f"{self.job}: {sum(map(self.alive, self._states))} of {self.size} alive"
        return f"{self.job}: {self._doing}"

    def progress(self) -> Iterator[tuple[str, str, bool]]:
        """Each step reached so far: its name, its details, and whether it is done."""
        for name in STEPS:
            if name == "launch" and self.step in ("launch", "ready"):
                parts = ", ".join(f"{one} {self.alive(one)}/{len(states)}" for one, states in self._states.items())
                yield name, parts, self.ready
            elif name in self.told:
                waiting = "waiting_for" in self.told[name]
                yield name, _WORDS[name](self.told[name]), not waiting

    @property
    def next_words(self) -> str:
        if self.local and not self.told:
            return f"starting an embedded cluster of {count(len(self.plan.nodes), 'node')}"
        return self._doing

    @property
    def _doing(self) -> str:
        """The step after the last that was reported; ranks are started one by one."""
        step = STEPS.index(self.step) + (bool(self.told) and self.step != "launch")
        return _DOING[STEPS[min(len(STEPS) - 1, step)]]

    def over(self, observation: Observation | None) -> Observation | None:
        """What is seen of the cluster, with this launch's ranks in it until the cluster shows them itself."""
        if observation is not None and self.ready and observation.job == self.job:
            # A job that was stopped, or that went with its head, is gone.
            self._taken_over |= bool(observation.ranks) or observation.time > self._ready_at + UNSEEN
        if self._taken_over:
            return observation
        base = observation or Observation(self._now(), "ray", _unread(self.nodes or self.plan.nodes))
        return replace(base, ranks={name: self._ranks(name) for name in self._states}, job=self.job)

    def _ranks(self, component: str) -> tuple[RankState, ...]:
        made = self._made.get(component)
        if made is None:
            nodes = {one["rank"]: one["node_rank"] for one in self.expected if one["component"] == component}
            pids = {one["rank"]: one["pid"] for one in self._listed("ready", "ranks") if one["component"] == component}
            made = self._made[component] = tuple(
                RankState(
                    component,
                    rank,
                    state,
                    pid=pids.get(rank),
                    node=nodes.get(rank),
                    since=self._since.get((component, rank)) if state == "starting" else None,
                )
                for rank, state in enumerate(self._states[component])
            )
        return made

    def _listed(self, step: str, name: str) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self.told.get(step, {}).get(name, ())
        return found


def worker_of(plan: Plan, component: str) -> str:
    """The class that a rank of a component will run, by name: it is imported there and nowhere else."""
    return str(plan.launch.get(component, {}).get("worker") or BUILT_IN)


def gpu_text(ids: Sequence[str] | None, planned: Sequence[int]) -> str:
    """GPUs that a rank will have, as far as that can be foreseen."""
    if not planned:
        return "no GPU"
    if ids is None or not all(one.isdecimal() for one in ids):
        return f"GPU {ranges(planned) if ids is None else ','.join(ids)}{'?' if ids is None else ''}"
    return f"GPU {ranges(map(int, ids))}"


def _unread(nodes: Sequence[Node]) -> tuple[NodeSample, ...]:
    """Nodes of which nothing is known yet, in the order of their ranks."""
    return tuple(
        NodeSample(rank, node.name, node.ip, devices=tuple(DeviceSample(index) for index in range(node.gpus)))
        for rank, node in enumerate(nodes)
    )


_DOING = {
    "connect": "connecting",
    "match": "matching nodes",
    "check": "checking",
    "reserve": "reserving",
    "probe": "learning GPUs",
    "launch": "starting ranks",
    "ready": "running",
}
_SHORT: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "connect": lambda step: f"Ray {step['ray']}",
    "match": lambda step: count(len(step["nodes"]), "node"),
    "check": lambda step: launch_steps.needed(step),
    "probe": launch_steps.moved,
}
"""Of steps that are done, in a few words."""

_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "connect": launch_steps.connected,
    "match": lambda step: launch_steps.matched(step, 4),
    "check": lambda step: f"fits: {launch_steps.needed(step)} needed",
    "reserve": launch_steps.reserved,
    "probe": lambda step: f"{count(len(step['devices']), 'device')}, {launch_steps.moved(step)}",
    "ready": lambda step: f"{count(len(step['ranks']), 'rank')} alive",
}

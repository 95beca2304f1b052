"""A launch under way, as far as its steps tell. No Textual here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from placetui.observe import step_words
from placetui.observe.model import DeviceSample, NodeSample, Observation, RankState, State
from placetui.observe.operations import Failure
from placetui.placement.plan import Plan
from placetui.placement.problems import count
from placetui.placement.topology import Node

STEPS = ("connect", "match", "check", "reserve", "probe", "launch", "ready")
BUILT_IN = "built-in worker"

Outcome: TypeAlias = "Mapping[str, Any] | Failure"


class Launch:
    """What is known of one launch; the steps of `placetui up --json` go in."""

    def __init__(self, job: str, plan: Plan, *, local: bool = False, dry_run: bool = False, unsaved: bool = False):
        self.job = job
        self.plan = plan
        self.local = local
        """Whether it starts an embedded cluster, which lives as long as the launch is not over."""

        self.dry_run = dry_run
        self.unsaved = unsaved
        """Whether the text differs from the file."""

        self.step = "connect"
        self.told: dict[str, Mapping[str, Any]] = {}
        """By step, the last that was told of it."""

        self.question = ""
        """What waits for an answer: `launch`, `moved`, or nothing."""

        self.cancelled = False
        self.taken_over = False
        """Whether the job was seen on the cluster itself."""

        self.outcome: Outcome | None = None
        self._states: dict[str, list[State]] = {}
        self._made: dict[str, tuple[RankState, ...]] = {}

    # What goes in

    def take(self, step: Mapping[str, Any]) -> None:
        """The next step."""
        name = str(step.get("step", self.step))
        if "question" in step:
            self.question = str(step["question"])
        elif name == "launch":
            self._rank(step)
            self.step = name
        elif name in STEPS:
            self.told[name] = step
            self.step = name
            self._made.clear()
            if name == "check":
                self._states = {group: ["pending"] * size for group, size in step.get("groups", {}).items()}

    def finish(self, outcome: Outcome) -> None:
        """It is over."""
        self.question = ""
        self.outcome = outcome

    def _rank(self, step: Mapping[str, Any]) -> None:
        states = self._states.get(str(step.get("component")))
        rank = step.get("rank")
        if states is not None and isinstance(rank, int) and 0 <= rank < len(states):
            states[rank] = step.get("state", "starting")
            self._made.pop(str(step["component"]), None)

    # What is known

    @property
    def under_way(self) -> bool:
        """Whether it can be taken back: on a cluster that stays, a job that is ready needs no launch any more."""
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
        found: Sequence[Mapping[str, Any]] = self.told.get("check", {}).get("expected", ())
        return found

    @property
    def moved(self) -> Sequence[Mapping[str, Any]]:
        """Ranks that would not be on their planned devices."""
        found: Sequence[Mapping[str, Any]] = self.told.get("probe", {}).get("moved", ())
        return found

    def alive(self, component: str) -> int:
        return self._states[component].count("alive")

    @property
    def words(self) -> str:
        """How far it is, for the top line."""
        if self.question:
            return f"{self.job}: asks"
        if self.cancelled:
            return f"{self.job}: taking back"
        if self.ready:
            return f"{self.job}: running"
        if self.step == "launch":
            alive = sum(map(self.alive, self._states))
            return f"{self.job}: {alive} of {sum(map(len, self._states.values()))} alive"
        following = STEPS[min(len(STEPS) - 1, STEPS.index(self.step) + bool(self.told))]
        return f"{self.job}: {_DOING.get(following, following)}"

    def progress(self) -> Iterator[tuple[str, str, bool]]:
        """Each step that was reached: its name, what is known of it, and whether it is done."""
        for name in STEPS:
            if name == "launch" and self.step in ("launch", "ready"):
                parts = ", ".join(f"{one} {self.alive(one)}/{len(states)}" for one, states in self._states.items())
                yield name, parts, self.ready
            elif name in self.told:
                waiting = "waiting_for" in self.told[name]
                yield name, _WORDS[name](self.told[name]), not waiting

    @property
    def next_words(self) -> str:
        """What it does now."""
        if self.local and not self.told:
            return f"starting an embedded cluster of {count(len(self.plan.nodes), 'node')}"
        reached = STEPS.index(self.step) + (1 if self.told or self.step != "connect" else 0)
        following = STEPS[min(reached, len(STEPS) - 1)] if self.step != "launch" else "launch"
        return _DOING.get(following, following)

    def over(self, observation: Observation | None) -> Observation:
        """What is seen of the cluster, with this launch's ranks in it."""
        base = observation or Observation(time.time(), "ray", _unread(self.plan))
        return replace(base, ranks={name: self._ranks(name) for name in self._states}, job=self.job)

    def _ranks(self, component: str) -> tuple[RankState, ...]:
        made = self._made.get(component)
        if made is None:
            nodes = {one["rank"]: one["node_rank"] for one in self.expected if one["component"] == component}
            pids = {one["rank"]: one["pid"] for one in self._ready_ranks if one["component"] == component}
            made = self._made[component] = tuple(
                RankState(component, rank, state, pid=pids.get(rank), node=nodes.get(rank))
                for rank, state in enumerate(self._states[component])
            )
        return made

    @property
    def _ready_ranks(self) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self.told.get("ready", {}).get("ranks", ())
        return found


def worker_of(plan: Plan, component: str) -> str:
    """The class that a rank of a component will run, by name: it is imported there and nowhere else."""
    return str(plan.launch.get(component, {}).get("worker") or BUILT_IN)


def gpu_text(ids: Sequence[str] | None, planned: Sequence[int]) -> str:
    """GPUs that a rank will have, as far as that can be foreseen."""
    if not planned:
        return "no GPU"
    return f"GPU {','.join(str(one) for one in (planned if ids is None else ids))}{'?' if ids is None else ''}"


def _unread(plan: Plan) -> tuple[NodeSample, ...]:
    """The nodes of a plan, of which nothing is known yet."""
    return tuple(
        NodeSample(node.rank, node.name, node.ip, devices=tuple(DeviceSample(index) for index in range(node.gpus)))
        for node in plan.nodes
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
_WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "connect": step_words.connected,
    "match": lambda step: step_words.matched(step, 4),
    "check": lambda step: f"fits: {step_words.needed(step)} needed",
    "reserve": step_words.reserved,
    "probe": lambda step: f"{count(len(step['devices']), 'device')}, {step_words.moved(step)}",
    "ready": lambda step: f"{count(len(step['ranks']), 'rank')} alive",
}

"""Which of the running jobs belongs to a plan, and what its ranks are, told as the states of a watched job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from placetui.frameworks.cluster_facts import ActorSeen, RankSeen
from placetui.frameworks.recognition import RecognisedJob
from placetui.frameworks.registry import framework, framework_of
from placetui.observe.model import JobSummary, RankState, State
from placetui.observe.operations import job_name
from placetui.placement.plan import Plan
from placetui.placement.wording import listing

STATES: dict[str, State] = {
    "DEPENDENCIES_UNREADY": "pending",
    "PENDING_CREATION": "starting",
    "ALIVE": "alive",
    "RESTARTING": "restarting",
    "DEAD": "dead",
}

NEVER_CAME = "none of its processes has started"


@dataclass(frozen=True, slots=True)
class PlanOutline:
    """As much of a plan as it takes to find the job that it describes."""

    framework: str
    sizes: Mapping[str, int]
    groups: Mapping[str, str] = field(default_factory=dict)
    """Component by the name under which its processes run."""

    not_launched: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By the end of a script's path, components that it does not start."""

    file: str = ""
    job: str = ""
    """What a job of ours would be called that was launched with this file."""

    @classmethod
    def of(cls, plan: Plan) -> PlanOutline:
        """Of a plan with names: see `Framework.with_names`."""
        return cls(
            framework_of(plan).name,
            {name: part.world_size for name, part in plan.components.items()},
            {part.group_name: name for name, part in plan.components.items() if part.group_name},
            {script: sorted(names) for script, names in plan.not_launched.items()},
            plan.source,
            job_name(plan.source) if plan.source else "",
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> PlanOutline | None:
        """What `to_dict` wrote; None of nothing."""
        return cls(**value) if value else None

    def starts(self, component: str, entrypoint: str) -> bool:
        """Whether the script on a command line is known to start a component."""
        for script, left_out in self.not_launched.items():
            if any(word.endswith(script) for word in entrypoint.split()):
                return component not in left_out
        return not self.not_launched


def follow(
    jobs: Sequence[RecognisedJob], outline: PlanOutline | None, wanted: str = "", kept: str = ""
) -> tuple[RecognisedJob | None, str]:
    """The running job to follow, and what to say about the choice. A `wanted` one is named by its name, submission id
    or Ray job id, else the one that fits the outline best is taken; the one that was `kept` stays as long as it runs.
    Without an outline it is the only one that runs.
    """
    if wanted:
        for job in jobs:
            if wanted in (job.name, job.job.id, job.job.submission):
                return (named(job, outline) if outline else job), ""
        return None, ""
    running = [job for job in jobs if not job.ended and job.ranks]
    if outline is None:
        only = running if len(running) == 1 else [job for job in running if job.name == kept]
        return (only[0] if only else None), ""
    fitting = [one for job in running if _fits(one := named(job, outline), outline)]
    if not fitting:
        return None, _why_none(running, outline)
    best = max(fitting, key=lambda job: (job.name == kept, _score(job, outline), job.job.started, job.job.id))
    equal = sum(_score(job, outline) == _score(best, outline) for job in fitting)
    note = f"{equal} running jobs match this file; following {best.name}"
    return best, note if equal > 1 else ""


def named(job: RecognisedJob, outline: PlanOutline) -> RecognisedJob:
    """The job with the components of a plan, where it is known by the names of groups only."""
    if job.framework != outline.framework or set(job.world_sizes) <= set(outline.sizes):
        return job
    names = dict(outline.groups)
    unsure = framework(job.framework).interchangeable
    called = [name for name in job.world_sizes if name in unsure and name not in outline.sizes]
    planned = [name for name in outline.sizes if name in unsure and name not in job.world_sizes]
    if len(called) == len(planned) == 1:
        names |= {**{name: name for name in job.world_sizes}, called[0]: planned[0]}
    if not any(one.component in names for one in job.ranks):
        return job
    ranks = tuple(replace(one, component=names[one.component]) for one in job.ranks if one.component in names)
    others = tuple(
        replace(one, component=f"worker {one.component}", service=True)
        for one in job.ranks
        if one.component not in names
    )
    return replace(job, ranks=ranks, services=(*job.services, *others))


def _fits(job: RecognisedJob, outline: PlanOutline) -> bool:
    sizes = job.world_sizes
    return job.framework == outline.framework and bool(sizes) and set(sizes) <= set(outline.sizes)


def _score(job: RecognisedJob, outline: PlanOutline) -> tuple[int, bool]:
    equal = sum(outline.sizes[name] == size for name, size in job.world_sizes.items())
    stem = outline.file.rpartition("/")[2].partition(".")[0]
    return equal, bool(stem) and stem in job.job.entrypoint


def _why_none(running: Sequence[RecognisedJob], outline: PlanOutline) -> str:
    if not running:
        return ""
    other = next((job for job in running if job.framework == outline.framework), running[0])
    title = framework(other.framework).title
    if other.framework != outline.framework:
        return f"the running job {other.name} is a {title} job, and this file is not"
    return f"a running {title} job has other components: {components_of(other)}"


def components_of(job: RecognisedJob) -> str:
    """`actor 8, rollout 4`."""
    return listing(f"{name} {size}" for name, size in job.world_sizes.items())


def rank_states(
    job: RecognisedJob, outline: PlanOutline | None, nodes: Mapping[str, int]
) -> dict[str, tuple[RankState, ...]]:
    """The ranks of a job by component, without those of components that are planned and not launched."""
    found: dict[str, tuple[RankState, ...]] = {}
    settled = all(job.actors[one.actor].state in ("ALIVE", "DEAD") for one in job.ranks)
    for name, size in job.world_sizes.items():
        found[name] = tuple(
            rank_state(one, job.actors[one.actor], nodes)
            if (one := job.by_rank.get((name, rank))) is not None
            else RankState(name, rank, "pending", NEVER_CAME if settled else None)
            for rank in range(size)
        )
    if outline is None:
        return found
    for name, size in outline.sizes.items():
        if name in found:
            continue
        if not settled or outline.starts(name, job.job.entrypoint):
            reason = NEVER_CAME if settled else None
            found[name] = tuple(RankState(name, rank, "pending", reason) for rank in range(size))
    return found


def rank_state(one: RankSeen, actor: ActorSeen, nodes: Mapping[str, int]) -> RankState:
    """Where a rank is in its life, from its actor's row."""
    state = "pending" if one.released else STATES.get(actor.state, "pending")
    reason = (actor.reason or "its process ended") if state in ("dead", "restarting") else None
    return RankState(
        one.component,
        one.rank,
        state,
        reason,
        actor.restarts,
        actor.pid or None,
        nodes.get(actor.node),
        actor.started or None,
    )


def summary(job: RecognisedJob) -> JobSummary:
    """A job in a line."""
    return JobSummary(
        job.name,
        job.framework,
        job.job.id,
        job.job.submission,
        job.job.entrypoint,
        job.job.user,
        job.job.started or None,
        job.job.ended or None,
        job.phase,
        components_of(job),
    )

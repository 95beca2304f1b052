"""What the model-parallel modes look at, and what must be true of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from placetui.placement.components import Placing
from placetui.placement.interpolation import MISSING, Reader, Unresolved
from placetui.placement.problems import Path, Problems, count, listing, quoted
from placetui.placement.topology import CLUSTER, NODE_LABEL, Cluster

_DISJOINT = (
    ("actor", "rollout"),
    ("actor", "inference"),
    ("rollout", "inference"),
    ("critic", "actor"),
    ("critic", "rollout"),
    ("critic", "critic_inference"),
    ("rollout", "critic_inference"),
)


@dataclass
class Job:
    """The components that the model-parallel modes look at, and what they need to know."""

    placings: dict[str, Placing | None]
    reader: Reader
    cluster: Cluster
    problems: Problems
    ranks: dict[str, list[int]] = field(default_factory=dict)
    """Device numbers by role; `inference` may come from `actor_inference`."""

    sources: dict[str, str] = field(default_factory=dict)
    """The component that plays a role."""

    def error(self, rule: str, role: str | None, message: str, hint: str = "") -> None:
        self.problems.error(rule, message, hint=hint, path=self.path(role), component=self.sources.get(role or ""))

    def warning(self, rule: str, role: str, message: str, hint: str = "") -> None:
        self.problems.warning(rule, message, hint=hint, path=self.path(role), component=self.sources.get(role))

    def path(self, role: str | None) -> Path:
        placing = self.placings.get(self.sources.get(role or "", ""))
        return placing.rule.path if placing else (CLUSTER, "component_placement")

    def size(self, *path: str, default: int = 1) -> int:
        """A parallel size: a whole number above 0."""
        value = self.reader.get(*path, default=default)
        if type(value) is int and value > 0:
            return value
        if not isinstance(value, Unresolved):
            self.problems.error(
                "mp_size_invalid",
                f"`{'.'.join(path)}` must be a whole number above 0, not `{value!r}`",
                hint="write `1`, or leave it out",
                path=path,
            )
        return 1

    def need_section(self, *path: str) -> None:
        """Report a section that is missing or no section."""
        name = ".".join(path)
        if self.reader.has(*path) and not self.reader.is_section(*path):
            self.problems.error(
                "not_a_mapping",
                f"`{name}` must be a section",
                hint=f"write the sizes below it, or `{name}: {{}}`",
                path=path,
            )
        elif not self.reader.has(*path):
            self.problems.error(
                "mp_missing_section",
                f"the model-parallel modes read parallel sizes from `{name}`, which is not there",
                hint=f"add the section `{name}` (it may be empty: `{{}}`), or choose `--mode hybrid`",
                path=path[:1],
            )

    def tp(self, *sections: str) -> int:
        """Tensor-parallel size of the first of these sections that has a model."""
        for section in sections:
            if self.reader.has(section, "model"):
                return self.size(section, "model", "tensor_model_parallel_size")
        return 1


def warn_of_dropped(job: Job, role: str, placing: Placing) -> None:
    """These modes keep only the device numbers of a rule."""
    groups = placing.rule.groups
    if groups != (CLUSTER,):
        meant = "nodes" if groups == (NODE_LABEL,) else f"group {listing(quoted(groups))}"
        job.warning(
            "mp_ignores_node_group",
            role,
            f"`{job.sources[role]}` names {meant}, but in this mode its numbers mean devices of the whole cluster",
            "leave `node_group` out and number the devices over all nodes",
        )
    if any(len(segment.processes) != len(segment.resources) for segment in placing.rule.segments):
        job.warning(
            "mp_ignores_processes",
            role,
            f"the process ranks of `{job.sources[role]}` are not used in this mode: sizes come from the model sections",
            "leave the part after the colon out",
        )
    if role == "reward" and placing.resources[-1] - placing.resources[0] + 1 != len(placing.resources):
        ranks = placing.resources
        job.warning(
            "mp_reward_filled",
            role,
            f"`reward` gets every device from {ranks[0]} to {ranks[-1]}: the gaps are filled in this mode",
            f"write `{ranks[0]}-{ranks[-1]}`, or a rule without gaps",
        )


def overlaps(job: Job) -> tuple[str, str, list[int]] | None:
    """The first two components that must not share devices but do, and which."""
    for one, other in _DISJOINT:
        shared = set(job.ranks.get(one, ())).intersection(job.ranks.get(other, ()))
        if shared:
            return one, other, sorted(shared)
    return None


def check_inference(job: Job) -> None:
    """What inference components need when actor and rollout are apart."""
    if "inference" not in job.ranks:
        job.warning(
            "mp_no_inference",
            "rollout",
            "`actor` and `rollout` are apart and there is no `inference`",
            "add `inference:` with devices of its own, as RLinf's documentation asks; its code does without",
        )
    else:
        section = "inference" if job.sources["inference"] == "inference" else "actor_inference"
        fits_tp(job, "inference", job.tp("inference", "actor_inference", "actor"), section, "mp_inference_tp")
        if job.reader.get("algorithm", "recompute_logprobs", default=MISSING) is not True:
            job.problems.error(
                "mp_recompute_logprobs",
                "an `inference` component needs `algorithm.recompute_logprobs: true`",
                hint="write `recompute_logprobs: true`, or remove the component",
                path=("algorithm", "recompute_logprobs"),
                component=job.sources["inference"],
            )
    if "critic_inference" in job.ranks:
        tp = job.tp("critic_inference", "critic")
        fits_tp(job, "critic_inference", tp, "critic_inference", "mp_inference_tp")


def fits_tp(job: Job, role: str, tp: int, setting: str, rule: str | None = None) -> bool:
    """Whether a component has devices enough for its tensor parallel size; says so if not."""
    size = len(job.ranks[role])
    if tp <= size:
        return True
    job.error(
        rule or f"mp_{role}_tp",
        role,
        f"the tensor parallel size {tp} of `{job.sources[role]}` is larger than its {count(size, 'device')}",
        f"give it at least {count(tp, 'device')}, or lower `{setting}`",
    )
    return False


def check_automatic(job: Job) -> None:
    """What `cluster.auto_scheduler` needs: components apart, in order, over the whole cluster."""
    overlap = overlaps(job)
    if overlap:
        job.error(
            "mp_auto_not_disaggregated",
            overlap[1],
            f"with `auto_scheduler`, `{overlap[0]}` and `{overlap[1]}` cannot share devices ({listing(overlap[2])})",
            "give each component devices of its own, or remove `auto_scheduler`",
        )
        return
    check_inference(job)
    order = [role for role in ("actor", "rollout", "inference") if role in job.ranks]
    expected = 0
    for role in order:
        ranks = job.ranks[role]
        if ranks[0] != expected:
            job.error(
                "mp_auto_order",
                role,
                f"with `auto_scheduler`, `{job.sources[role]}` must start at device {expected}, not {ranks[0]}",
                "order them `actor`, `rollout`, `inference` without gaps, from device 0 on",
            )
            return
        expected = ranks[-1] + 1
    total = job.cluster.num_accelerators
    if expected != total:
        job.error(
            "mp_auto_order",
            order[-1],
            f"with `auto_scheduler`, `{job.sources[order[-1]]}` must end at the last device, {total - 1}",
            "use all devices of the cluster",
        )


def check_agents(job: Job) -> None:
    """What multi-agent training needs of its components."""
    actor = set(job.ranks["actor"])
    if set(job.ranks["reward"]) != actor:
        job.error(
            "ma_actor_reward",
            "reward",
            "`actor` and `reward` must have the same devices",
            "give `reward` the actor's rule",
        )
    others: list[tuple[str, Placing]] = []
    for name, placing in job.placings.items():
        if placing is None:
            continue
        outside = sorted(set(placing.resources) - actor)
        if name.startswith("rollout") and outside:
            job.problems.error(
                "ma_rollout_subset",
                f"`{name}` uses device {listing(outside)}, which `actor` does not have",
                hint="keep every rollout within the actor's devices",
                path=placing.rule.path,
                component=name,
            )
        if name not in ("actor", "rollout", "reward", "inference") and placing.kind == "flexible":
            for earlier, rule in others:
                shared = sorted(set(rule.resources).intersection(placing.resources))
                if shared:
                    job.problems.error(
                        "ma_conflict",
                        f"`{earlier}` and `{name}` both use device {listing(shared)}",
                        hint="give each agent devices of its own",
                        path=placing.rule.path,
                        component=name,
                    )
            others.append((name, placing))

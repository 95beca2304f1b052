"""What the model-parallel modes look at, and what must be true of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from placetui.frameworks.rlinf.components import RuleStrategy
from placetui.placement.config.reader import MISSING, Reader, Unresolved
from placetui.placement.problems import Path, Problems
from placetui.placement.topology import CLUSTER, NODE_LABEL, Topology
from placetui.placement.wording import count, listing, quoted

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
class ParallelRoles:
    """The components that the model-parallel modes look at, and what they need to know."""

    strategies: dict[str, RuleStrategy | None]
    reader: Reader
    cluster: Topology
    problems: Problems
    ranks: dict[str, list[int]] = field(default_factory=dict)
    """Device numbers by role; `inference` may come from `actor_inference`."""

    sources: dict[str, str] = field(default_factory=dict)
    """The component that plays a role."""

    from_first: bool = False
    """Whether rollout starts on the actor's devices: `use_pre_process_policy`."""

    def error(self, rule: str, role: str | None, message: str, hint: str = "") -> None:
        self.problems.error(rule, message, hint=hint, path=self.path(role), component=self.sources.get(role or ""))

    def warning(self, rule: str, role: str, message: str, hint: str = "") -> None:
        self.problems.warning(rule, message, hint=hint, path=self.path(role), component=self.sources.get(role))

    def path(self, role: str | None) -> Path:
        strategy = self.strategies.get(self.sources.get(role or "", ""))
        return strategy.rule.path if strategy else (CLUSTER, "component_placement")

    def size(self, *path: str, default: int = 1) -> int:
        """A parallel size: a whole number above 0."""
        value = self.reader.get(*path, default=default)
        if type(value) is int and value > 0:
            return value
        if not isinstance(value, Unresolved):
            message = f"`{'.'.join(path)}` must be a whole number above 0, not `{value!r}`"
            self.problems.at(path).error("mp_size_invalid", message, hint="write `1`, or leave it out")
        return 1

    def need_section(self, *path: str) -> None:
        """Report a section that is missing or no section."""
        name = ".".join(path)
        if self.reader.has(*path) and not self.reader.is_section(*path):
            hint = f"write the sizes below it, or `{name}: {{}}`"
            self.problems.at(path).error("not_a_mapping", f"`{name}` must be a section", hint=hint)
        elif not self.reader.has(*path):
            message = f"the model-parallel modes read parallel sizes from `{name}`, which is not there"
            hint = f"add the section `{name}` (it may be empty: `{{}}`), or choose `--mode hybrid`"
            self.problems.at(path[:1]).error("mp_missing_section", message, hint=hint)

    def tp(self, *sections: str) -> int:
        """Tensor-parallel size of the first of these sections that has a model."""
        for section in sections:
            if self.reader.has(section, "model"):
                return self.size(section, "model", "tensor_model_parallel_size")
        return 1

    def parallel_size(self, role: str, what: str) -> int:
        """A size that a program may ask for: `tp`, `pp`, `dp` or `world` of a role, as RLinf computes it."""
        if what == "world":
            return self._world(role)
        if what == "dp":
            context = self.size(role, "model", "context_parallel_size") if role in ("actor", "critic") else 1
            return self._world(role) // (self.parallel_size(role, "tp") * self.parallel_size(role, "pp") * context)
        if role == "rollout":
            return self.size("rollout", "tensor_parallel_size" if what == "tp" else "pipeline_parallel_size")
        name = "tensor_model_parallel_size" if what == "tp" else "pipeline_model_parallel_size"
        if role == "inference":
            section = next((one for one in ("inference", "actor_inference") if self.reader.has_key(one)), "actor")
            default = self.parallel_size("actor", "pp") if what == "pp" and section != "actor" else 1
            return self.size(section, "model", name, default=default)
        if role == "critic_inference" and not self.reader.has(role, "model", name):
            role = "critic"
        return self.size(role, "model", name)

    def _world(self, role: str) -> int:
        ranks = self.ranks.get(role)
        if ranks and role == "rollout" and self.from_first:
            return ranks[-1] + 1
        return len(ranks or ())


def warn_of_dropped(roles: ParallelRoles, role: str, strategy: RuleStrategy) -> None:
    """These modes keep only the device numbers of a rule."""
    groups = strategy.rule.groups
    if groups != (CLUSTER,):
        meant = "nodes" if groups == (NODE_LABEL,) else f"group {listing(quoted(groups))}"
        roles.warning(
            "mp_ignores_node_group",
            role,
            f"`{roles.sources[role]}` names {meant}, but in this mode its numbers mean devices of the whole cluster",
            "leave `node_group` out and number the devices over all nodes",
        )
    if any(len(segment.processes) != len(segment.resources) for segment in strategy.rule.segments):
        roles.warning(
            "mp_ignores_processes",
            role,
            f"the process ranks of `{roles.sources[role]}` are not used in this mode: the models give the sizes",
            "leave the part after the colon out",
        )
    if role == "reward" and strategy.resources[-1] - strategy.resources[0] + 1 != len(strategy.resources):
        ranks = strategy.resources
        roles.warning(
            "mp_reward_filled",
            role,
            f"`reward` gets every device from {ranks[0]} to {ranks[-1]}: the gaps are filled in this mode",
            f"write `{ranks[0]}-{ranks[-1]}`, or a rule without gaps",
        )


def overlaps(roles: ParallelRoles) -> tuple[str, str, list[int]] | None:
    """The first two components that must not share devices but do, and which."""
    for one, other in _DISJOINT:
        shared = set(roles.ranks.get(one, ())).intersection(roles.ranks.get(other, ()))
        if shared:
            return one, other, sorted(shared)
    return None


def check_inference(roles: ParallelRoles) -> None:
    """What inference components need when actor and rollout are apart."""
    if "inference" not in roles.ranks:
        roles.warning(
            "mp_no_inference",
            "rollout",
            "`actor` and `rollout` have separate devices and there is no `inference`",
            "add `inference:` with its own devices, as RLinf's documentation requires; its code works without",
        )
    else:
        section = "inference" if roles.sources["inference"] == "inference" else "actor_inference"
        fits_tp(roles, "inference", roles.tp("inference", "actor_inference", "actor"), section, "mp_inference_tp")
        if roles.reader.get("algorithm", "recompute_logprobs", default=MISSING) is not True:
            at = roles.problems.at(("algorithm", "recompute_logprobs"), component=roles.sources["inference"])
            message = "an `inference` component needs `algorithm.recompute_logprobs: true`"
            hint = "write `recompute_logprobs: true`, or remove the component"
            at.error("mp_recompute_logprobs", message, hint=hint)
    if "critic_inference" in roles.ranks:
        tp = roles.tp("critic_inference", "critic")
        fits_tp(roles, "critic_inference", tp, "critic_inference", "mp_inference_tp")


def fits_tp(roles: ParallelRoles, role: str, tp: int, setting: str, rule: str | None = None) -> bool:
    """Whether a component has devices enough for its tensor parallel size; says so if not."""
    size = len(roles.ranks[role])
    if tp <= size:
        return True
    roles.error(
        rule or f"mp_{role}_tp",
        role,
        f"the tensor parallel size {tp} of `{roles.sources[role]}` is larger than its {count(size, 'device')}",
        f"give it at least {count(tp, 'device')}, or lower `{setting}`",
    )
    return False


def check_automatic(roles: ParallelRoles) -> None:
    """What `cluster.auto_scheduler` needs: components apart, in order, over the whole cluster."""
    overlap = overlaps(roles)
    if overlap:
        roles.error(
            "mp_auto_not_disaggregated",
            overlap[1],
            f"with `auto_scheduler`, `{overlap[0]}` and `{overlap[1]}` cannot share devices ({listing(overlap[2])})",
            "give each component its own devices, or remove `auto_scheduler`",
        )
        return
    check_inference(roles)
    order = [role for role in ("actor", "rollout", "inference") if role in roles.ranks]
    expected = 0
    for role in order:
        ranks = roles.ranks[role]
        if ranks[0] != expected:
            roles.error(
                "mp_auto_order",
                role,
                f"with `auto_scheduler`, `{roles.sources[role]}` must start at device {expected}, not {ranks[0]}",
                "order them `actor`, `rollout`, `inference` without gaps, from device 0 on",
            )
            return
        expected = ranks[-1] + 1
    total = roles.cluster.num_accelerators
    if expected != total:
        roles.error(
            "mp_auto_order",
            order[-1],
            f"with `auto_scheduler`, `{roles.sources[order[-1]]}` must end at the last device, {total - 1}",
            "use all devices of the cluster",
        )


def check_agents(roles: ParallelRoles) -> None:
    """What multi-agent training needs of its components."""
    actor = set(roles.ranks["actor"])
    if set(roles.ranks["reward"]) != actor:
        roles.error(
            "ma_actor_reward",
            "reward",
            "`actor` and `reward` must have the same devices",
            "give `reward` the actor's rule",
        )
    others: list[tuple[str, RuleStrategy]] = []
    for name, strategy in roles.strategies.items():
        if strategy is None:
            continue
        at = roles.problems.at(strategy.rule.path, component=name)
        outside = sorted(set(strategy.resources) - actor)
        if name.startswith("rollout") and outside:
            message = f"`{name}` uses device {listing(outside)}, which `actor` does not have"
            at.error("ma_rollout_subset", message, hint="keep every rollout within the actor's devices")
        if name not in ("actor", "rollout", "reward", "inference") and strategy.kind == "flexible":
            for earlier, rule in others:
                shared = sorted(set(rule.resources).intersection(strategy.resources))
                if shared:
                    message = f"`{earlier}` and `{name}` both use device {listing(shared)}"
                    at.error("ma_conflict", message, hint="give each agent its own devices")
            others.append((name, strategy))

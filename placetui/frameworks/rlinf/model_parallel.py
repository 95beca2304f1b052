"""Model-parallel placement: collocated, disaggregated or automatic, and the variants for evaluation and agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from placetui.frameworks.rlinf import RULES
from placetui.frameworks.rlinf.components import ComponentPlacement, RuleStrategy
from placetui.placement.config.reader import MISSING, Reader, Unresolved
from placetui.placement.placements import PlacementMode
from placetui.placement.placing import fail
from placetui.placement.problems import PlacementError, ProblemReporter, Problems
from placetui.placement.strategies import PackedPlacementStrategy
from placetui.placement.topology import CLUSTER, NODE_LABEL, Topology
from placetui.placement.wording import count, listing, quoted

_EVAL_MODES = ("model_parallel_eval", "multi_agent_eval")

_CONTIGUOUS = ("actor", "rollout", "inference", "critic_inference", "critic")

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

    def at(self, role: str) -> ProblemReporter:
        """Reports about the rule of a role; about all rules for one that nothing plays."""
        name = self.sources.get(role)
        strategy = self.strategies.get(name) if name else None
        return self.problems.at(strategy.rule.path if strategy else RULES, component=name)

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


def apply_model_parallel(
    mode: str, strategies: dict[str, RuleStrategy | None], reader: Reader, cluster: Topology, problems: Problems
) -> PlacementMode | None:
    """Replace the strategies of the components that the mode handles; the others keep theirs."""
    return _apply(mode, ParallelRoles(strategies, reader, cluster, problems))


def _apply(mode: str, roles: ParallelRoles) -> PlacementMode | None:
    problems, strategies = roles.problems, roles.strategies
    before = len(problems)
    evaluation = mode in _EVAL_MODES
    _collect(roles, ("rollout", "reward") if evaluation else ("actor", "rollout", "reward"), evaluation)
    if any(problem.severity == "error" for problem in problems[before:]):
        return None
    if any(strategies.get(name) is None for name in roles.sources.values()):
        return None
    try:
        return _evaluation(roles) if evaluation else _training(roles, multi_agent=mode == "multi_agent")
    except PlacementError as error:
        problems.extend(error.problems)
        return None


def _collect(roles: ParallelRoles, required: Sequence[str], evaluation: bool) -> None:
    strategies = roles.strategies
    for role in ("actor", "rollout", "inference", "critic_inference", "reward", "critic"):
        name = "actor_inference" if role == "inference" and role not in strategies else role
        if name not in strategies or (evaluation and role not in required):
            continue
        roles.sources[role] = name
        strategy = strategies[name]
        if strategy is not None:
            roles.ranks[role] = strategy.resources
            _warn_of_dropped(roles, role, strategy)
    for role in required:
        if role not in roles.sources:
            rule = strategies.get("actor")
            like = f" with the actor's rule: `{rule.rule.text.strip()}`" if role == "reward" and rule else ""
            roles.at(role).error(
                f"mp_missing_{role}",
                f"the model-parallel modes need a component `{role}`",
                hint=f"add `{role}:`{like}" if role == "reward" else f"add `{role}:`, or choose `--mode hybrid`",
            )
    for role in _CONTIGUOUS:
        ranks = roles.ranks.get(role)
        if ranks and ranks[-1] - ranks[0] + 1 != len(ranks):
            roles.at(role).error(
                "mp_not_continuous",
                f"the devices of `{roles.sources[role]}` have gaps: {listing(ranks)}",
                hint=f"write one range, for example `{ranks[0]}-{ranks[0] + len(ranks) - 1}`",
            )
    roles.need_section("rollout")
    if not evaluation:
        roles.need_section("actor", "model")
        if "critic" in roles.sources:
            roles.need_section("critic", "model")


def _pack(
    roles: ParallelRoles,
    role: str,
    each: int = 1,
    stride: int = 1,
    *reasons: str,
    under: str | None = None,
    span: tuple[int, int] | None = None,
) -> None:
    strategy, ranks = roles.strategies[roles.sources[role]], roles.ranks[role]
    assert strategy is not None
    try:
        packed = PackedPlacementStrategy(*(span or (ranks[0], ranks[-1])), each, stride)
    except PlacementError as error:
        roles.problems.at(strategy.rule.path, component=roles.sources[role]).adopt(error.problems)
        return
    roles.strategies[under or roles.sources[role]] = replace(strategy, packed=packed, reasons=reasons)


def _evaluation(roles: ParallelRoles) -> PlacementMode:
    tp = roles.size("rollout", "tensor_parallel_size")
    if _fits_tp(roles, "rollout", tp, "rollout.tensor_parallel_size"):
        _pack(roles, "rollout", tp, 1, f"evaluation: {count(tp, 'device')} per process (rollout.tensor_parallel_size)")
    _pack(roles, "reward")
    return PlacementMode.COLLOCATED


def _training(roles: ParallelRoles, *, multi_agent: bool) -> PlacementMode | None:
    ranks, reader = roles.ranks, roles.reader
    automatic = bool(reader.get(CLUSTER, "auto_scheduler", default=False)) and "critic" not in ranks
    if automatic:
        mode = PlacementMode.AUTO
        _check_automatic(roles)
    elif multi_agent or ranks["actor"] == ranks["rollout"]:
        mode = PlacementMode.COLLOCATED
        for role in ("inference", "critic_inference"):
            if role in ranks:
                roles.at(role).error(
                    "mp_inference_in_collocated",
                    f"`{roles.sources[role]}` cannot be placed when `actor` and `rollout` share their devices",
                    hint=f"remove `{roles.sources[role]}`, or give `actor` and `rollout` their own devices",
                )
    elif (overlap := _overlaps(roles)) is None:
        mode = PlacementMode.DISAGGREGATED
        _check_inference(roles)
    else:
        one, other, shared = overlap
        roles.at(other).error(
            "mp_neither_mode",
            f"`{roles.sources[one]}` and `{roles.sources[other]}` share only some devices ({listing(shared)})",
            hint="collocated: give `actor` and `rollout` the same rule; disaggregated: give each its own devices",
        )
        return None
    actor_tp = roles.tp("actor")
    rollout_tp = roles.size("rollout", "tensor_parallel_size")
    fits = [
        _fits_tp(roles, "actor", actor_tp, "actor.model.tensor_model_parallel_size"),
        _fits_tp(roles, "rollout", rollout_tp, "rollout.tensor_parallel_size"),
    ]
    if multi_agent:
        _check_agents(roles)
    if not all(fits):
        return mode
    _pack_actor_and_rollout(roles, mode, actor_tp, rollout_tp)
    _pack_others(roles, mode)
    return mode


def _pack_actor_and_rollout(roles: ParallelRoles, mode: PlacementMode, actor_tp: int, rollout_tp: int) -> None:
    if mode is PlacementMode.COLLOCATED:
        _pack(roles, "actor", 1, 1, "collocated: one actor process per device, shared with rollout")
        stride = 1
        if actor_tp > rollout_tp:
            if actor_tp % rollout_tp:
                roles.at("rollout").error(
                    "mp_tp_not_divisible",
                    f"the actor's tensor parallel size {actor_tp} is not a multiple of rollout's {rollout_tp}",
                    hint="choose sizes where one divides the other, so that weights stay on their GPU",
                )
                return
            stride = actor_tp // rollout_tp
        reasons = [f"collocated: {count(rollout_tp, 'device')} per process (rollout.tensor_parallel_size)"]
        if stride > 1:
            reasons.append(
                f"stride {stride} = actor's tensor parallel size {actor_tp} / rollout's {rollout_tp}: each rollout "
                "shard is on the GPU that has the matching actor shards, so weights are passed by CUDA IPC"
            )
        _pack(roles, "rollout", rollout_tp, stride, *reasons)
        return
    size = len(roles.ranks["rollout"])
    pp = roles.size("rollout", "pipeline_parallel_size")
    if rollout_tp * pp > size:
        roles.at("rollout").error(
            "mp_rollout_size",
            f"one rollout process needs {rollout_tp} x {pp} devices (tensor x pipeline), but `rollout` has {size}",
            hint=f"give `rollout` at least {count(rollout_tp * pp, 'device')}, or lower the sizes under `rollout:`",
        )
        return
    each = size // (size // (rollout_tp * pp))
    if size % (rollout_tp * pp) and not size % each:  # else the packing itself complains
        roles.at("rollout").warning(
            "mp_rollout_uneven",
            f"{count(size, 'device')} are not a multiple of {rollout_tp * pp} (tensor x pipeline size): "
            f"each process gets {each}",
            hint=f"use a multiple of {rollout_tp * pp} devices",
        )
    reason = f"{mode.value}: {count(each, 'device')} per process (tensor {rollout_tp} x pipeline {pp})"
    if mode is PlacementMode.AUTO:
        last = roles.cluster.num_accelerators - 1
        _pack(roles, "actor", 1, 1, "auto: the actor may use every device of the cluster", span=(0, last))
        if roles.reader.get(CLUSTER, "use_pre_process_policy", default=False):
            if len(roles.ranks["actor"]) % rollout_tp:
                roles.at("actor").error(
                    "mp_auto_pre_process",
                    f"with `use_pre_process_policy` the actor's {count(len(roles.ranks['actor']), 'device')} must be a "
                    f"multiple of rollout's tensor parallel size {rollout_tp}",
                    hint=f"give `actor` a multiple of {rollout_tp} devices",
                )
                return
            roles.from_first = True
            span = (0, roles.ranks["rollout"][-1])
            _pack(roles, "rollout", each, 1, reason, "use_pre_process_policy: from device 0 on", span=span)
            return
    else:
        _pack(roles, "actor", 1, 1, "disaggregated: one actor process per device")
    _pack(roles, "rollout", each, 1, reason)


def _pack_others(roles: ParallelRoles, mode: PlacementMode) -> None:
    if "inference" in roles.ranks and mode is not PlacementMode.COLLOCATED:
        under = "actor_inference" if "critic_inference" in roles.ranks else "inference"
        _pack(roles, "inference", under=under)
        if under != roles.sources["inference"]:
            roles.at("inference").warning(
                "mp_inference_twice",
                f"RLinf places `{roles.sources['inference']}` as written and once more under the name `{under}`",
                hint=f"name the component `{under}`",
            )
    for role in ("reward", "critic", "critic_inference"):
        if role in roles.ranks and not (mode is PlacementMode.AUTO and role != "reward"):
            _pack(roles, role)


def _warn_of_dropped(roles: ParallelRoles, role: str, strategy: RuleStrategy) -> None:
    """These modes keep only the device numbers of a rule."""
    groups = strategy.rule.groups
    if groups != (CLUSTER,):
        meant = "nodes" if groups == (NODE_LABEL,) else f"group {listing(quoted(groups))}"
        roles.at(role).warning(
            "mp_ignores_node_group",
            f"`{roles.sources[role]}` names {meant}, but in this mode its numbers mean devices of the whole cluster",
            hint="leave `node_group` out and number the devices over all nodes",
        )
    if any(len(segment.processes) != len(segment.resources) for segment in strategy.rule.segments):
        roles.at(role).warning(
            "mp_ignores_processes",
            f"the process ranks of `{roles.sources[role]}` are not used in this mode: the models give the sizes",
            hint="leave the part after the colon out",
        )
    if role == "reward" and strategy.resources[-1] - strategy.resources[0] + 1 != len(strategy.resources):
        ranks = strategy.resources
        roles.at(role).warning(
            "mp_reward_filled",
            f"`reward` gets every device from {ranks[0]} to {ranks[-1]}: the gaps are filled in this mode",
            hint=f"write `{ranks[0]}-{ranks[-1]}`, or a rule without gaps",
        )


def _overlaps(roles: ParallelRoles) -> tuple[str, str, list[int]] | None:
    """The first two components that must not share devices but do, and which."""
    for one, other in _DISJOINT:
        shared = set(roles.ranks.get(one, ())).intersection(roles.ranks.get(other, ()))
        if shared:
            return one, other, sorted(shared)
    return None


def _check_inference(roles: ParallelRoles) -> None:
    """What inference components need when actor and rollout are apart."""
    if "inference" not in roles.ranks:
        roles.at("rollout").warning(
            "mp_no_inference",
            "`actor` and `rollout` have separate devices and there is no `inference`",
            hint="add `inference:` with its own devices, as RLinf's documentation requires; its code works without",
        )
    else:
        section = "inference" if roles.sources["inference"] == "inference" else "actor_inference"
        _fits_tp(roles, "inference", roles.tp("inference", "actor_inference", "actor"), section, "mp_inference_tp")
        if roles.reader.get("algorithm", "recompute_logprobs", default=MISSING) is not True:
            at = roles.problems.at(("algorithm", "recompute_logprobs"), component=roles.sources["inference"])
            message = "an `inference` component needs `algorithm.recompute_logprobs: true`"
            hint = "write `recompute_logprobs: true`, or remove the component"
            at.error("mp_recompute_logprobs", message, hint=hint)
    if "critic_inference" in roles.ranks:
        tp = roles.tp("critic_inference", "critic")
        _fits_tp(roles, "critic_inference", tp, "critic_inference", "mp_inference_tp")


def _fits_tp(roles: ParallelRoles, role: str, tp: int, setting: str, rule: str | None = None) -> bool:
    """Whether a component has devices enough for its tensor parallel size; says so if not."""
    size = len(roles.ranks[role])
    if tp <= size:
        return True
    roles.at(role).error(
        rule or f"mp_{role}_tp",
        f"the tensor parallel size {tp} of `{roles.sources[role]}` is larger than its {count(size, 'device')}",
        hint=f"give it at least {count(tp, 'device')}, or lower `{setting}`",
    )
    return False


def _check_automatic(roles: ParallelRoles) -> None:
    """What `cluster.auto_scheduler` needs: components apart, in order, over the whole cluster."""
    overlap = _overlaps(roles)
    if overlap:
        roles.at(overlap[1]).error(
            "mp_auto_not_disaggregated",
            f"with `auto_scheduler`, `{overlap[0]}` and `{overlap[1]}` cannot share devices ({listing(overlap[2])})",
            hint="give each component its own devices, or remove `auto_scheduler`",
        )
        return
    _check_inference(roles)
    order = [role for role in ("actor", "rollout", "inference") if role in roles.ranks]
    expected = 0
    for role in order:
        ranks = roles.ranks[role]
        if ranks[0] != expected:
            roles.at(role).error(
                "mp_auto_order",
                f"with `auto_scheduler`, `{roles.sources[role]}` must start at device {expected}, not {ranks[0]}",
                hint="order them `actor`, `rollout`, `inference` without gaps, from device 0 on",
            )
            return
        expected = ranks[-1] + 1
    total = roles.cluster.num_accelerators
    if expected != total:
        roles.at(order[-1]).error(
            "mp_auto_order",
            f"with `auto_scheduler`, `{roles.sources[order[-1]]}` must end at the last device, {total - 1}",
            hint="use all devices of the cluster",
        )


def _check_agents(roles: ParallelRoles) -> None:
    """What multi-agent training needs of its components."""
    actor = set(roles.ranks["actor"])
    if set(roles.ranks["reward"]) != actor:
        roles.at("reward").error(
            "ma_actor_reward",
            "`actor` and `reward` must have the same devices",
            hint="give `reward` the actor's rule",
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


class _Size:
    """A parallel size of a role, as an attribute."""

    def __init__(self, role: str, what: str) -> None:
        self._role, self._what = role, what

    def __get__(self, placement: ModelParallelComponentPlacement, _: object = None) -> int:
        return placement.roles.parallel_size(self._role, self._what)


class ModelParallelComponentPlacement(ComponentPlacement):
    """Packed placement for model-parallel training: collocated, disaggregated or automatic."""

    actor_tp_size, actor_pp_size = _Size("actor", "tp"), _Size("actor", "pp")
    actor_dp_size, actor_world_size = _Size("actor", "dp"), _Size("actor", "world")
    critic_tp_size, critic_pp_size = _Size("critic", "tp"), _Size("critic", "pp")
    critic_dp_size, critic_world_size = _Size("critic", "dp"), _Size("critic", "world")
    inference_tp_size, inference_pp_size = _Size("inference", "tp"), _Size("inference", "pp")
    inference_dp_size, inference_world_size = _Size("inference", "dp"), _Size("inference", "world")
    critic_inference_tp_size, critic_inference_pp_size = (
        _Size("critic_inference", "tp"),
        _Size("critic_inference", "pp"),
    )
    critic_inference_dp_size = _Size("critic_inference", "dp")
    critic_inference_world_size = _Size("critic_inference", "world")
    rollout_tp_size, rollout_dp_size = _Size("rollout", "tp"), _Size("rollout", "dp")
    rollout_world_size, reward_world_size = _Size("rollout", "world"), _Size("reward", "world")

    def _finish(self, reader: Reader, problems: Problems) -> None:
        self.roles = ParallelRoles(self._strategies, reader, self._cluster, problems)
        self._mode = _apply("model_parallel", self.roles)

    @property
    def is_collocated(self) -> bool:
        """Whether `actor` and `rollout` share their devices."""
        return self._mode is PlacementMode.COLLOCATED

    @property
    def is_disaggregated(self) -> bool:
        """Whether each component has its own devices."""
        return self._mode is PlacementMode.DISAGGREGATED

    @property
    def is_auto(self) -> bool:
        """Whether RLinf's scheduler moves devices between components while the job runs."""
        return self._mode is PlacementMode.AUTO

    @property
    def is_pipeline(self) -> bool:
        """Whether components work at the same time on their own devices."""
        return self.is_disaggregated or self.is_auto

    @property
    def has_dedicated_inference(self) -> bool:
        """Whether log probabilities of the actor are computed on their own devices."""
        return self.has_dedicated_inference_for_role("actor")

    def has_dedicated_inference_for_role(self, role: str) -> bool:
        """The same for `actor` or `critic`."""
        inference = {"actor": "inference", "critic": "critic_inference"}
        if role not in inference:
            fail("unknown_component", f"there is no inference for `{role}`", "ask for `actor` or `critic`")
        return self.is_pipeline and inference[role] in self.roles.ranks

"""Model-parallel placement: collocated, disaggregated or automatic, and the variants for evaluation and agents."""

from __future__ import annotations

from collections.abc import Sequence

from placetui.frameworks.rlinf.component_placement import ComponentPlacement
from placetui.frameworks.rlinf.components import RuleStrategy, with_packed
from placetui.frameworks.rlinf.parallel_roles import (
    ParallelRoles,
    check_agents,
    check_automatic,
    check_inference,
    fits_tp,
    overlaps,
    warn_of_dropped,
)
from placetui.placement.config.reader import Reader
from placetui.placement.placements import PlacementMode
from placetui.placement.placing import fail
from placetui.placement.problems import PlacementError, Problems
from placetui.placement.strategies import PackedPlacementStrategy
from placetui.placement.topology import CLUSTER, Topology
from placetui.placement.wording import count, listing

_EVAL_MODES = ("model_parallel_eval", "multi_agent_eval")

_CONTIGUOUS = ("actor", "rollout", "inference", "critic_inference", "critic")


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
            warn_of_dropped(roles, role, strategy)
    for role in required:
        if role not in roles.sources:
            rule = strategies.get("actor")
            like = f" with the actor's rule: `{rule.rule.text.strip()}`" if role == "reward" and rule else ""
            roles.error(
                f"mp_missing_{role}",
                None,
                f"the model-parallel modes need a component `{role}`",
                f"add `{role}:`{like}" if role == "reward" else f"add `{role}:`, or choose `--mode hybrid`",
            )
    for role in _CONTIGUOUS:
        ranks = roles.ranks.get(role)
        if ranks and ranks[-1] - ranks[0] + 1 != len(ranks):
            roles.error(
                "mp_not_continuous",
                role,
                f"the devices of `{roles.sources[role]}` have gaps: {listing(ranks)}",
                f"write one range, for example `{ranks[0]}-{ranks[0] + len(ranks) - 1}`",
            )
    roles.need_section("rollout")
    if not evaluation:
        roles.need_section("actor", "model")
        if "critic" in roles.sources:
            roles.need_section("critic", "model")


def _pack(
    roles: ParallelRoles, role: str, each: int = 1, stride: int = 1, *reasons: str, under: str | None = None
) -> None:
    ranks = roles.ranks[role]
    _pack_span(roles, role, (ranks[0], ranks[-1]), each, stride, *reasons, under=under)


def _pack_span(
    roles: ParallelRoles,
    role: str,
    span: tuple[int, int],
    each: int,
    stride: int,
    *reasons: str,
    under: str | None = None,
) -> None:
    strategy = roles.strategies[roles.sources[role]]
    assert strategy is not None
    try:
        packed = PackedPlacementStrategy(*span, each, stride)
    except PlacementError as error:
        roles.problems.at(strategy.rule.path, component=roles.sources[role]).adopt(error.problems)
        return
    roles.strategies[under or roles.sources[role]] = with_packed(strategy, packed, *reasons)


def _evaluation(roles: ParallelRoles) -> PlacementMode:
    tp = roles.size("rollout", "tensor_parallel_size")
    if fits_tp(roles, "rollout", tp, "rollout.tensor_parallel_size"):
        _pack(roles, "rollout", tp, 1, f"evaluation: {count(tp, 'device')} per process (rollout.tensor_parallel_size)")
    _pack(roles, "reward")
    return PlacementMode.COLLOCATED


def _training(roles: ParallelRoles, *, multi_agent: bool) -> PlacementMode | None:
    ranks, reader = roles.ranks, roles.reader
    automatic = bool(reader.get(CLUSTER, "auto_scheduler", default=False)) and "critic" not in ranks
    if automatic:
        mode = PlacementMode.AUTO
        check_automatic(roles)
    elif multi_agent or ranks["actor"] == ranks["rollout"]:
        mode = PlacementMode.COLLOCATED
        for role in ("inference", "critic_inference"):
            if role in ranks:
                roles.error(
                    "mp_inference_in_collocated",
                    role,
                    f"`{roles.sources[role]}` cannot be placed when `actor` and `rollout` share their devices",
                    f"remove `{roles.sources[role]}`, or give `actor` and `rollout` their own devices",
                )
    elif overlaps(roles) is None:
        mode = PlacementMode.DISAGGREGATED
        check_inference(roles)
    else:
        one, other, shared = overlaps(roles) or ("actor", "rollout", [])
        roles.error(
            "mp_neither_mode",
            other,
            f"`{roles.sources[one]}` and `{roles.sources[other]}` share only some devices ({listing(shared)})",
            "collocated: give `actor` and `rollout` the same rule; disaggregated: give each its own devices",
        )
        return None
    actor_tp = roles.tp("actor")
    rollout_tp = roles.size("rollout", "tensor_parallel_size")
    fits = [
        fits_tp(roles, "actor", actor_tp, "actor.model.tensor_model_parallel_size"),
        fits_tp(roles, "rollout", rollout_tp, "rollout.tensor_parallel_size"),
    ]
    if multi_agent:
        check_agents(roles)
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
                roles.error(
                    "mp_tp_not_divisible",
                    "rollout",
                    f"the actor's tensor parallel size {actor_tp} is not a multiple of rollout's {rollout_tp}",
                    "choose sizes where one divides the other, so that weights stay on their GPU",
                )
                return
            stride = actor_tp // rollout_tp
        reasons = [f"collocated: {count(rollout_tp, 'device')} per process (rollout.tensor_parallel_size)"]
        if stride > 1:
            reasons.append(
                f"stride {stride} = actor's tensor parallel size {actor_tp} / rollout's {rollout_tp}: each rollout "
                "shard sits on the GPU that holds the matching actor shards, so weights are passed by CUDA IPC"
            )
        _pack(roles, "rollout", rollout_tp, stride, *reasons)
        return
    size = len(roles.ranks["rollout"])
    pp = roles.size("rollout", "pipeline_parallel_size")
    if rollout_tp * pp > size:
        roles.error(
            "mp_rollout_size",
            "rollout",
            f"one rollout process needs {rollout_tp} x {pp} devices (tensor x pipeline), but `rollout` has {size}",
            f"give `rollout` at least {count(rollout_tp * pp, 'device')}, or lower the sizes under `rollout:`",
        )
        return
    each = size // (size // (rollout_tp * pp))
    if size % (rollout_tp * pp) and not size % each:  # else the packing itself complains
        roles.warning(
            "mp_rollout_uneven",
            "rollout",
            f"{count(size, 'device')} are not a multiple of {rollout_tp * pp} (tensor x pipeline size): "
            f"each process gets {each}",
            f"use a multiple of {rollout_tp * pp} devices",
        )
    reason = f"{mode.value}: {count(each, 'device')} per process (tensor {rollout_tp} x pipeline {pp})"
    if mode is PlacementMode.AUTO:
        last = roles.cluster.num_accelerators - 1
        _pack_span(roles, "actor", (0, last), 1, 1, "auto: the actor may use every device of the cluster")
        if roles.reader.get(CLUSTER, "use_pre_process_policy", default=False):
            if len(roles.ranks["actor"]) % rollout_tp:
                roles.error(
                    "mp_auto_pre_process",
                    "actor",
                    f"with `use_pre_process_policy` the actor's {count(len(roles.ranks['actor']), 'device')} must be a "
                    f"multiple of rollout's tensor parallel size {rollout_tp}",
                    f"give `actor` a multiple of {rollout_tp} devices",
                )
                return
            roles.from_first = True
            span = (0, roles.ranks["rollout"][-1])
            _pack_span(roles, "rollout", span, each, 1, reason, "use_pre_process_policy: from device 0 on")
            return
    else:
        _pack(roles, "actor", 1, 1, "disaggregated: one actor process per device")
    _pack(roles, "rollout", each, 1, reason)


def _pack_others(roles: ParallelRoles, mode: PlacementMode) -> None:
    if "inference" in roles.ranks and mode is not PlacementMode.COLLOCATED:
        under = "actor_inference" if "critic_inference" in roles.ranks else "inference"
        _pack(roles, "inference", under=under)
        if under != roles.sources["inference"]:
            roles.warning(
                "mp_inference_twice",
                "inference",
                f"RLinf places `{roles.sources['inference']}` as written and once more under the name `{under}`",
                f"name the component `{under}`",
            )
    for role in ("reward", "critic", "critic_inference"):
        if role in roles.ranks and not (mode is PlacementMode.AUTO and role != "reward"):
            _pack(roles, role)


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

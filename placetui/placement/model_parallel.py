"""Model-parallel placement: collocated, disaggregated or automatic, and the variants for evaluation and agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from placetui.placement.components import ComponentPlacement, Placing, with_packed
from placetui.placement.interpolation import MISSING, Reader, Unresolved
from placetui.placement.placements import PlacementMode
from placetui.placement.problems import Path, PlacementError, Problems, count, listing, quoted
from placetui.placement.strategies import PackedPlacementStrategy
from placetui.placement.topology import CLUSTER, NODE_LABEL, Cluster

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
class _Job:
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
        if not self.reader.has(*path):
            name = ".".join(path)
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


def apply_model_parallel(
    mode: str, placings: dict[str, Placing | None], reader: Reader, cluster: Cluster, problems: Problems
) -> PlacementMode | None:
    """Replace the strategies of the components that the mode handles; the others keep theirs."""
    before = len(problems)
    job = _Job(placings, reader, cluster, problems)
    evaluation = mode in _EVAL_MODES
    _collect(job, ("rollout", "reward") if evaluation else ("actor", "rollout", "reward"), evaluation)
    if any(problem.severity == "error" for problem in problems[before:]):
        return None
    if any(placings.get(name) is None for name in job.sources.values()):
        return None
    try:
        return _evaluation(job) if evaluation else _training(job, multi_agent=mode == "multi_agent")
    except PlacementError as error:
        problems.extend(error.problems)
        return None


def _collect(job: _Job, required: Sequence[str], evaluation: bool) -> None:
    placings = job.placings
    for role in ("actor", "rollout", "inference", "critic_inference", "reward", "critic"):
        name = "actor_inference" if role == "inference" and role not in placings else role
        if name not in placings or (evaluation and role not in required):
            continue
        job.sources[role] = name
        placing = placings[name]
        if placing is not None:
            job.ranks[role] = placing.resources
            _warn_of_dropped(job, role, placing)
    for role in required:
        if role not in job.sources:
            rule = placings.get("actor")
            like = f" with the actor's rule: `{rule.rule.text.strip()}`" if role == "reward" and rule else ""
            job.error(
                f"mp_missing_{role}",
                None,
                f"the model-parallel modes need a component `{role}`",
                f"add `{role}:`{like}" if role == "reward" else f"add `{role}:`, or choose `--mode hybrid`",
            )
    for role in _CONTIGUOUS:
        ranks = job.ranks.get(role)
        if ranks and ranks[-1] - ranks[0] + 1 != len(ranks):
            job.error(
                "mp_not_continuous",
                role,
                f"the devices of `{job.sources[role]}` have gaps: {listing(ranks)}",
                f"write one range, for example `{ranks[0]}-{ranks[0] + len(ranks) - 1}`",
            )
    job.need_section("rollout")
    if not evaluation:
        job.need_section("actor", "model")
        if "critic" in job.sources:
            job.need_section("critic", "model")


def _warn_of_dropped(job: _Job, role: str, placing: Placing) -> None:
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


def _pack(job: _Job, role: str, each: int = 1, stride: int = 1, *reasons: str, under: str | None = None) -> None:
    ranks = job.ranks[role]
    _pack_span(job, role, (ranks[0], ranks[-1]), each, stride, *reasons, under=under)


def _pack_span(
    job: _Job, role: str, span: tuple[int, int], each: int, stride: int, *reasons: str, under: str | None = None
) -> None:
    placing = job.placings[job.sources[role]]
    assert placing is not None
    try:
        packed = PackedPlacementStrategy(*span, each, stride)
    except PlacementError as error:
        job.problems.adopt(error.problems, placing.rule.path, job.sources[role])
        return
    job.placings[under or job.sources[role]] = with_packed(placing, packed, *reasons)


def _evaluation(job: _Job) -> PlacementMode:
    tp = job.size("rollout", "tensor_parallel_size")
    if _fits_tp(job, "rollout", tp, "rollout.tensor_parallel_size"):
        _pack(job, "rollout", tp, 1, f"evaluation: {count(tp, 'device')} per process (rollout.tensor_parallel_size)")
    _pack(job, "reward")
    return PlacementMode.COLLOCATED


def _training(job: _Job, *, multi_agent: bool) -> PlacementMode | None:
    ranks, reader = job.ranks, job.reader
    automatic = bool(reader.get(CLUSTER, "auto_scheduler", default=False)) and "critic" not in ranks
    if automatic:
        mode = PlacementMode.AUTO
        _check_automatic(job)
    elif multi_agent or ranks["actor"] == ranks["rollout"]:
        mode = PlacementMode.COLLOCATED
        for role in ("inference", "critic_inference"):
            if role in ranks:
                job.error(
                    "mp_inference_in_collocated",
                    role,
                    f"`{job.sources[role]}` has no place when `actor` and `rollout` share their devices",
                    f"remove `{job.sources[role]}`, or give `actor` and `rollout` devices of their own",
                )
    elif _overlaps(job) is None:
        mode = PlacementMode.DISAGGREGATED
        _check_inference(job)
    else:
        one, other, shared = _overlaps(job) or ("actor", "rollout", [])
        job.error(
            "mp_neither_mode",
            other,
            f"`{job.sources[one]}` and `{job.sources[other]}` share only some devices ({listing(shared)})",
            "collocated: give `actor` and `rollout` the same rule; disaggregated: give each devices of its own",
        )
        return None
    actor_tp = job.tp("actor")
    rollout_tp = job.size("rollout", "tensor_parallel_size")
    fits = [
        _fits_tp(job, "actor", actor_tp, "actor.model.tensor_model_parallel_size"),
        _fits_tp(job, "rollout", rollout_tp, "rollout.tensor_parallel_size"),
    ]
    if multi_agent:
        _check_agents(job)
    if not all(fits):
        return mode
    _pack_actor_and_rollout(job, mode, actor_tp, rollout_tp)
    _pack_others(job, mode)
    return mode


def _pack_actor_and_rollout(job: _Job, mode: PlacementMode, actor_tp: int, rollout_tp: int) -> None:
    if mode is PlacementMode.COLLOCATED:
        _pack(job, "actor", 1, 1, "collocated: one actor process per device, shared with rollout")
        stride = 1
        if actor_tp > rollout_tp:
            if actor_tp % rollout_tp:
                job.error(
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
                "shard sits on the GPU that holds the matching actor shards, so weights go over by CUDA IPC"
            )
        _pack(job, "rollout", rollout_tp, stride, *reasons)
        return
    size = len(job.ranks["rollout"])
    pp = job.size("rollout", "pipeline_parallel_size")
    if rollout_tp * pp > size:
        job.error(
            "mp_rollout_size",
            "rollout",
            f"one rollout process needs {rollout_tp} x {pp} devices (tensor x pipeline), but `rollout` has {size}",
            f"give `rollout` at least {count(rollout_tp * pp, 'device')}, or lower the sizes under `rollout:`",
        )
        return
    each = size // (size // (rollout_tp * pp))
    if size % (rollout_tp * pp):
        job.warning(
            "mp_rollout_uneven",
            "rollout",
            f"{count(size, 'device')} are not a multiple of {rollout_tp * pp} (tensor x pipeline size): "
            f"each process gets {each}",
            f"use a multiple of {rollout_tp * pp} devices",
        )
    reason = f"{mode.value}: {count(each, 'device')} per process (tensor {rollout_tp} x pipeline {pp})"
    if mode is PlacementMode.AUTO:
        last = job.cluster.num_accelerators - 1
        _pack_span(job, "actor", (0, last), 1, 1, "auto: the actor may use every device of the cluster")
        if job.reader.get(CLUSTER, "use_pre_process_policy", default=False):
            if len(job.ranks["actor"]) % rollout_tp:
                job.error(
                    "mp_auto_pre_process",
                    "actor",
                    f"with `use_pre_process_policy` the actor's {count(len(job.ranks['actor']), 'device')} must be a "
                    f"multiple of rollout's tensor parallel size {rollout_tp}",
                    f"give `actor` a multiple of {rollout_tp} devices",
                )
                return
            span = (0, job.ranks["rollout"][-1])
            _pack_span(job, "rollout", span, each, 1, reason, "use_pre_process_policy: from device 0 on")
            return
    else:
        _pack(job, "actor", 1, 1, "disaggregated: one actor process per device")
    _pack(job, "rollout", each, 1, reason)


def _pack_others(job: _Job, mode: PlacementMode) -> None:
    if "inference" in job.ranks and mode is not PlacementMode.COLLOCATED:
        under = "actor_inference" if "critic_inference" in job.ranks else "inference"
        _pack(job, "inference", under=under)
        if under != job.sources["inference"]:
            job.warning(
                "mp_inference_twice",
                "inference",
                f"RLinf places `{job.sources['inference']}` as written and once more under the name `{under}`",
                f"name the component `{under}`",
            )
    for role in ("reward", "critic", "critic_inference"):
        if role in job.ranks and not (mode is PlacementMode.AUTO and role != "reward"):
            _pack(job, role)


def _overlaps(job: _Job) -> tuple[str, str, list[int]] | None:
    for one, other in _DISJOINT:
        shared = set(job.ranks.get(one, ())).intersection(job.ranks.get(other, ()))
        if shared:
            return one, other, sorted(shared)
    return None


def _check_inference(job: _Job) -> None:
    if "inference" not in job.ranks:
        job.warning(
            "mp_no_inference",
            "rollout",
            "`actor` and `rollout` are apart and there is no `inference`",
            "add `inference:` with devices of its own, as RLinf's documentation asks; its code does without",
        )
    else:
        section = "inference" if job.sources["inference"] == "inference" else "actor_inference"
        _fits_tp(job, "inference", job.tp("inference", "actor_inference", "actor"), section, "mp_inference_tp")
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
        _fits_tp(job, "critic_inference", tp, "critic_inference", "mp_inference_tp")


def _fits_tp(job: _Job, role: str, tp: int, setting: str, rule: str | None = None) -> bool:
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


def _check_automatic(job: _Job) -> None:
    overlap = _overlaps(job)
    if overlap:
        job.error(
            "mp_auto_not_disaggregated",
            overlap[1],
            f"with `auto_scheduler`, `{overlap[0]}` and `{overlap[1]}` cannot share devices ({listing(overlap[2])})",
            "give each component devices of its own, or remove `auto_scheduler`",
        )
        return
    _check_inference(job)
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


def _check_agents(job: _Job) -> None:
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


class ModelParallelComponentPlacement(ComponentPlacement):
    """Packed placement for model-parallel training: collocated, disaggregated or automatic."""

    def _finish(self, reader: Reader, problems: Problems) -> None:
        self._mode = apply_model_parallel("model_parallel", self._placings, reader, self._cluster, problems)

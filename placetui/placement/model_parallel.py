"""Model-parallel placement: collocated, disaggregated or automatic, and the variants for evaluation and agents."""

from __future__ import annotations

from collections.abc import Sequence

from placetui.placement.components import ComponentPlacement, Placing, with_packed
from placetui.placement.interpolation import Reader
from placetui.placement.model_parallel_job import (
    Job,
    check_agents,
    check_automatic,
    check_inference,
    fits_tp,
    overlaps,
    warn_of_dropped,
)
from placetui.placement.placements import PlacementMode
from placetui.placement.problems import PlacementError, Problems, count, listing
from placetui.placement.strategies import PackedPlacementStrategy
from placetui.placement.topology import CLUSTER, Cluster

_EVAL_MODES = ("model_parallel_eval", "multi_agent_eval")

_CONTIGUOUS = ("actor", "rollout", "inference", "critic_inference", "critic")


def apply_model_parallel(
    mode: str, placings: dict[str, Placing | None], reader: Reader, cluster: Cluster, problems: Problems
) -> PlacementMode | None:
    """Replace the strategies of the components that the mode handles; the others keep theirs."""
    before = len(problems)
    job = Job(placings, reader, cluster, problems)
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


def _collect(job: Job, required: Sequence[str], evaluation: bool) -> None:
    placings = job.placings
    for role in ("actor", "rollout", "inference", "critic_inference", "reward", "critic"):
        name = "actor_inference" if role == "inference" and role not in placings else role
        if name not in placings or (evaluation and role not in required):
            continue
        job.sources[role] = name
        placing = placings[name]
        if placing is not None:
            job.ranks[role] = placing.resources
            warn_of_dropped(job, role, placing)
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


def _pack(job: Job, role: str, each: int = 1, stride: int = 1, *reasons: str, under: str | None = None) -> None:
    ranks = job.ranks[role]
    _pack_span(job, role, (ranks[0], ranks[-1]), each, stride, *reasons, under=under)


def _pack_span(
    job: Job, role: str, span: tuple[int, int], each: int, stride: int, *reasons: str, under: str | None = None
) -> None:
    placing = job.placings[job.sources[role]]
    assert placing is not None
    try:
        packed = PackedPlacementStrategy(*span, each, stride)
    except PlacementError as error:
        job.problems.adopt(error.problems, placing.rule.path, job.sources[role])
        return
    job.placings[under or job.sources[role]] = with_packed(placing, packed, *reasons)


def _evaluation(job: Job) -> PlacementMode:
    tp = job.size("rollout", "tensor_parallel_size")
    if fits_tp(job, "rollout", tp, "rollout.tensor_parallel_size"):
        _pack(job, "rollout", tp, 1, f"evaluation: {count(tp, 'device')} per process (rollout.tensor_parallel_size)")
    _pack(job, "reward")
    return PlacementMode.COLLOCATED


def _training(job: Job, *, multi_agent: bool) -> PlacementMode | None:
    ranks, reader = job.ranks, job.reader
    automatic = bool(reader.get(CLUSTER, "auto_scheduler", default=False)) and "critic" not in ranks
    if automatic:
        mode = PlacementMode.AUTO
        check_automatic(job)
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
    elif overlaps(job) is None:
        mode = PlacementMode.DISAGGREGATED
        check_inference(job)
    else:
        one, other, shared = overlaps(job) or ("actor", "rollout", [])
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
        fits_tp(job, "actor", actor_tp, "actor.model.tensor_model_parallel_size"),
        fits_tp(job, "rollout", rollout_tp, "rollout.tensor_parallel_size"),
    ]
    if multi_agent:
        check_agents(job)
    if not all(fits):
        return mode
    _pack_actor_and_rollout(job, mode, actor_tp, rollout_tp)
    _pack_others(job, mode)
    return mode


def _pack_actor_and_rollout(job: Job, mode: PlacementMode, actor_tp: int, rollout_tp: int) -> None:
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
    if size % (rollout_tp * pp) and not size % each:  # else the packing itself complains
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


def _pack_others(job: Job, mode: PlacementMode) -> None:
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


class ModelParallelComponentPlacement(ComponentPlacement):
    """Packed placement for model-parallel training: collocated, disaggregated or automatic."""

    def _finish(self, reader: Reader, problems: Problems) -> None:
        self._mode = apply_model_parallel("model_parallel", self._placings, reader, self._cluster, problems)

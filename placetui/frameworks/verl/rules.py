"""What verl asserts, refuses or ignores, found in the sizes alone."""

from __future__ import annotations

from collections import Counter

from placetui.frameworks.verl.config import ROLLOUT, TEACHERS, NodesAsked, ReplicaSize, VerlJob, Version
from placetui.frameworks.verl.layout import part_size, replicas_in, size_of
from placetui.placement.problems import Path, Problems
from placetui.placement.wording import count, dotted, listing


def check_job(job: VerlJob, problems: Problems) -> None:
    """Report everything that does not depend on the nodes."""
    _check_trainer(job, problems)
    if job.trainer != "fine_tuning":
        _check_engine(job.rollout, problems)
        _check_rollout(job, problems)
    _check_pool_sizes(job, problems)
    if job.reward.enabled:
        _check_reward(job, problems)
    _check_teachers(job, problems)
    if job.old_reward_keys is not None:
        problems.at(job.old_reward_keys).warning(
            "verl_legacy_reward_keys",
            f"`{dotted(job.old_reward_keys)}` has no effect: `main_ppo` ignores `reward_model.…` since verl 0.9",
            hint="write `reward.reward_model.…` instead",
            at_key=True,
        )
    batch = job.batch
    if batch is not None and job.training.total % batch.model:
        problems.at(batch.path).warning(
            "verl_batch_not_divisible",
            f"{count(job.training.total, 'GPU')} of training are no multiple of the {batch.model} of one model",
            hint="make tensor x pipeline x context parallel size of training a divisor of its GPUs",
        )
    elif batch is not None and batch.size % batch.least:
        problems.at(batch.path).warning(
            "verl_batch_not_divisible",
            f"{batch.size} samples per step are no multiple of {batch.least}",
            hint=f"make `data.train_batch_size` x `{dotted((*ROLLOUT, 'n'))}` a multiple of {batch.least}",
        )


def _check_trainer(job: VerlJob, problems: Problems) -> None:
    at = problems.at(("actor_rollout_ref", "hybrid_engine"))
    if job.trainer == "classic" and not job.hybrid_engine:
        at.error("verl_hybrid_engine", "the classic trainer needs `hybrid_engine: true`", hint="remove the line")
    if job.trainer in ("fully_async", "one_step_off"):
        if job.hybrid_engine:
            at.error(
                "verl_hybrid_engine",
                "asynchronous training needs `hybrid_engine: false`; verl's default is true",
                hint="write `actor_rollout_ref.hybrid_engine: false`",
            )
        if job.critic:
            problems.at(("algorithm", "adv_estimator")).error(
                "verl_critic_unsupported",
                "asynchronous training cannot build a critic, which `gae` asks for",
                hint="write another `algorithm.adv_estimator`, such as `grpo`, or `critic.enable: false`",
            )
    if job.mode == "separate_async" and job.backend == "naive":
        problems.at((*ROLLOUT, "checkpoint_engine", "backend")).error(
            "verl_checkpoint_backend",
            "`separate_async` cannot use the checkpoint engine `naive`",
            hint=f"write `{dotted((*ROLLOUT, 'checkpoint_engine', 'backend'))}: nccl`",
        )


def _check_engine(size: ReplicaSize, problems: Problems) -> None:
    for key, value in (
        ("tensor_model_parallel_size", size.tensor),
        ("data_parallel_size", size.data),
        ("pipeline_model_parallel_size", size.pipeline),
    ):
        if value < 1:
            path = (*size.path, key)
            problems.at(path).error("verl_value", _above_zero(path, value), hint="write 1 or more")
    if size.pipeline > 1:
        problems.at((*size.path, "pipeline_model_parallel_size")).error(
            "verl_pipeline_parallel",
            f"no engine of verl serves with pipeline parallelism, here {size.pipeline}",
            hint="write 1, and raise `tensor_model_parallel_size`",
        )
    wanted = size.tensor * size.data
    if size.expert > 1 and size.expert != wanted and size.engine != "trtllm":
        problems.at((*size.path, "expert_parallel_size")).error(
            "verl_expert_parallel",
            f"`expert_parallel_size` must be 1 or tensor x data parallel size, {wanted}, not {size.expert}",
            hint=f"write 1 or {wanted}",
        )


def _check_rollout(job: VerlJob, problems: Problems) -> None:
    if job.rollout_mode == "sync" and job.version >= Version(0, 7, 0, False):
        problems.at((*ROLLOUT, "mode")).error(
            "verl_mode_sync", "verl no longer has the rollout mode `sync`", hint="write `async`, or remove the line"
        )
    size, world = size_of(job), job.training.total
    at = problems.at((*ROLLOUT, "tensor_model_parallel_size"), component="rollout")
    own = job.rollout.size
    if job.hybrid and own > 0 and world > 0 and world % own:
        divisors = [number for number in range(1, world + 1) if world % number == 0]
        at.error(
            "verl_rollout_not_divisible",
            f"a replica of {count(own, 'GPU')} does not divide the {count(world, 'GPU')} of training",
            hint=f"make tensor x data parallel size one of {listing(map(str, divisors), 12)}",
        )
    elif job.hybrid and job.disaggregation is not None and world > 0 and size > 0:
        _check_filled(job.training, size, "training", problems)
    _check_parts(own, job.rollout_gpus, at.path, "rollout", problems)
    if job.disaggregation is not None:
        _check_disaggregation(job, problems)
    if job.hybrid and job.rollout_gpus < 1 <= job.training.gpus:
        _positive(problems, (*ROLLOUT, "n_gpus_per_node"), job.rollout_gpus)
    if job.standalone is None:
        return
    asked = job.standalone
    here = problems.at((*asked.path, "nnodes"), component="rollout")
    if asked.nodes < 1 and not (job.may_have_no_standalone and asked.nodes == 0):
        here.error(
            "verl_standalone_missing",
            f"`{dotted(here.path)}` must be above 0: rollout has GPUs of its own here",
            hint=f"write `{dotted(here.path)}: 1` or more",
        )
    elif asked.nodes > 0 and asked.gpus < 1:
        _pool_size(problems, asked)
    elif asked.nodes > 0 and size > 0:
        _check_filled(asked, job.rollout.tensor if job.trainer == "generation" else size, "rollout", problems)


def _check_filled(asked: NodesAsked, size: int, whose: str, problems: Problems) -> None:
    at = problems.at((*asked.path, "nnodes"), component="rollout")
    if not replicas_in(asked.total, size):
        at.error(
            "verl_no_replica",
            f"a replica of {count(size, 'GPU')} does not fit on {count(asked.total, 'GPU')}: verl starts none",
            hint="lower `tensor_model_parallel_size`, or raise the nodes",
        )
    elif left := asked.total % size:
        at.warning(
            "verl_leftover_gpus",
            f"replicas of {size} leave {left} of the {count(asked.total, 'GPU')} of {whose} without a server",
            hint=f"make the GPUs of {whose} a multiple of {size}",
        )


def _check_parts(size: int, gpus: int, path: Path, component: str, problems: Problems) -> bool:
    """Whether a replica that is larger than a node is a multiple of it."""
    fits = size < 1 or not size % part_size(gpus, size)
    if not fits:
        problems.at(path, component=component).error(
            "verl_replica_parts",
            f"a replica of {size} GPUs cannot be cut into whole nodes of {gpus}",
            hint=f"choose a size up to {gpus}, or a multiple of it",
        )
    return fits


def _check_disaggregation(job: VerlJob, problems: Problems) -> None:
    split = job.disaggregation
    assert split is not None
    at = problems.at(split.path, component="rollout")
    if job.rollout.engine not in ("vllm", "sglang"):
        at.error(
            "verl_pd_engine",
            f"`{job.rollout.engine}` cannot separate prefill and decode",
            hint="use `vllm` or `sglang`, or write `enabled: false`",
        )
    if split.prefill_replicas != 1 or job.rollout.data != 1:
        what = f"{split.prefill_replicas} prefill servers" if split.prefill_replicas != 1 else "data parallelism"
        at.error(
            "verl_pd_prefill",
            f"prefill and decode servers do not work with {what}",
            hint="write `prefill_replicas: 1` and `data_parallel_size: 1`",
        )
    if (size := sum(split.servers)) > job.rollout_gpus:
        at.error(
            "verl_pd_too_large",
            f"prefill and decode servers need {count(size, 'GPU')} of one node, which has {job.rollout_gpus}",
            hint="lower `decode_replicas` or a tensor parallel size",
        )


def _check_pool_sizes(job: VerlJob, problems: Problems) -> None:
    _pool_size(problems, job.training)
    reward = job.reward
    if job.trainer in ("v1", "classic", "fully_async") and reward.own_pool:
        counted = job.trainer != "fully_async"
        if reward.enabled or counted:
            _pool_size(problems, reward.asked)
        if not reward.enabled and counted:
            problems.at((*reward.asked.path, "enable_resource_pool")).warning(
                "verl_pool_counted_not_used",
                f"`enable_resource_pool` without `enable` reserves nothing, yet verl starts only where "
                f"{count(reward.asked.total, 'GPU')} more are free",
                hint="remove it, or write `enable: true`",
            )
    if job.distillation is not None:
        _pool_size(problems, job.distillation)


def _pool_size(problems: Problems, asked: NodesAsked) -> None:
    _positive(problems, (*asked.path, "nnodes"), asked.nodes)
    _positive(problems, (*asked.path, "n_gpus_per_node"), asked.gpus)


def _positive(problems: Problems, path: Path, value: int) -> None:
    if value < 1:
        problems.at(path).error("verl_pool_size", _above_zero(path, value), hint="write 1 or more")


def _above_zero(path: Path, value: int) -> str:
    return f"`{dotted(path)}` must be above 0, not {value}"


def _check_reward(job: VerlJob, problems: Problems) -> None:
    reward = job.reward
    at = problems.at((*reward.asked.path, "enable"), component="reward_model")
    if job.trainer == "one_step_off":
        at.error("verl_reward_unsupported", "one step off has no reward model", hint="write `enable: false`")
        return
    if not reward.own_pool and (job.trainer == "fully_async" or job.mode == "separate_async"):
        at.error(
            "verl_reward_colocated",
            "the reward model cannot share the GPUs of training here",
            hint="write `enable_resource_pool: true`, with `nnodes` and `n_gpus_per_node`",
        )
        return
    if reward.in_workers:
        return
    replica, total = reward.replica, reward.asked.total
    _check_engine(replica, problems)
    path = (*replica.path, "tensor_model_parallel_size")
    here = problems.at(path, component="reward_model")
    if replica.size > total and (total > 0 or job.trainer == "fully_async"):
        here.error(
            "verl_reward_too_large",
            f"a reward replica of {count(replica.size, 'GPU')} does not fit on {total}",
            hint=f"make tensor x data parallel size at most {total}",
        )
    elif not _check_parts(replica.size, reward.asked.gpus, path, "reward_model", problems):
        return
    elif total > 0 and replica.size > 0 and total % replica.size:
        if job.trainer == "fully_async":
            here.warning(
                "verl_leftover_gpus",
                f"reward replicas of {replica.size} leave {total % replica.size} of {count(total, 'GPU')} unused",
                hint=f"make the GPUs of the reward model a multiple of {replica.size}",
            )
        else:
            here.error(
                "verl_reward_not_divisible",
                f"a reward replica of {count(replica.size, 'GPU')} does not divide the {count(total, 'GPU')} it has",
                hint=f"choose a divisor of {total}",
            )


def _check_teachers(job: VerlJob, problems: Problems) -> None:
    pool = job.distillation
    if pool is None:
        return
    at = problems.at(TEACHERS)
    if job.dropped_teacher:
        at.below("teacher_model").warning(
            "verl_default_teacher_dropped",
            "verl drops `teacher_model` as soon as there are other teachers",
            hint="give it another name",
            at_key=True,
        )
    for key, times in Counter(teacher.key for teacher in job.teachers).items():
        if times > 1:
            at.error("verl_teacher_key", f"{times} teachers have the key `{key}`", hint="give each its own key")
    asked = 0
    group = max(1, pool.gpus)
    for teacher in job.teachers:
        replica = teacher.replica
        path = (*replica.path, "tensor_model_parallel_size")
        here = problems.at(path, component=f"teacher:{teacher.key}")
        _check_engine(replica, problems)
        if replica.engine == "trtllm":
            problems.at((*replica.path, "name")).error(
                "verl_teacher_engine", "teachers cannot be served with `trtllm`", hint="use `vllm` or `sglang`"
            )
        if replica.size < 1:
            continue
        if not teacher.has_key:
            at.below(teacher.path[-1]).error(
                "verl_teacher_key", f"teacher `{teacher.key}` has no key", hint="write `key:`, what its samples name"
            )
        if teacher.fills_pool and pool.total > 0 and pool.total % replica.size:
            here.error(
                "verl_teacher_not_divisible",
                f"a replica of {count(replica.size, 'GPU')} does not divide the {pool.total} of `teacher_pool`",
                hint=f"choose a divisor of {pool.total}",
            )
            return
        if teacher.replicas < 1 and not teacher.fills_pool:
            problems.at((*teacher.path, "num_replicas")).error(
                "verl_teacher_sum", f"teacher `{teacher.key}` has no replica", hint="write `num_replicas: 1` or more"
            )
        whole = _check_parts(replica.size, pool.gpus, path, f"teacher:{teacher.key}", problems)
        for number in range(teacher.replicas if whole else 0):
            first = asked + number * replica.size
            groups = (first + replica.size - 1) // group - first // group + 1
            if groups > -(-replica.size // group):
                here.error(
                    "verl_teacher_straddles",
                    f"replica {number} of teacher `{teacher.key}` lies on {groups} nodes, "
                    f"GPUs {first % group} and up of one and the rest of the next",
                    hint="reorder the teachers so that larger ones come first",
                )
                break
        asked += teacher.replicas * replica.size
    if pool.total > 0 and asked != pool.total:
        sizes = " + ".join(f"{one.replicas} x {one.replica.size}" for one in job.teachers)
        at.error(
            "verl_teacher_sum",
            f"the teachers need {sizes} = {count(asked, 'GPU')}, and `teacher_pool` has {pool.total}",
            hint="make `num_replicas` x replica size add up to the pool",
        )

"""What verl asserts, refuses or ignores, found in the sizes alone."""

from __future__ import annotations

from collections import Counter

from placetui.frameworks.verl.config import ROLLOUT, TEACHERS, ReplicaSize, VerlJob, Version
from placetui.frameworks.verl.layout import part_size, replicas_in, size_of
from placetui.placement.problems import Problems
from placetui.placement.wording import count, dotted, listing


def check_job(job: VerlJob, problems: Problems) -> None:
    """Report everything that does not depend on the nodes."""
    _check_trainer(job, problems)
    if job.trainer != "fine_tuning":
        _check_engine(job.rollout, problems, mode=job.rollout_mode, job=job)
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
    if batch is not None and batch.size % batch.least:
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


def _check_engine(size: ReplicaSize, problems: Problems, *, mode: str = "async", job: VerlJob | None = None) -> None:
    """What every engine refuses."""
    for key, value in (
        ("tensor_model_parallel_size", size.tensor),
        ("data_parallel_size", size.data),
        ("pipeline_model_parallel_size", size.pipeline),
    ):
        if value < 1:
            problems.at((*size.path, key)).error(
                "verl_value", f"`{dotted((*size.path, key))}` must be above 0, not {value}", hint="write 1 or more"
            )
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
    if mode == "sync" and (job is None or job.version >= Version(0, 7, 0, False)):
        problems.at((*size.path, "mode")).error(
            "verl_mode_sync", "verl no longer has the rollout mode `sync`", hint="write `async`, or remove the line"
        )


def _check_rollout(job: VerlJob, problems: Problems) -> None:
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
    elif job.hybrid and job.disaggregation is not None and world > 0 and (left := world % size if size else 0):
        at.warning(
            "verl_leftover_gpus",
            f"replicas of {size} leave {count(left, 'GPU')} of training without a server",
            hint="choose prefill and decode sizes that add up to a divisor of the training GPUs",
        )
    if job.disaggregation is None:
        _check_parts(size, job.rollout_gpus, at.path, "rollout", problems)
    else:
        _check_disaggregation(job, problems)
    if job.standalone is None or job.trainer == "generation":
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
        _pool_size(problems, asked.path, asked.nodes, asked.gpus)
    elif asked.nodes > 0 and size > 0:
        if not replicas_in(asked.total, size):
            here.error(
                "verl_no_replica",
                f"a replica of {count(size, 'GPU')} does not fit on {count(asked.total, 'GPU')}: verl starts none",
                hint="lower `tensor_model_parallel_size`, or raise the nodes of rollout",
            )
        elif left := asked.total % size:
            here.warning(
                "verl_leftover_gpus",
                f"replicas of {size} leave {left} of the {count(asked.total, 'GPU')} for rollout unused",
                hint=f"make the GPUs for rollout a multiple of {size}",
            )


def _check_parts(size: int, gpus: int, path: tuple[str | int, ...], component: str, problems: Problems) -> None:
    each = part_size(gpus, size)
    if size > 0 and size % each:
        problems.at(path, component=component).error(
            "verl_replica_parts",
            f"a replica of {size} GPUs cannot be cut into whole nodes of {gpus}",
            hint=f"choose a size up to {gpus}, or a multiple of it",
        )


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
    _pool_size(problems, job.training.path, job.training.nodes, job.training.gpus)
    reward = job.reward
    if job.trainer in ("v1", "classic", "fully_async") and reward.own_pool:
        counted = job.trainer != "fully_async"
        if reward.enabled or counted:
            _pool_size(problems, reward.asked.path, reward.asked.nodes, reward.asked.gpus)
        if not reward.enabled and counted:
            problems.at((*reward.asked.path, "enable_resource_pool")).warning(
                "verl_pool_counted_not_used",
                f"`enable_resource_pool` without `enable` reserves nothing, yet verl starts only where "
                f"{count(reward.asked.total, 'GPU')} more are free",
                hint="remove it, or write `enable: true`",
            )
    if job.distillation is not None:
        _pool_size(problems, job.distillation.path, job.distillation.nodes, job.distillation.gpus)


def _pool_size(problems: Problems, path: tuple[str | int, ...], nodes: int, gpus: int) -> None:
    for key, value in (("nnodes", nodes), ("n_gpus_per_node", gpus)):
        if value < 1:
            problems.at((*path, key)).error(
                "verl_pool_size", f"`{dotted((*path, key))}` must be above 0, not {value}", hint="write 1 or more"
            )


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
    if total > 0 and replica.size > total:
        here.error(
            "verl_reward_too_large",
            f"a reward replica of {count(replica.size, 'GPU')} does not fit on {total}",
            hint=f"make tensor x data parallel size at most {total}",
        )
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
    else:
        _check_parts(replica.size, reward.asked.gpus, path, "reward_model", problems)


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
            at.error("verl_teacher_key", f"{times} teachers have the key `{key}`", hint="give each a key of its own")
    several = len(job.teachers) > 1 or any(teacher.replicas for teacher in job.teachers)
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
        if not several:
            if pool.total > 0 and pool.total % replica.size:
                here.error(
                    "verl_teacher_not_divisible",
                    f"a replica of {count(replica.size, 'GPU')} does not divide the {pool.total} of `teacher_pool`",
                    hint=f"choose a divisor of {pool.total}",
                )
                return
            _check_parts(replica.size, pool.gpus, path, f"teacher:{teacher.key}", problems)
        replicas = teacher.replicas if several else replicas_in(pool.total, replica.size)
        if replicas < 1:
            problems.at((*teacher.path, "num_replicas")).error(
                "verl_teacher_sum", f"teacher `{teacher.key}` has no replica", hint="write `num_replicas: 1` or more"
            )
        for number in range(replicas):
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
        asked += replicas * replica.size
    if several and pool.total > 0 and asked != pool.total:
        sizes = " + ".join(f"{one.replicas} x {one.replica.size}" for one in job.teachers)
        at.error(
            "verl_teacher_sum",
            f"the teachers need {sizes} = {count(asked, 'GPU')}, and `teacher_pool` has {pool.total}",
            hint="make `num_replicas` x replica size add up to the pool",
        )

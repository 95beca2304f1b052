"""What a verl configuration says about placement: keys, verl's defaults by version, and the trainer they lead to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from placetui.placement.config.reader import Reader, Unresolved
from placetui.placement.config.settings import SECTION
from placetui.placement.problems import Path, Problems
from placetui.placement.ranks import shorten
from placetui.placement.wording import dotted, listing, quoted

Trainer: TypeAlias = Literal["v1", "classic", "fully_async", "one_step_off", "generation", "fine_tuning"]

ENTRIES: Mapping[str, Trainer] = {
    "verl.trainer.main_ppo": "v1",
    "verl.experimental.fully_async_policy.fully_async_main": "fully_async",
    "verl.experimental.one_step_off_policy.main_ppo": "one_step_off",
    "verl.trainer.main_generation_server": "generation",
    "verl.trainer.sft_trainer_ray": "fine_tuning",
}
"""Modules that start verl on Ray. `main_ppo` is the classic trainer with `trainer.use_v1: false`."""

MAIN_ENTRY = "verl.trainer.main_ppo"
MODES = ("sync", "colocate_async", "separate_async")
"""Of the v1 trainer, its default first."""

ACTOR: Path = ("actor_rollout_ref",)
ROLLOUT: Path = ("actor_rollout_ref", "rollout")
REWARD: Path = ("reward", "reward_model")
OLD_REWARD: Path = ("reward_model",)
TEACHERS: Path = ("distillation", "teacher_models")
DEFAULT_TEACHER = "teacher_model"

T = TypeVar("T", int, bool, str)

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(.*)")


class Version(NamedTuple):
    """A release of verl."""

    major: int
    minor: int
    patch: int = 0
    released: bool = True
    """False for what came before the release, such as `0.8.0.dev`."""


LATEST = Version(0, 9, 1)
_OLD_WORKERS = Version(0, 7, 0)
"""What a file is taken for that has keys which 0.9 no longer has."""


@dataclass(frozen=True, slots=True)
class ReplicaSize:
    """How large one inference replica is."""

    path: Path
    """Of the section that says so."""

    engine: str
    tensor: int
    data: int
    pipeline: int
    expert: int = 1

    @property
    def size(self) -> int:
        """GPUs of a replica."""
        return self.tensor * self.data * self.pipeline


@dataclass(frozen=True, slots=True)
class PrefillDecode:
    """One prefill server and several decode servers inside a replica."""

    path: Path
    prefill_replicas: int
    decode_replicas: int
    prefill_tensor: int
    decode_tensor: int

    @property
    def servers(self) -> tuple[int, ...]:
        """GPUs of each server, in order."""
        return (self.prefill_tensor, *(self.decode_tensor,) * self.decode_replicas)


@dataclass(frozen=True, slots=True)
class NodesAsked:
    """A number of nodes with a number of GPUs each, and where the file says so."""

    path: Path
    nodes: int
    gpus: int

    @property
    def total(self) -> int:
        return self.nodes * self.gpus


@dataclass(frozen=True, slots=True)
class RewardModel:
    """A reward model: replicas of a server, or up to 0.6 a training process of its own kind."""

    enabled: bool
    in_workers: bool
    """Whether it is no replica but a worker: in the pool of training, a role of its processes."""

    own_pool: bool
    asked: NodesAsked
    replica: ReplicaSize


@dataclass(frozen=True, slots=True)
class Teacher:
    """A teacher model of distillation."""

    path: Path
    key: str
    """With `/` as verl writes it into names."""

    replicas: int
    replica: ReplicaSize
    has_key: bool = True
    fills_pool: bool = False
    """Whether it is the only one: then its size must divide the pool."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What verl checks about the sizes of batches."""

    path: Path
    size: int
    least: int
    """What it must be a multiple of."""

    model: int = 1
    """GPUs of one copy of the model, of which training must have a multiple."""


class Keys:
    """Values of a configuration, each with verl's default where it is missing."""

    def __init__(self, reader: Reader, problems: Problems) -> None:
        self._reader = reader
        self._problems = problems

    def has(self, *path: str | int) -> bool:
        return self._reader.has(*path)

    def names(self, *path: str | int) -> list[str]:
        return self._reader.keys(*path)

    def get(self, *path: str | int, default: Any = None) -> Any:
        found = self._reader.get(*path, default=None)
        return default if found is None or isinstance(found, Unresolved) else found

    def whole(self, *path: str | int, default: int) -> int:
        found = self._typed(path, int, default, "a whole number")
        return found if abs(found) < 1_000_000 else self._wrong(path, found, "a whole number", default)

    def flag(self, *path: str | int, default: bool = False) -> bool:
        return self._typed(path, bool, default, "true or false")

    def text(self, *path: str | int, default: str) -> str:
        return self._typed(path, str, default, "a word")

    def _typed(self, path: Path, kind: type[T], default: T, what: str) -> T:
        found = self.get(*path, default=default)
        return found if type(found) is kind else self._wrong(path, found, what, default)

    def _wrong(self, path: Path, found: object, what: str, default: T) -> T:
        message = f"`{dotted(path)}` must be {what}, not `{shorten(repr(found))}`"
        self._problems.at(path).error("verl_value", message, hint=f"write {what}, or remove the key for verl's default")
        return default


class VerlJob:
    """Everything in a file that decides a placement; what is wrong in a value is reported, and the default taken."""

    def __init__(self, reader: Reader, problems: Problems) -> None:
        keys = Keys(reader, problems)
        self.version = version = _version(keys, problems)
        self.trainer = trainer = _trainer(keys, version, problems)
        self.training = _nodes(keys, ("trainer",), (1, 1) if trainer == "fine_tuning" else (1, 8))
        self.mode = _mode(keys, problems) if trainer == "v1" else ""
        """Of the v1 trainer: `sync`, `colocate_async` or `separate_async`."""
        self.resource = "NPU" if keys.get("trainer", "device") == "npu" else "GPU"
        """What a bundle books in Ray."""
        self.storage_units = keys.whole(
            "transfer_queue", "backend", "SimpleStorage", "num_data_storage_units", default=8
        )
        for path in (("reward", "num_workers"), (*ROLLOUT, "agent", "num_workers")):
            keys.whole(*path, default=8)  # of actors without a GPU: only checked
        asynchronous = trainer in ("fully_async", "one_step_off")

        self.rollout = _replica(keys, ROLLOUT)
        self.assumed_engine = trainer != "fine_tuning" and not keys.has(*ROLLOUT, "name")
        self.disaggregation = _disaggregation(keys, self.rollout)
        self.backend = keys.text(*ROLLOUT, "checkpoint_engine", "backend", default="nccl" if asynchronous else "naive")
        old_mode = "sync" if version < Version(0, 7, 0, False) else "async"
        self.rollout_mode = keys.text(*ROLLOUT, "mode", default=old_mode)
        self.rollout_gpus = keys.whole(*ROLLOUT, "n_gpus_per_node", default=self.training.gpus)
        """GPUs of a node, as replicas are cut into parts."""
        self.standalone: NodesAsked | None = None
        """Nodes for replicas on GPUs of their own."""
        if asynchronous:
            self.standalone = _nodes(keys, ("rollout",), (1, 8))
        elif trainer == "generation":
            self.standalone = self.training
        elif self.mode == "separate_async":
            self.standalone = NodesAsked(ROLLOUT, keys.whole(*ROLLOUT, "nnodes", default=0), self.rollout_gpus)
        if self.standalone is not None:
            self.rollout_gpus = self.standalone.gpus

        self.may_have_no_standalone = keys.flag("async_training", "use_dynamic_resource_scheduling")
        validates = keys.flag("async_training", "use_trainer_do_validate")
        self.hybrid_engine = keys.flag(*ACTOR, "hybrid_engine", default=True)
        serves_too = trainer == "fully_async" and (self.may_have_no_standalone or validates)
        hybrid = trainer in ("v1", "classic") or serves_too
        if self.mode == "separate_async" and not self.hybrid_engine and version[:2] == (0, 9) and version.patch >= 1:
            hybrid = False
        old_era = version < Version(0, 9, 0)
        self.hybrid = hybrid and not (old_era and self.rollout_mode == "sync")
        """Whether replicas run on the GPUs of training."""

        is_gae = keys.get("algorithm", "adv_estimator", default="gae") == "gae"
        self.critic = bool(keys.get("critic", "enable", default=is_gae))
        reward_at = OLD_REWARD if _reads_old_reward(keys, version, trainer) else REWARD
        self.reward = _reward(keys, reward_at, self.training, version)
        self.old_reward_keys = _ignored_reward_key(keys) if reward_at == REWARD and not old_era else None
        """A key of the old spelling that this version ignores."""
        self.roles = _roles(keys, trainer, version, hybrid=hybrid, critic=self.critic, reward=self.reward)
        """Role keys of the training processes, in verl's order."""
        distills = keys.flag("distillation", "enabled")
        self.distillation = _nodes(keys, ("distillation",), (0, 8)) if distills else None
        self.teachers, self.dropped_teacher = _teachers(keys, self.distillation, self.rollout.engine)
        self.batch = None if trainer in ("fine_tuning", "generation") else _batch(keys, self.training.total)

    @property
    def colocated(self) -> int:
        """Processes that may share a GPU of training, and CPUs of each bundle."""
        if self.trainer == "fine_tuning":
            return 10
        return 1 if self.version < Version(0, 7, 0, False) else 3

    @property
    def colocated_standalone(self) -> int:
        """As `colocated`, of standalone replicas."""
        return 2 if self.version >= Version(0, 8, 0) else self.colocated


def _version(keys: Keys, problems: Problems) -> Version:
    """What the file is for: said in it, or seen by keys that came or went."""
    path = (SECTION, "verl_version")
    said = keys.get(*path)
    if said is not None:
        found = _VERSION.fullmatch(str(said).strip())
        if found is not None:
            return Version(int(found[1]), int(found[2]), int(found[3] or 0), "dev" not in found[4])
        if str(said) not in ("main", "head"):
            hint = "write for example `0.9.1`, in quotes, or `main`"
            problems.at(path).error("verl_version_unknown", f"`{said}` is not a version of verl", hint=hint)
        return LATEST if str(said) != "main" else Version(0, 10, 0, False)
    has_new = keys.has("trainer", "use_v1") or keys.has("distillation") or keys.has("reward")
    return _OLD_WORKERS if keys.has("trainer", "use_legacy_worker_impl") and not has_new else LATEST


def _trainer(keys: Keys, version: Version, problems: Problems) -> Trainer:
    path = (SECTION, "verl_entry")
    said = keys.get(*path)
    trainer = ENTRIES.get(str(said)) if said is not None else None
    if said is not None and trainer is None:
        hint = f"write one of {listing(quoted(ENTRIES))}"
        problems.at(path).error("verl_entry_unknown", f"`{said}` does not start verl on Ray", hint=hint)
    if trainer is None:
        trainer = "v1"
        if keys.has("async_training"):
            trainer = "fully_async"
        elif keys.has("rollout"):
            trainer = "one_step_off"
        elif not keys.has(*ACTOR) and (keys.has("engine") or not keys.has("algorithm")):
            trainer = "fine_tuning"
    if trainer == "v1":
        uses_v1 = keys.flag("trainer", "use_v1", default=version >= Version(0, 9, 0, False))
        return "v1" if uses_v1 else "classic"
    return trainer


def _mode(keys: Keys, problems: Problems) -> str:
    path = ("trainer", "v1", "trainer_mode")
    mode = keys.text(*path, default=MODES[0])
    if mode not in MODES:
        hint = f"write one of {listing(quoted(MODES))}"
        problems.at(path).error("verl_value", f"verl has no trainer mode `{shorten(mode)}`", hint=hint)
    return mode


def _nodes(keys: Keys, path: Path, default: tuple[int, int]) -> NodesAsked:
    nodes = keys.whole(*path, "nnodes", default=default[0])
    return NodesAsked(path, nodes, keys.whole(*path, "n_gpus_per_node", default=default[1]))


def _replica(keys: Keys, path: Path, engine: str = "vllm") -> ReplicaSize:
    return ReplicaSize(
        path,
        keys.text(*path, "name", default=engine),
        keys.whole(*path, "tensor_model_parallel_size", default=2),
        keys.whole(*path, "data_parallel_size", default=1),
        keys.whole(*path, "pipeline_model_parallel_size", default=1),
        keys.whole(*path, "expert_parallel_size", default=1),
    )


def _disaggregation(keys: Keys, rollout: ReplicaSize) -> PrefillDecode | None:
    path = (*ROLLOUT, "disaggregation")
    if not keys.flag(*path, "enabled"):
        return None
    return PrefillDecode(
        path,
        keys.whole(*path, "prefill_replicas", default=1),
        keys.whole(*path, "decode_replicas", default=1),
        rollout.tensor,
        keys.whole(*path, "decode_tensor_model_parallel_size", default=rollout.tensor),
    )


def _reads_old_reward(keys: Keys, version: Version, trainer: Trainer) -> bool:
    """Whether `reward_model.*` counts: before 0.7.1 alone, until 0.9 and in fully async where it is written."""
    if version < Version(0, 7, 1):
        return not keys.has(*REWARD, "enable")
    carried_over = version < Version(0, 9, 0) or trainer == "fully_async"
    return carried_over and keys.get(*OLD_REWARD, "enable") is not None


def _reward(keys: Keys, path: Path, training: NodesAsked, version: Version) -> RewardModel:
    enabled, own_pool = keys.flag(*path, "enable"), keys.flag(*path, "enable_resource_pool")
    by_replicas = keys.flag(*path, "use_reward_loop", default=version >= Version(0, 7, 0, False))
    in_workers = enabled and path == OLD_REWARD and version < Version(0, 9, 0) and not by_replicas
    asked = _nodes(keys, path, (0, 8)) if own_pool else NodesAsked(path, training.nodes, training.gpus)
    nothing = ReplicaSize((*path, "rollout"), "vllm", 2, 1, 1)
    return RewardModel(enabled, in_workers, own_pool, asked, _replica(keys, nothing.path) if enabled else nothing)


def _ignored_reward_key(keys: Keys) -> Path | None:
    for key in ("enable", "enable_resource_pool", "nnodes", "n_gpus_per_node"):
        if keys.has(*OLD_REWARD, key):
            return (*OLD_REWARD, key)
    return None


def _teachers(keys: Keys, pool: NodesAsked | None, engine: str) -> tuple[tuple[Teacher, ...], bool]:
    """Teachers in the order of the file, and whether the default entry was dropped."""
    if pool is None:
        return (), False
    others = [name for name in keys.names(*TEACHERS) if name != DEFAULT_TEACHER]
    if not others:
        # Whatever its own keys say, it is called `default` and fills the pool.
        path = (*TEACHERS, DEFAULT_TEACHER)
        replica = _replica(keys, (*path, "inference"), engine)
        replicas = max(0, pool.total) // replica.size if replica.size > 0 else 0
        return (Teacher(path, "default", replicas, replica, fills_pool=True),), False
    found = []
    for name in others:
        path = (*TEACHERS, name)
        key = keys.get(*path, "key")
        replicas = keys.whole(*path, "num_replicas", default=0)
        inference = _replica(keys, (*path, "inference"), engine)
        shown = str(name if key is None else key).replace("/", "_")
        found.append(Teacher(path, shown, replicas, inference, has_key=key is not None))
    default = (*TEACHERS, DEFAULT_TEACHER)
    used = any(keys.get(*default, key) for key in ("key", "model_path", "num_replicas"))
    return tuple(found), used


def _roles(
    keys: Keys, trainer: Trainer, version: Version, *, hybrid: bool, critic: bool, reward: RewardModel
) -> tuple[str, ...]:
    if trainer in ("fine_tuning", "generation"):
        return ()
    needs_ref = keys.flag("algorithm", "use_kl_in_reward") or keys.flag(*ACTOR, "actor", "use_kl_loss")
    lora = any(keys.get(*ACTOR, "model", *key) for key in (("lora", "rank"), ("lora_rank",), ("lora_adapter_path",)))
    value = ("critic",) if critic else ()
    if trainer in ("fully_async", "one_step_off"):
        return ("actor_rollout" if hybrid else "actor", *value, *(("ref",) if needs_ref else ()))
    ref = needs_ref and not lora
    if not hybrid:
        return ("actor", *(("ref",) if ref else ()), *value)
    workers = keys.get("trainer", "use_legacy_worker_impl", default="auto")
    if version < Version(0, 9, 0) and workers != "disable":
        rm = ("rm",) if reward.in_workers and not reward.own_pool else ()
        return ("actor_rollout", *value, *(("ref",) if ref else ()), *rm)
    return ("actor_rollout_ref" if ref else "actor_rollout", *value)


def _batch(keys: Keys, world: int) -> Batch | None:
    """The check of `data.train_batch_size`, where the file says enough."""
    path = ("data", "train_batch_size")
    if not keys.has(*path) or world < 1 or keys.flag(*ACTOR, "actor", "use_dynamic_bsz"):
        return None
    least, model = world, 1
    if keys.get(*ACTOR, "actor", "strategy") == "megatron":
        at = (*ACTOR, "actor", "megatron")
        for key in ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"):
            model *= max(1, keys.whole(*at, key, default=1))
        micro = keys.whole(*ACTOR, "actor", "ppo_micro_batch_size_per_gpu", default=1)
        least = max(1, world // model) * max(1, micro)
    return Batch(path, keys.whole(*path, default=0) * keys.whole(*ROLLOUT, "n", default=1), least, model)

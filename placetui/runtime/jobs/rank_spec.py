"""What a rank's actor is made from, as plain values: kept in the cluster, so that the rank can be made again."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from placetui.placement.environment import NAMESPACE
from placetui.runtime.gcs.driver import group_of
from placetui.runtime.gcs.importing import import_ray
from placetui.runtime.remote.rank_actor import SPEC_NAMESPACE

if TYPE_CHECKING:
    from placetui.runtime.gcs.client import Head
    from placetui.runtime.jobs.records import Record


@dataclass(frozen=True, slots=True)
class RankSpec:
    """Everything that Ray and the rank's process need to know."""

    name: str
    """Of the actor: `JOB/actor:0`."""

    num_gpus: float
    num_cpus: float
    max_restarts: int
    runtime_env: Mapping[str, Any]
    node: str
    spec: Mapping[str, Any]
    group: str = ""
    """Id of its placement group; empty on nodes and robots."""

    bundle: int = 0
    captures: bool = False
    """Whether tasks that it starts stay within the group."""

    namespace: str = NAMESPACE
    detached: bool = True
    """Whether it outlives the process that starts it."""

    max_concurrency: int | None = None
    engine: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of an engine, once they are known."""

    device: str = "GPU"
    """Ray's name for the accelerators of its node."""

    hidden: tuple[str, ...] = ()
    """Variables that are not stored; a restart takes them from Ray."""

    def without(self, names: Collection[str]) -> RankSpec:
        """The same with nothing of these variables but their names."""

        def kept(variables: Mapping[str, str]) -> dict[str, str]:
            return {name: value for name, value in variables.items() if name not in names}

        return replace(
            self,
            spec={**self.spec, "environment": kept(self.spec["environment"])},
            runtime_env={**self.runtime_env, "env_vars": kept(self.runtime_env.get("env_vars", {}))},
            hidden=tuple(sorted(names)),
        )

    def with_variables(self, known: Mapping[str, str]) -> RankSpec:
        """The same with those that were left out, of these."""
        found = {name: known[name] for name in self.hidden if name in known}
        return replace(
            self,
            spec={**self.spec, "environment": {**self.spec["environment"], **found}},
            runtime_env={**self.runtime_env, "env_vars": {**self.runtime_env.get("env_vars", {}), **found}},
            hidden=(),
        )

    def options(self) -> dict[str, Any]:
        strategies = import_ray("ray.util.scheduling_strategies")
        strategy = strategies.NodeAffinitySchedulingStrategy(self.node, soft=False)
        if self.group:
            strategy = strategies.PlacementGroupSchedulingStrategy(
                group_of(self.group),
                placement_group_bundle_index=self.bundle,
                placement_group_capture_child_tasks=self.captures,
            )
        return {
            "name": self.name,
            "namespace": self.namespace,
            "lifetime": "detached" if self.detached else None,
            **share_of(self.device, self.num_gpus),
            "num_cpus": self.num_cpus,
            "max_restarts": self.max_restarts,
            "max_concurrency": self.max_concurrency,
            "scheduling_strategy": strategy,
            "runtime_env": dict(self.runtime_env),
        }


def share_of(device: str, share: float) -> dict[str, Any]:
    """How Ray is asked for a part of an accelerator."""
    return {"num_gpus": share} if device == "GPU" else {"num_gpus": 0, "resources": {device: share} if share else {}}


def key(job: str, uid: str, component: str, rank: int) -> str:
    """Where it is kept: by job, then by which job of that name."""
    return f"{job}/{uid}/{component}:{rank}"


def store(head: Head, made: RankSpec) -> None:
    """Keep it; its actor knows where."""
    # Pickled: what a file gives to a worker may have dates in it, which JSON has not.
    head.put(SPEC_NAMESPACE.encode(), made.spec["key"].encode(), pickle.dumps(asdict(made)), overwrite=True)


def find(head: Head, record: Record, component: str, rank: int) -> RankSpec | None:
    """What a rank was made from; None if nobody kept it, or another version did."""
    data = head.get(SPEC_NAMESPACE.encode(), key(record.job, record.uid, component, rank).encode())
    try:
        return RankSpec(**pickle.loads(data)) if data else None
    except (TypeError, ValueError, AttributeError, ImportError, EOFError, pickle.UnpicklingError):
        return None

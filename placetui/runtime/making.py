"""What a rank's actor is made from, as plain values: kept in the cluster, so that the rank can be made again."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from placetui.placement.environment import NAMESPACE
from placetui.runtime import private
from placetui.runtime.shell import MADE_NAMESPACE

if TYPE_CHECKING:
    from placetui.runtime.private import Head


@dataclass(frozen=True, slots=True)
class Making:
    """All that Ray and the rank's process are told."""

    name: str
    """Of the actor: `JOB/actor:0`."""

    num_gpus: float
    num_cpus: float
    max_restarts: int
    runtime_env: Mapping[str, Any]
    node: str
    """Id of its Ray node."""

    spec: Mapping[str, Any]
    """Of its shell."""

    group: str = ""
    """Id of its placement group; empty on nodes and robots."""

    bundle: int = 0
    """Its place in the group."""

    captures: bool = False
    """Whether tasks that it starts stay within the group."""

    namespace: str = NAMESPACE
    detached: bool = True
    """Whether it outlives the process that starts it."""

    max_concurrency: int | None = None
    """Calls that it answers at a time."""

    engine: Mapping[str, Any] = field(default_factory=dict)
    """What an engine is told, once that is known."""

    def options(self) -> dict[str, Any]:
        """What Ray is told about the actor."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy

        strategy: Any = NodeAffinitySchedulingStrategy(self.node, soft=False)
        if self.group:
            strategy = PlacementGroupSchedulingStrategy(
                private.group_of(self.group),
                placement_group_bundle_index=self.bundle,
                placement_group_capture_child_tasks=self.captures,
            )
        return {
            "name": self.name,
            "namespace": self.namespace,
            "lifetime": "detached" if self.detached else None,
            "num_gpus": self.num_gpus,
            "num_cpus": self.num_cpus,
            "max_restarts": self.max_restarts,
            "max_concurrency": self.max_concurrency,
            "scheduling_strategy": strategy,
            "runtime_env": dict(self.runtime_env),
        }


def key(job: str, uid: str, component: str, rank: int) -> str:
    """Where it is kept: by job, then by which job of that name."""
    return f"{job}/{uid}/{component}:{rank}"


def store(head: Head, making: Making) -> None:
    """Keep it; its shell knows where."""
    # Pickled: what a file gives to a worker may have dates in it, which JSON has not.
    head.put(MADE_NAMESPACE.encode(), making.spec["key"].encode(), pickle.dumps(asdict(making)), overwrite=True)


def find(head: Head, job: str, uid: str, component: str, rank: int) -> Making | None:
    """What a rank was made from; None if nobody kept it, or another version did."""
    data = head.get(MADE_NAMESPACE.encode(), key(job, uid, component, rank).encode())
    try:
        return Making(**pickle.loads(data)) if data else None
    except (TypeError, ValueError, AttributeError, ImportError, EOFError, pickle.UnpicklingError):
        return None


def forget(head: Head, job: str, uid: str | None = None) -> None:
    """Remove what is kept of a job; with `uid` only if it is of this one."""
    prefix = f"{job}/" if uid is None else f"{job}/{uid}/"
    head.delete_all(MADE_NAMESPACE.encode(), prefix.encode())

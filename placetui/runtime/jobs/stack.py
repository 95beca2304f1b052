"""Where a rank is that hangs: the Python stacks of its process, read on its node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placetui.bridge.work import Work
from placetui.runtime import remote
from placetui.runtime.errors import ClusterError, NotPossible, explain
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.driver import driver, ship_by_value
from placetui.runtime.gcs.guard import guarded
from placetui.runtime.jobs.rank import RankTarget, asked_job, target_of
from placetui.runtime.policy import Deadline
from placetui.runtime.remote import stacks


def stack(body: Mapping[str, Any], work: Work) -> Mapping[str, Any]:
    """The stacks of a rank: `text`, and what they were read `by`."""
    with asked_job(body, work) as (head, job):
        target = target_of(job, body)
        if target.actor is None or not target.actor.pid or target.state.state == "dead":
            raise NotPossible(f"{target} has no process: it is {target.state.state}", hint="its log may say why")
        return guarded(head, lambda: _read(head, target, work))


def _read(head: Head, target: RankTarget, work: Work) -> Mapping[str, Any]:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    assert target.actor
    ship_by_value(remote)
    with driver(head, head.nodes()) as ray:
        strategy = NodeAffinitySchedulingStrategy(target.actor.node, soft=False)
        task = ray.remote(num_cpus=0, max_retries=0)(stacks.read_stacks).options(scheduling_strategy=strategy)
        reference = task.remote(target.actor.pid)
        deadline = Deadline(work, head.policy.read_log, hint="is its node still there?")
        for _ in deadline.gather(ray, {reference: None}, lambda _: f"the node of {target} does not answer"):
            break
        try:
            found: Mapping[str, Any] = ray.get(reference)
        except Exception as problem:
            raise ClusterError(f"the stacks of {target} cannot be read: {explain(problem)}") from problem
    if "problem" in found:
        raise NotPossible(
            f"the stacks of {target} cannot be read: {found['problem']}",
            hint="pip install py-spy on the nodes of the cluster",
        )
    return {"address": head.address, "component": target.component, "rank": target.rank, **found}

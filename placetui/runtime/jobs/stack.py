"""Where a rank is that hangs: the Python stacks of its process, read on its node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placetui.bridge.work import Work
from placetui.runtime.errors import NotPossible
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.driver import driver, node_task, tied_to
from placetui.runtime.gcs.outages import guarded
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
    assert target.actor
    with driver(head, head.nodes()) as ray:
        task = node_task(ray, stacks.read_stacks).options(**tied_to(target.actor.node))
        deadline = Deadline(work, head.policy.read_log, hint="is its node still there?")
        found: Mapping[str, Any] = deadline.result(
            ray,
            task.remote(target.actor.pid),
            f"the node of {target} does not answer",
            f"the stacks of {target} cannot be read",
        )
    if "problem" in found:
        raise NotPossible(
            f"the stacks of {target} cannot be read: {found['problem']}",
            hint="pip install py-spy on the nodes of the cluster",
        )
    return {"address": head.address, "component": target.component, "rank": target.rank, **found}

"""What `placetui top` looks at: a Ray cluster, or the GPUs of this node where there is none."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from placetui import locations
from placetui.bridge.client import Bridge
from placetui.bridge.process import NVML_CHILD, child_command
from placetui.bridge.source import nvml_source, ray_source
from placetui.cli.cluster import Failed, runtime
from placetui.observe.operations import job_name
from placetui.observe.ports import ClusterSource
from placetui.placement.plan import Plan

FIND_TIMEOUT = 30.0
"""Seconds in which a head must be found, and its jobs read."""

SETTLE = 10.0
"""Seconds that nodes have to answer before something is printed once."""

LEAVE = 2.0
"""Seconds for the child to end what it has on the nodes; it ends with it in any case."""


@contextmanager
def open_source(args: argparse.Namespace, plan: Plan | None, interval: float) -> Iterator[ClusterSource]:
    """The source that is asked for.

    Raises:
        Failed: the cluster that was named cannot be reached.
    """
    if not args.no_ray:
        with runtime(LEAVE) as child:
            try:
                found = child.ask("ps", FIND_TIMEOUT, address=args.address)
            except Failed as problem:
                if not problem.details.get("absent"):
                    raise
                print(f"note: {problem.message}: these are the GPUs of this node (as with --no-ray)", file=sys.stderr)
            else:
                job = args.job or (job_name(args.file) if args.file else "")
                if job and job not in [str(one["name"]) for one in found["jobs"]]:
                    print(f"note: there is no job `{job}` on {found['address']}", file=sys.stderr)
                yield ray_source(
                    child.bridge,
                    str(found["address"]),
                    job=job,
                    mode=plan.mode if plan is not None else "",
                    nodes=len(plan.nodes) if plan is not None else 0,
                    sample=not args.no_sample,
                    settle=SETTLE if args.once else 0.0,
                    interval=interval,
                )
                return
    if plan is not None:
        print(
            "note: without Ray nobody knows whose the processes are: of the plan only its GPUs are compared",
            file=sys.stderr,
        )
    with Bridge(locations.logs_dir(), child_command(NVML_CHILD)) as bridge:
        yield nvml_source(bridge, interval)

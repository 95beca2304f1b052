"""Recorded clusters as facts: real runs of RLinf, slime and Miles, read from Ray's tables."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from placetui.document import Document, PlanRequest, plan_document
from placetui.frameworks.cluster_facts import ActorSeen, BundleSeen, ClusterFacts, GroupSeen, NodeSeen, RayJobSeen
from placetui.frameworks.new_job import ScriptContext
from placetui.frameworks.recognition import environment_read
from placetui.frameworks.registry import framework
from placetui.placement.config.reader import Reader
from placetui.placement.plan import Plan
from placetui.placement.problems import Problems
from placetui.placement.topology import Node

GOLDEN = Path(__file__).parents[1] / "golden"


def recorded(name: str) -> Any:
    return json.loads(gzip.decompress((GOLDEN / f"{name}.json.gz").read_bytes()))


def read_of(environment: Mapping[str, str]) -> dict[str, str]:
    """What is kept of an environment."""
    return {name: value for name, value in environment.items() if name in environment_read()}


# RLinf


def rlinf_facts(run: Any, snapshot: Any) -> ClusterFacts:
    nodes = {node["index"]: node["id"] for node in run["nodes"]}
    return ClusterFacts(
        tuple(
            NodeSeen(
                node["id"],
                node["ip"],
                int(node["ray_gpus"]),
                gpu_ids=tuple(
                    int(word) for word in node["raylet_env"].get("CUDA_VISIBLE_DEVICES", "").split(",") if word
                ),
            )
            for node in run["nodes"]
        ),
        tuple(
            ActorSeen(
                actor["actor_id"],
                actor["name"],
                actor["class"],
                actor["namespace"],
                actor["job_id"],
                "" if actor["node"] is None else nodes[actor["node"]],
                actor["pid"],
                actor["state"],
                (actor.get("death") or {}).get("reason", ""),
                (actor.get("death") or {}).get("reason") or (actor.get("death") or {}).get("context", ""),
                started=actor["start"] / 1000,
                ended=actor["end"] / 1000,
                required=actor["required_resources"],
                environment=read_of(actor["env"]),
            )
            for actor in snapshot["actors"]
        ),
        jobs=tuple(
            RayJobSeen(
                job["job_id"],
                job["entrypoint"],
                job["metadata"].get("job_submission_id", ""),
                job["namespace"],
                started=job["start"] / 1000,
                ended=job["end"] / 1000,
                dead=job["dead"],
                driver_ip=job["driver_ip"],
                driver_pid=job["driver_pid"],
                sys_path=tuple(job["driver_sys_path"]),
            )
            for job in snapshot["jobs"]
        ),
    )


def rlinf_plan(run: Any, job: Any) -> Plan:
    """The plan of a job's own file, on the nodes as RLinf counts them."""
    nodes = sorted(run["nodes"], key=lambda node: node["rlinf_node_rank"])
    document = Document(json.dumps(job["config"]), job["config_file"])
    request = PlanRequest(
        nodes=tuple(Node(node["physical_gpus"], name=node["hostname"], ip=node["ip"]) for node in nodes),
        topology_source="ray",
    )
    return framework("rlinf").with_names(plan_document(document, request), Reader(document.config, Problems()))


# slime and Miles


def slime_facts(run: Any) -> ClusterFacts:
    job = next(actor["job_id"] for actor in run["actors"] if not actor["name"])
    return ClusterFacts(
        tuple(NodeSeen(f"node{index}", node["ip"], node["gpus"]) for index, node in enumerate(run["nodes"])),
        tuple(
            ActorSeen(
                actor["actor_id"],
                actor["name"],
                actor["class_name"],
                actor["namespace"],
                actor["job_id"],
                "" if actor["node"] is None else f"node{actor['node']}",
                actor["pid"],
                actor["state"],
                started=actor["start_time_ms"] / 1000,
                group=actor["placement_group_id"] or "",
                required=actor["required_resources"],
                environment=read_of((actor.get("runtime_env") or {}).get("env_vars") or {}),
            )
            for actor in run["actors"]
        ),
        tuple(
            GroupSeen(
                group["id"],
                group["name"],
                group["namespace"],
                group["creator_job_id"],
                group["state"],
                group["strategy"],
                tuple(BundleSeen(f"node{one['node']}", one["resources"]) for one in group["bundles"]),
            )
            for group in run["placement_groups"]
        ),
        (RayJobSeen(job, " ".join(["python3 train.py", *run["argv"]])),),
    )


def slime_plan(run: Any) -> Plan:
    """The plan of a job's command line."""
    chosen = framework(run["framework"])
    assert chosen.from_command is not None
    words = [word.replace("@IP:@PORT", "10.0.0.9:3000") for word in run["argv"]]
    text = chosen.from_command(["train.py", *words], ScriptContext()).text
    document = Document(text, "entrypoint")
    config = dict(document.config)
    if "sglang_config" in run:
        config["slime"] = {**config["slime"], "sglang_config": dict(Document(run["sglang_config"], "sg").config)}
        config["placetui"] = {**config.get("placetui", {}), "slime_version": "head"}
    request = PlanRequest(nodes=tuple(Node(node["gpus"], ip=node["ip"]) for node in run["nodes"]))
    return plan_document(Document(json.dumps(config), "entrypoint"), request)

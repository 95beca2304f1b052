"""Recorded jobs of RLinf and slime, from the head's tables to an observation: healthy ones show no drift."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from placetui.document import Document, PlanRequest, plan_document
from placetui.frameworks.cluster_facts import ActorSeen, ClusterFacts, NodeSeen, RayJobSeen
from placetui.frameworks.recognition import recognise
from placetui.frameworks.registry import framework
from placetui.observe.attribution import Attribution
from placetui.observe.drift import drift
from placetui.observe.following import PlanOutline, follow, summary
from placetui.observe.model import Observation, ProcessSample
from placetui.observe.settled import SettledPlan
from placetui.placement.config.reader import Reader
from placetui.placement.plan import Plan
from placetui.placement.problems import Problems
from placetui.runtime.gcs.model import RayActor, RayNode, Tables
from placetui.runtime.watch.recognition import JobWatch
from placetui.runtime.watch.samplers import GpuOrder
from placetui.runtime.watch.view import ClusterView, Followed, Seen
from placetui.tui.session import nodes_of, saved_text
from tests.frameworks.live_recordings import recorded, rlinf_facts, rlinf_plan, slime_facts, slime_plan
from tests.frameworks.verl.test_verl_identify import facts_of as verl_facts
from tests.frameworks.verl.test_verl_identify import plan_of as verl_plan

VERL = recorded("verl_live")["runs"]
RLINF = {run["id"]: run for run in recorded("rlinf_live")["runs"]}
SLIME = {run["id"]: run for run in recorded("slime_live")["runs"]}


def row(actor: ActorSeen) -> RayActor:
    return RayActor(**{one.name: getattr(actor, one.name) for one in fields(actor)})


def observe(facts: ClusterFacts, plan: Plan | None, plans: dict[str, Plan], wanted: str = "") -> Observation:
    """What the child would send."""
    nodes = tuple(RayNode(one.id, one.ip, one.ip, {"GPU": one.gpus}) for one in facts.nodes)
    seen = Seen(Tables(nodes, tuple(map(row, facts.actors))), jobs=tuple(facts.jobs))
    jobs = recognise(facts, plans)
    outline = PlanOutline.of(plan) if plan is not None else None
    job, note = follow(jobs, outline, wanted)
    known = {
        one.id: (None, GpuOrder(one.gpus, {str(gpu): place for place, gpu in enumerate(one.gpu_ids)}))
        for one in facts.nodes
    }
    mode, size = (plan.mode, len(plan.nodes)) if plan is not None else ("", 0)
    view = ClusterView(seen, mode, size, known, "", None, Followed(jobs, job, outline, note))
    view._fill(None, set())
    found = Observation(1.0, "ray", view.nodes, view.ranks, job.name if job else "", note=note)
    found = replace(found, jobs=tuple(map(summary, jobs)), not_launched=view.not_launched)
    return Attribution().apply(found, {}, view.actors)


def rlinf_scene(name: str, label: str) -> tuple[ClusterFacts, dict[str, Plan]]:
    run = RLINF[name]
    snapshot = next(one for one in run["snapshots"] if one["label"] == label)
    return rlinf_facts(run, snapshot), {job["job_id"]: rlinf_plan(run, job) for job in run["jobs"]}


RUNNING = [
    (run["id"], one["label"])
    for run in RLINF.values()
    for one in run["snapshots"]
    if all(e["complete"] for e in one["expected"])
]


@pytest.mark.parametrize(("name", "label"), RUNNING)
def test_a_healthy_rlinf_job_shows_no_drift(name: str, label: str) -> None:
    facts, plans = rlinf_scene(name, label)
    for job, plan in plans.items():
        if job not in facts.job_by_id or facts.job_by_id[job].dead:
            continue
        seen = observe(facts, plan, plans, job)
        assert (seen.job, drift(plan, seen)) == (facts.job_by_id[job].title, ())


@pytest.mark.parametrize("name", [name for name in SLIME if name != "two-raylets-on-one-address"])
def test_a_healthy_slime_job_shows_no_drift(name: str) -> None:
    facts, plan = slime_facts(SLIME[name]), slime_plan(SLIME[name])
    seen = observe(facts, plan, {facts.jobs[0].id: plan})
    assert (seen.job, drift(plan, seen)) == (facts.jobs[0].id, ())


def test_a_component_that_is_not_started_yet_is_not_missing() -> None:
    """slime and verl start their components one after another, with minutes between."""
    facts, plan = slime_facts(SLIME["separate"]), slime_plan(SLIME["separate"])
    plan = framework("slime").with_names(plan, Reader({}, Problems()))
    started = replace(facts, actors=[one for one in facts.actors if "Train" not in one.class_name])
    seen = observe(started, plan, {facts.jobs[0].id: plan})
    assert (seen.job, seen.not_launched, drift(plan, seen)) == (facts.jobs[0].id, ("actor",), ())


def change(facts: ClusterFacts, name: str, **values: Any) -> ClusterFacts:
    return replace(facts, actors=[replace(one, **values) if one.name == name else one for one in facts.actors])


def test_each_thing_that_goes_wrong_is_one_kind() -> None:
    facts, plans = rlinf_scene("collocated", "running")
    (plan,) = plans.values()
    facts = replace(facts, actors=[replace(one, state="ALIVE") for one in facts.actors])
    (rank,) = [one for one in facts.actors if one.name == "RolloutGroup:1"]

    def kinds(changed: ClusterFacts) -> set[tuple[str, str | None, int | None]]:
        return {(one.kind, one.component, one.rank) for one in drift(plan, observe(changed, plan, plans))}

    assert kinds(facts) == set()
    assert kinds(change(facts, rank.name, state="DEAD", reason="killed")) == {("dead_rank", "rollout", 1)}
    gone = replace(facts, actors=[one for one in facts.actors if one.name != rank.name])
    assert kinds(gone) == {("missing_rank", "rollout", 1)}
    moved = {**rank.environment, "LOCAL_HARDWARE_RANKS": "3", "VISIBLE_DEVICES": "3"}
    assert kinds(change(facts, rank.name, environment=moved)) == {("wrong_device", "rollout", 1)}
    larger = [
        replace(one, environment={**one.environment, "WORLD_SIZE": "3"}) if one.name.startswith("Rollout") else one
        for one in facts.actors
    ]
    more = {**rank.environment, "RANK": "2", "WORLD_SIZE": "3", "WORKER_NAME": "RolloutGroup:2"}
    larger.append(replace(rank, id="2", name="RolloutGroup:2", environment=more))
    assert ("unexpected_rank", "rollout", 2) in kinds(replace(facts, actors=larger))
    seen = observe(facts, plan, plans)
    device = seen.nodes[0].devices[0]
    stranger = ProcessSample(9, 2**32, user="bob", command="python")
    devices = (replace(device, processes=(stranger,)), *seen.nodes[0].devices[1:])
    seen = replace(seen, nodes=(replace(seen.nodes[0], devices=devices),))
    assert [one.kind for one in drift(plan, seen)] == ["foreign_process"]


def test_an_unrelated_cluster_gives_a_sentence_and_no_drift() -> None:
    facts, plans = rlinf_scene("collocated", "running")
    other = Document(
        "cluster: {num_nodes: 1, component_placement: {agent: all}}\nagent: {group_name: Agents}", "a.yaml"
    )
    plan = plan_document(other, PlanRequest())
    seen = observe(facts, plan, plans)
    assert (seen.job, drift(plan, seen)) == ("", ())
    assert seen.note == "a running RLinf job has other components: actor 2, env 2 and rollout 2"


def test_gpus_that_ray_does_not_count_are_shown_where_rlinf_uses_them() -> None:
    facts, plans = rlinf_scene("three-hosts", "running")
    (plan,) = plans.values()
    seen = observe(facts, plan, plans)
    (host,) = [one for one in seen.nodes if len(one.devices) == 8]
    ranks = {claim.rank for device in host.devices for claim in device.claims if claim.kind == "rank"}
    uncounted = [device.gpu_id for device in host.devices if "Ray does not count" in (device.error or "")]
    assert (uncounted, bool(ranks)) == ([0, 2, 4, 6], True)


def saved_and_opened(facts: ClusterFacts, plans: dict[str, Plan], job: str = "") -> tuple[Plan, Observation]:
    """The plan of a saved picture, and the same cluster seen with it."""
    text, left_out = saved_text(observe(facts, None, plans, job), "As seen.")
    assert left_out == () or job
    document = Document(text, "cluster.yaml")
    first = plan_document(document, PlanRequest())
    plan = plan_document(document, PlanRequest(nodes_of(observe(facts, first, plans, job)), "ray"))
    return plan, observe(facts, plan, plans, job)


@pytest.mark.parametrize("known", [True, False], ids=["configuration read", "configuration unknown"])
@pytest.mark.parametrize(("name", "label"), RUNNING)
def test_a_saved_rlinf_job_shows_no_drift_on_the_same_cluster(name: str, label: str, known: bool) -> None:
    facts, plans = rlinf_scene(name, label)
    for job in facts.job_by_id.values():
        if job.dead or job.id not in plans:
            continue
        plan, again = saved_and_opened(facts, plans if known else {}, job.id if name == "two-jobs" else "")
        assert (again.job, drift(plan, again), again.not_launched) == (job.title, (), ())
        assert set(plan.components) == set(again.ranks)


@pytest.mark.parametrize("known", [True, False], ids=["configuration read", "configuration unknown"])
@pytest.mark.parametrize("name", [name for name in SLIME if name != "two-raylets-on-one-address"])
def test_a_saved_slime_job_shows_no_drift_on_the_same_cluster(name: str, known: bool) -> None:
    facts = slime_facts(SLIME[name])
    own = {facts.jobs[0].id: slime_plan(SLIME[name])} if known else {}
    if not known:
        release = " --release-train" if name == "released" else ""
        facts = replace(facts, jobs=[replace(facts.jobs[0], entrypoint=f"python my_job.py{release}")])
    plan, again = saved_and_opened(facts, own)
    assert (plan.framework, again.job, drift(plan, again)) == (SLIME[name]["framework"], facts.jobs[0].id, ())
    assert {part: len(states) for part, states in again.ranks.items()} == {
        part: one.world_size for part, one in plan.components.items()
    }


@pytest.mark.parametrize("swapped", [False, True], ids=["as expected", "Ray chose the other node"])
def test_a_saved_verl_job_is_its_own_file(swapped: bool) -> None:
    (run,) = [run for run in VERL if run["id"] == "v1_separate_async_with_transfer_queue"]
    facts = verl_facts(run)
    if swapped:
        other = {"node0": "node1", "node1": "node0"}
        groups = [
            replace(one, bundles=tuple(replace(bundle, node=other[bundle.node]) for bundle in one.bundles))
            for one in facts.groups
        ]
        actors = [replace(one, node=other.get(one.node, "")) for one in facts.actors]
        facts = replace(facts, actors=actors, groups=groups)
    command = f"python3 -m verl.trainer.main_ppo {' '.join(run['command_overrides'])}"
    facts = replace(facts, jobs=[RayJobSeen("01000000", command, started=1.0)])
    plan, again = saved_and_opened(facts, {"01000000": verl_plan(run)})
    assert (plan.framework, again.job) == ("verl", "01000000")
    assert drift(SettledPlan(plan).update(again), again) == ()


def test_a_saved_slime_job_on_reordered_gpus_shows_no_drift() -> None:
    """CUDA_VISIBLE_DEVICES=7,5,3,1 at the raylet: bundle i has the last but i of the list."""
    facts = slime_facts(SLIME["separate"])
    nodes = [replace(node, gpu_ids=(7, 5, 3, 1)) for node in facts.nodes]
    actors = [one if one.bundle is None else replace(one, slots={3 - one.bundle: 0.4}) for one in facts.actors]
    plan, again = saved_and_opened(replace(facts, nodes=nodes, actors=actors), {})
    assert (again.job, drift(plan, again)) == (facts.jobs[0].id, ())
    (node,) = again.nodes
    assert [(device.gpu_id, claim.component, claim.rank) for device in node.devices for claim in device.claims] == [
        (1, "actor", 0),
        (3, "actor", 1),
        (5, "rollout", 0),
        (7, "rollout", 1),
    ]


def test_a_picture_of_several_jobs_is_taken_for_none_of_them() -> None:
    facts, plans = rlinf_scene("two-jobs", "both")
    plan, again = saved_and_opened(facts, plans)
    assert set(plan.components) == {f"actor-{facts.job_by_id[job].title}" for job in plans if job in facts.job_by_id}
    assert (again.job, drift(plan, again)) == ("", ())


def test_a_job_tells_the_order_of_its_nodes_and_what_they_have(tmp_path: Path) -> None:
    """Ray counts 4 of 8 GPUs, and by address the nodes would stand the other way round."""
    cluster = {"num_nodes": 2, "component_placement": {"actor": "0-1", "rollout": 9}}
    groups = {"actor": {"group_name": "Trainers"}, "rollout": {"group_name": "Samplers"}}
    (tmp_path / "eight.yaml").write_text(json.dumps({"cluster": cluster, **groups}))

    def worker(group: str, rank: int, node: int, owns: str, sees: str, kind: str = "EmbodiedFSDPActor") -> ActorSeen:
        said = {"GROUP_NAME": group, "RANK": str(rank), "WORKER_NAME": f"{group}:{rank}", "CLUSTER_NAMESPACE": "RLinf"}
        said |= {"CLUSTER_NODE_RANK": str(node), "LOCAL_HARDWARE_RANKS": owns, "VISIBLE_DEVICES": sees}
        said |= {"ACCELERATOR_TYPE": "NV_GPU", "WORLD_SIZE": "2" if group == "Trainers" else "1"}
        place = ("far", "near")[node]
        return ActorSeen(f"{group}{rank}", f"{group}:{rank}", kind, "RLinf", "01", place, environment=said)

    actors = (
        worker("Trainers", 0, 0, "0", "0"),
        worker("Trainers", 1, 0, "1", "1"),
        worker("Samplers", 0, 1, "1", "1"),
        worker("Env", 0, 0, "", "0,1,2,3,4,5,6,7", "ChannelWorker"),
    )
    job = RayJobSeen("01", f"python train_embodied_agent.py --config-path {tmp_path} --config-name eight")
    nodes = (NodeSeen("near", "10.0.0.1", 4), NodeSeen("far", "10.0.0.2", 4))
    (found,) = JobWatch().recognise(ClusterFacts(nodes, actors, jobs=(job,)))
    assert {(one.component, one.rank): one.devices for one in found.ranks} == {
        ("actor", 0): (0,),
        ("actor", 1): (1,),
        ("rollout", 0): (1,),
    }
    assert found.order_nodes(["near", "far"]) == ["far", "near"]

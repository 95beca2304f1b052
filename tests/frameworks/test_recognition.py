"""Which actors of a running job are which ranks, held against recordings of real runs."""

from __future__ import annotations

from dataclasses import replace
from subprocess import list2cmdline
from typing import Any

import pytest

from placetui.frameworks.cluster_facts import ActorSeen, BundleSeen, ClusterFacts, GroupSeen, NodeSeen, RayJobSeen
from placetui.frameworks.entrypoint import split_command
from placetui.frameworks.recognition import RecognisedJob, environment_read, recognise
from placetui.frameworks.registry import framework
from placetui.frameworks.rlinf.launched import not_launched
from placetui.placement.config.reader import Reader
from placetui.placement.problems import Problems
from tests.frameworks.live_recordings import recorded, rlinf_facts, rlinf_plan, slime_facts, slime_plan

RLINF = recorded("rlinf_live")
SLIME = recorded("slime_live")
SNAPSHOTS = [
    pytest.param(run, snapshot, id=f"{run['id']}-{snapshot['label']}")
    for run in RLINF["runs"]
    for snapshot in run["snapshots"]
]
RUNS = [pytest.param(run, id=run["id"]) for run in SLIME["runs"]]


def identities(jobs: tuple[RecognisedJob, ...]) -> dict[str, tuple[str, int, tuple[int, ...], str]]:
    return {one.actor: (one.component, one.rank, one.devices, one.job) for job in jobs for one in job.ranks}


@pytest.mark.parametrize(("run", "snapshot"), SNAPSHOTS)
def test_every_recorded_actor_of_rlinf(run: Any, snapshot: Any) -> None:
    facts = rlinf_facts(run, snapshot)
    jobs = recognise(facts, {job["job_id"]: rlinf_plan(run, job) for job in run["jobs"]})
    found = identities(jobs)
    services = {one.actor for job in jobs for one in job.services}
    for actor in snapshot["actors"]:
        truth = actor["truth"]
        if truth["kind"] == "component":
            devices = tuple(truth["gpus"])
            assert found.pop(actor["actor_id"]) == (truth["component"], truth["rank"], devices, actor["job_id"])
        elif truth["kind"] != "ray_job_supervisor":
            assert actor["actor_id"] in services
    assert not found
    for expected in snapshot["expected"]:
        job = next(one for one in jobs if one.job.id == expected["job_id"])
        sizes = {name: one["world_size"] for name, one in expected["groups"].items()}
        assert (dict(job.world_sizes), job.ended) == (sizes, expected["ended"])
        for name, group in expected["groups"].items():
            states = [job.actors[one.actor].state for one in job.ranks if one.component == name]
            assert (states.count("ALIVE"), states.count("DEAD")) == (group["alive"], group["dead"])


@pytest.mark.parametrize(("run", "snapshot"), SNAPSHOTS)
def test_without_a_file_groups_of_rlinf_are_called_by_their_names(run: Any, snapshot: Any) -> None:
    found = identities(recognise(rlinf_facts(run, snapshot)))
    for actor in snapshot["actors"]:
        if actor["truth"]["kind"] == "component":
            group, rank = actor["name"].split(":")
            devices = tuple(actor["truth"]["gpus"])
            assert found.pop(actor["actor_id"]) == (group, int(rank), devices, actor["job_id"])
    assert not found


@pytest.mark.parametrize("with_plan", [True, False])
@pytest.mark.parametrize("run", RUNS)
def test_every_recorded_actor_of_slime_and_miles(run: Any, with_plan: bool) -> None:
    facts = slime_facts(run)
    plans = {facts.jobs[0].id: slime_plan(run)} if with_plan else {}
    jobs = recognise(facts, plans)
    assert [job.framework for job in jobs] == [run["framework"]]
    seen = {one.actor: one for one in framework(run["framework"]).identify(facts, plans.get(facts.jobs[0].id))}
    placeholders = run["id"] == "server-groups" and not with_plan
    for actor in run["actors"]:
        answer = actor.get("answer") or {}
        one = seen.get(actor["actor_id"])
        if "bundle" in answer and actor["class_name"] != "InfoActor":
            assert one is not None
            assert not one.service
            assert (one.component, one.device_from) == (answer["role"], "ray")
            if not placeholders:
                assert one.rank == answer["rank"]
            assert list(one.devices[:1]) == answer.get("gpu_ids", list(one.devices))[:1]
        else:
            assert one is None or one.service


@pytest.mark.parametrize("entry", RLINF["entrypoints"], ids=range(len(RLINF["entrypoints"])))
def test_entrypoints_of_rlinf_name_their_file(entry: Any) -> None:
    assert split_command(entry["entrypoint"]) == entry["argv"]
    job = RayJobSeen("01", entry["entrypoint"], sys_path=tuple(entry["sys_path"]))
    found = framework("rlinf").configuration(job, {})
    assert found is not None
    assert [list(found.folders), found.name, list(found.overrides), found.script] == [
        entry["config_folders"],
        entry["config_name"],
        entry["overrides"],
        entry["script"],
    ]


def test_an_entrypoint_of_slime_is_its_configuration() -> None:
    job = next(job for job in SLIME["submitted"]["jobs"] if "train.py" in job["entrypoint"])
    found = framework("slime").configuration(RayJobSeen("02", job["entrypoint"]), {})
    assert found is not None
    assert "actor_num_gpus_per_node: 2" in found.text
    assert "rollout_num_gpus: 2" in found.text


def test_a_command_line_is_split_as_it_was_joined() -> None:
    words = ["python", "train.py", "--a", "", 'say "x"', r"c:\d", r"c:\my files\\", "x='y z'", r"\"", "é"]
    assert split_command(list2cmdline(words)) == words


def test_only_what_frameworks_declare_is_read_of_an_environment() -> None:
    read = environment_read()
    assert {"RANK", "GROUP_NAME", "CUDA_VISIBLE_DEVICES", "SGLANG_DG_CACHE_DIR"} <= read
    assert not [name for name in read if any(word in name for word in ("KEY", "TOKEN", "SECRET", "PASSWORD"))]


def test_slime_orders_slots_by_physical_id() -> None:
    """A raylet under CUDA_VISIBLE_DEVICES=7,5,3,1: rank 0 of the node is on GPU 1."""
    run = next(run for run in SLIME["runs"] if run["id"] == "separate")
    facts = slime_facts(run)
    nodes = [replace(node, gpu_ids=(7, 5, 3, 1)) for node in facts.nodes]
    # slime takes the bundles in the order of their GPUs: here bundle i has the last but i of the list.
    actors = [one if one.bundle is None else replace(one, slots={3 - one.bundle: 0.4}) for one in facts.actors]
    (job,) = recognise(replace(facts, nodes=nodes, actors=actors))
    assert {(one.component, one.rank): one.devices for one in job.ranks} == {
        ("actor", 0): (1,),
        ("actor", 1): (3,),
        ("rollout", 0): (5,),
        ("rollout", 1): (7,),
    }


def test_slime_without_the_ids_of_gpus_has_as_many_ranks_as_it_says() -> None:
    """The same raylet where nobody has read its list, as in `ps`: Ray's count runs the other way."""
    run = next(run for run in SLIME["runs"] if run["id"] == "separate")
    facts, plan = slime_facts(run), slime_plan(run)
    actors = [one if one.bundle is None else replace(one, slots={3 - one.bundle: 0.4}) for one in facts.actors]
    truth = identities(recognise(facts, {facts.jobs[0].id: plan}))
    (job,) = recognise(replace(facts, actors=actors), {facts.jobs[0].id: plan})
    assert {one.actor: one.rank for one in job.ranks} == {actor: rank for actor, (_, rank, _, _) in truth.items()}
    assert dict(job.world_sizes) == {"actor": 2, "rollout": 2}
    assert job.phase == "running"


@pytest.mark.parametrize("dead", [None, "e0", "e1"])
def test_gpus_that_others_hold_are_not_taken_for_those_of_an_idle_bundle(dead: str | None) -> None:
    """Another job has GPU 0 to 3: engines over two GPUs each have a bundle in which nothing runs."""

    def engine(number: int) -> ActorSeen:
        required = {f"GPU_group_{2 + 2 * number}_ab": 0.2}
        one = ActorSeen(f"e{number}", "", "SGLangEngine", job="01", node="n", group="ab", required=required)
        if one.id == dead:
            return replace(one, state="DEAD", cause="WORKER_DIED")
        return replace(one, slots={6 + 2 * number: 0.2})

    trains = [
        ActorSeen(f"t{n}", "", "MegatronTrainRayActor", job="01", node="n", group="ab", started=1.0 + n)
        for n in range(2)
    ]
    trains = [replace(one, required={f"GPU_group_{n}_ab": 0.4}, slots={4 + n: 0.4}) for n, one in enumerate(trains)]
    bundles = (BundleSeen("n", {"CPU": 1.0, "GPU": 1.0}),) * 6
    facts = ClusterFacts(
        (NodeSeen("n", "10.0.0.1", 10),), (*trains, engine(0), engine(1)), (GroupSeen("ab", job="01", bundles=bundles),)
    )
    words = ["--actor-num-gpus-per-node", "2", "--rollout-num-gpus", "4", "--rollout-num-gpus-per-engine", "2"]
    plan = slime_plan({"framework": "slime", "argv": words, "nodes": [{"gpus": 10, "ip": "10.0.0.1"}]})
    assert identities(recognise(facts, {"01": plan})) == {
        "t0": ("actor", 0, (4,), "01"),
        "t1": ("actor", 1, (5,), "01"),
        "e0": ("rollout", 0, (6, 7), "01"),
        "e1": ("rollout", 1, (8, 9), "01"),
    }


def test_an_unrelated_job_is_nobodys() -> None:
    facts = slime_facts(SLIME["runs"][0])
    others = [replace(one, class_name=f"My{one.class_name}") for one in facts.actors]
    assert recognise(replace(facts, actors=others)) == ()
    assert recognise(ClusterFacts((NodeSeen("a"),))) == ()


@pytest.mark.parametrize(
    ("run", "label", "phase"),
    [
        ("collocated", "start_06", "starting"),
        ("collocated", "running", "running"),
        ("rank0-slow", "partly", "starting"),
        ("disaggregated", "ended", "ended"),
        ("worker-killed", "after", "failed"),
        ("init-failure", "after", "failed"),
        ("exception", "after", "failed"),
        ("no-dashboard", "after", "failed"),
    ],
)
def test_where_a_job_is_in_its_life(run: str, label: str, phase: str) -> None:
    (found,) = (one for one in RLINF["runs"] if one["id"] == run)
    (snapshot,) = (one for one in found["snapshots"] if one["label"] == label)
    jobs = recognise(rlinf_facts(found, snapshot))
    assert [job.phase for job in jobs] == [phase]


def test_a_job_that_lost_its_services_before_it_had_ranks_has_failed() -> None:
    (run,) = (one for one in RLINF["runs"] if one["id"] == "collocated")
    facts = rlinf_facts(run, run["snapshots"][0])
    assert not recognise(facts)[0].ranks
    actors = [replace(one, state="DEAD", cause="creation_task_failure_context") for one in facts.actors]
    (job,) = recognise(replace(facts, actors=actors))
    assert job.phase == "failed"


@pytest.mark.parametrize("with_plan", [True, False])
def test_a_worker_that_sees_more_gpus_than_it_owns(with_plan: bool) -> None:
    """Without isolation, and only where the file says that these are no robots."""
    (run,) = (one for one in RLINF["runs"] if one["id"] == "collocated")
    facts, plan = rlinf_facts(run, run["snapshots"][-1]), rlinf_plan(run, run["jobs"][0])
    plans = {run["jobs"][0]["job_id"]: plan} if with_plan else {}
    owned = identities(recognise(facts, plans))
    actors = [
        replace(one, environment={**one.environment, "VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}) for one in facts.actors
    ]
    seen = identities(recognise(replace(facts, actors=actors), plans))
    assert seen == (owned if with_plan else {one: (*found[:2], (), found[3]) for one, found in owned.items()})


def test_a_channel_is_no_rank_of_a_component_that_is_not_launched() -> None:
    (run,) = (one for one in RLINF["runs"] if one["id"] == "collocated")
    facts, plan = rlinf_facts(run, run["snapshots"][-1]), rlinf_plan(run, run["jobs"][0])
    reward = replace(plan.components["env"], group_name="Env")
    (job,) = recognise(
        facts, {run["jobs"][0]["job_id"]: replace(plan, components={**plan.components, "reward": reward})}
    )
    assert "channel Env" in [one.component for one in job.services]
    assert "reward" not in job.world_sizes


@pytest.mark.parametrize(
    ("script", "config", "left_out"),
    [
        (
            "train_embodied_agent.py",
            {"reward": {"use_reward_model": False, "worker_type": "api"}},
            "reward reward_server",
        ),
        ("train_embodied_agent.py", {"reward": {"use_reward_model": True, "worker_type": "API"}}, ""),
        (
            "train_embodied_agent.py",
            {"reward": {"use_reward_model": True, "worker_type": "api", "api": {"api_base": "http://x"}}},
            "reward_server",
        ),
        ("wideseek_r1/train.py", {"agentloop": {"use_local_judge": True}}, "env reward reward_server"),
        ("main_rstar2.py", {"algorithm": {"recompute_logprobs": False}}, "env inference reward_server rollout_judge"),
    ],
)
def test_what_a_script_of_rlinf_leaves_out(script: str, config: dict[str, Any], left_out: str) -> None:
    planned = {"actor", "rollout", "env", "reward", "reward_server"}
    planned |= set() if "embodied" in script else {"inference", "rollout_judge"}
    found = not_launched(Reader(config, Problems()), "disaggregated", planned)
    assert " ".join(sorted(found[script])) == left_out


def test_a_dead_rank_of_a_living_job_degrades_it() -> None:
    (run,) = (one for one in RLINF["runs"] if one["id"] == "collocated")
    facts = rlinf_facts(run, run["snapshots"][-1])
    (job,) = recognise(facts)
    dead = job.ranks[0].actor
    actors = [replace(one, state="DEAD", cause="WORKER_DIED") if one.id == dead else one for one in facts.actors]
    (job,) = recognise(replace(facts, actors=actors))
    assert job.phase == "degraded"

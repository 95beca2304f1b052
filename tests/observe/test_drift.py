"""Drift: a job that runs as planned has none, and each thing that goes wrong has its own kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placetui.frameworks.planner import resolve
from placetui.grid.tables.drift import drift_lines
from placetui.observe.drift import Drift, DriftWatch, drift
from placetui.observe.model import Claim, DeviceSample, NodeSample, Observation, ProcessSample, RankState
from placetui.observe.simulation import Simulation, SimulationOptions, layout_of
from placetui.placement.plan import Plan
from placetui.placement.topology import Node

GIB = 2**30
CALM = SimulationOptions(startup=2.0, cycle=20.0, rank_dies_every=None, node_stale_every=None, sampled=1.0)
MIXED = {"actor": "0-7", "rollout": "0-15:0-7", "reward": "12-15"}


def plan_of(placement: dict[str, str], nodes: int = 2, memory: dict[str, float] | None = None) -> Plan:
    config: dict[str, Any] = {"cluster": {"num_nodes": nodes, "component_placement": placement}}
    if memory:
        config["placetui"] = {"memory": memory}
    return resolve(config, nodes=[Node(gpus=8)] * nodes)


PLAN = plan_of(MIXED)


def running(plan: Plan, seconds: float = 3.0, seed: int = 0) -> Observation:
    simulation = Simulation(layout_of(plan), replace(CALM, seed=seed))
    seen = [simulation.step(1000.0 + step * 0.5) for step in range(round(2 * seconds) + 1)]
    return replace(seen[-1], source="ray")


SEEN = running(PLAN)


def with_node(seen: Observation, rank: int, change: Callable[[NodeSample], NodeSample]) -> Observation:
    return replace(seen, nodes=tuple(change(node) if node.rank == rank else node for node in seen.nodes))


def with_device(
    seen: Observation, rank: int, index: int, change: Callable[[DeviceSample], DeviceSample]
) -> Observation:
    return with_node(
        seen,
        rank,
        lambda node: replace(node, devices=tuple(change(one) if one.index == index else one for one in node.devices)),
    )


def with_process(seen: Observation, rank: int, index: int, process: ProcessSample) -> Observation:
    return with_device(seen, rank, index, lambda device: replace(device, processes=(*device.processes, process)))


def with_rank(seen: Observation, component: str, rank: int, **changes: Any) -> Observation:
    states = list(seen.ranks[component])
    states[rank] = replace(states[rank], **changes)
    return replace(seen, ranks={**seen.ranks, component: tuple(states)})


def kinds(found: tuple[Drift, ...]) -> set[str]:
    return {one.kind for one in found}


placements = st.fixed_dictionaries(
    {"actor": st.sampled_from(["all", "0-7", "0-3", "8-15", "0-15:0-3"])},
    optional={
        "rollout": st.sampled_from(["all", "0-15:0-7", "4-11", "8-15"]),
        "reward": st.sampled_from(["15", "0-1"]),
    },
)


@settings(max_examples=30, deadline=None)
@given(placements, st.integers(0, 99), st.floats(2.5, 24.0))
def test_a_job_that_runs_as_planned_has_no_drift(placement: dict[str, str], seed: int, seconds: float) -> None:
    plan = plan_of(placement)
    seen = running(plan, seconds, seed)
    assert all(state.state == "alive" for state in seen.all_ranks)
    assert drift(plan, seen) == ()


def test_offloaded_ranks_are_no_drift() -> None:
    plan = plan_of({"actor, rollout": "all"}, memory={"actor": 0.8, "rollout": 0.9})
    simulation = Simulation(layout_of(plan), CALM)
    pictures = [simulation.step(1000.0 + step * 0.5) for step in range(80)]
    up = [seen for seen in pictures if all(state.state == "alive" for state in seen.all_ranks)]
    assert len(up) > 70
    assert [found for seen in up if (found := drift(plan, seen))] == []
    # Nor is it when all memory was given back.
    seen = up[-1]
    bare = [replace(node, devices=tuple(replace(one, processes=()) for one in node.devices)) for node in seen.nodes]
    assert drift(plan, replace(seen, nodes=tuple(bare))) == ()


def test_ranks_that_are_being_launched_are_no_drift_and_those_that_nobody_launches_are_missing() -> None:
    seen = replace(Simulation(layout_of(PLAN), CALM).step(1.0), source="ray")
    assert {"pending"} <= {state.state for state in seen.all_ranks}
    assert drift(PLAN, seen) == ()
    ranks = {
        name: tuple(replace(one, reason="its launch has ended") if one.state == "pending" else one for one in states)
        for name, states in seen.ranks.items()
    }
    found = drift(PLAN, replace(seen, ranks=ranks))
    assert kinds(found) == {"missing_rank"}
    assert found[0].message.endswith(" is not running: its launch has ended")
    # Of a job of which nothing is known all are missing.
    assert kinds(drift(PLAN, replace(seen, ranks={}, job="demo"))) == {"missing_rank"}


def foreign(**fields: Any) -> ProcessSample:
    return ProcessSample(**{"pid": 4242, "memory": 9 * GIB, "user": "eve", "command": "python mine.py", **fields})


def wrong_device(seen: Observation, rank: int) -> Observation:
    state = seen.ranks["actor"][rank]
    process = ProcessSample(state.pid or 0, GIB, "actor", rank, "demo", f"demo/actor:{rank}", "rank")
    return with_process(seen, 0, (rank + 1) % 8, process)


def reserved_elsewhere(seen: Observation, rank: int) -> Observation:
    claim = Claim("id", f"demo/actor:{rank}", 7, "actor", rank, "demo", reserved=0.8)
    return with_device(seen, 1, rank, lambda device: replace(device, claims=(claim,)))


MUTATIONS: dict[str, tuple[str, Callable[[Observation, int], Observation]]] = {
    "memory on another device": ("wrong_device", wrong_device),
    "another device in Ray's books": ("wrong_device", reserved_elsewhere),
    "on another node": ("wrong_device", lambda seen, rank: with_rank(seen, "actor", rank, node=1)),
    "pending": (
        "missing_rank",
        lambda seen, rank: with_rank(seen, "rollout", rank, state="pending", pid=None, reason="nobody launches it"),
    ),
    "the last rank unknown": (
        "missing_rank",
        lambda seen, rank: replace(seen, ranks={**seen.ranks, "actor": seen.ranks["actor"][:rank]}),
    ),
    "component unknown": (
        "missing_rank",
        lambda seen, rank: replace(seen, ranks={name: one for name, one in seen.ranks.items() if name != "actor"}),
    ),
    "dead": ("dead_rank", lambda seen, rank: with_rank(seen, "actor", rank, state="dead", reason="killed")),
    "restarting": ("dead_rank", lambda seen, rank: with_rank(seen, "rollout", rank, state="restarting")),
    "foreign": ("foreign_process", lambda seen, rank: with_process(seen, 0, rank, foreign())),
    "unmeasured": ("foreign_process", lambda seen, rank: with_process(seen, 0, rank, foreign(memory=None))),
    "gone": ("foreign_process", lambda seen, rank: with_process(seen, 1, rank, foreign(kind="gone"))),
    "another program of Ray": (
        "foreign_process",
        lambda seen, rank: with_process(seen, 0, rank, foreign(kind="actor", actor="Engine", actor_id="e")),
    ),
    "stranger": (
        "stranger_in_group",
        lambda seen, rank: with_process(seen, 0, rank, foreign(kind="actor", actor="task", actor_id="e", group="demo")),
    ),
    "a task of Ray": (
        "foreign_process",
        lambda seen, rank: with_process(
            seen, 0, rank, foreign(actor="Ray task step", actor_id="e", user=None, command=None)
        ),
    ),
    "a task in the group": (
        "stranger_in_group",
        lambda seen, rank: with_process(seen, 0, rank, foreign(actor="Ray task step", actor_id="e", group="demo")),
    ),
    "stranger without memory": (
        "stranger_in_group",
        lambda seen, rank: with_device(
            seen, 0, rank, lambda one: replace(one, claims=(Claim("e", "task", 9, reserved=0.1, group="demo"),))
        ),
    ),
    "device gone": (
        "fewer_devices",
        lambda seen, rank: with_node(
            seen, 0, lambda node: replace(node, devices=node.devices[:rank] + node.devices[rank + 1 :])
        ),
    ),
    "node gone": ("fewer_devices", lambda seen, rank: replace(seen, nodes=seen.nodes[1:])),
    "device silent": (
        "stale",
        lambda seen, rank: with_device(seen, 1, rank, lambda one: replace(one, stale=True, age=4.0, error="hangs")),
    ),
    "node silent": ("stale", lambda seen, rank: with_node(seen, 1, lambda node: replace(node, stale=True, age=9.0))),
    "unreadable": (
        "stale",
        lambda seen, rank: with_node(seen, 0, lambda node: replace(node, devices=(), error="no driver")),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
@settings(max_examples=8, deadline=None)
@given(rank=st.integers(0, 7))
def test_one_thing_that_goes_wrong_is_one_kind(name: str, rank: int) -> None:
    kind, mutate = MUTATIONS[name]
    mutated = mutate(SEEN, rank)
    found = drift(PLAN, mutated)
    assert kinds(found) == {kind}
    # The same as one who has watched from the start says, and again nothing when it is over.
    watch = DriftWatch(PLAN)
    assert watch.update(SEEN) == ()
    assert watch.update(mutated) == found
    assert watch.update(SEEN) == ()


def test_what_is_said_of_a_rank_on_another_device() -> None:
    (one,) = drift(PLAN, wrong_device(SEEN, 3))
    assert one.to_dict() == {
        "kind": "wrong_device",
        "component": "actor",
        "rank": 3,
        "node": 0,
        "device": 4,
        "message": "actor 3 uses 1.0 GiB of node0/gpu4, which is not one of its devices",
    }


def test_memory_above_counts_all_processes_of_a_rank() -> None:
    plan = plan_of(MIXED, memory={"reward": 0.5})
    (reward,) = (one for one in SEEN.nodes[1].devices[4].processes if one.component == "reward")
    child = replace(reward, pid=1, memory=39 * GIB)
    seen = with_process(SEEN, 1, 4, child)
    (one,) = drift(plan, seen)
    assert (one.kind, one.component, one.rank, one.device) == ("memory_above", "reward", 0, 4)
    assert "more than the 50% allowed" in one.message
    assert drift(PLAN, seen) == ()


def test_a_foreign_process_that_is_small_or_on_a_free_device_is_no_drift() -> None:
    plan = plan_of({"actor": "0-3"})
    seen = running(plan)
    assert drift(plan, with_process(seen, 0, 7, foreign())) == ()
    assert drift(plan, with_process(seen, 0, 0, foreign(memory=4 * 2**20))) == ()


def test_a_process_of_which_nothing_is_known_may_be_ours() -> None:
    assert drift(PLAN, with_process(SEEN, 0, 0, foreign(user=None, command=None, note="not visible here"))) == ()


def test_a_rank_of_another_job_is_foreign() -> None:
    other = ProcessSample(9, GIB, "actor", 0, "other", "other/actor:0", "rank", actor_id="o", group="other")
    seen = replace(with_process(SEEN, 0, 0, other), job="demo")
    (one,) = drift(PLAN, seen)
    assert (one.kind, one.message) == (
        "foreign_process",
        "other/actor:0 of job other (pid 9, 1.0 GiB) is on node0/gpu0",
    )


def test_with_nvml_alone_nothing_is_said_of_processes_and_other_nodes() -> None:
    seen = with_process(replace(SEEN, source="nvml", ranks={}), 0, 0, foreign())
    assert drift(PLAN, replace(seen, nodes=seen.nodes[:1])) == ()
    fewer = with_node(seen, 0, lambda node: replace(node, devices=node.devices[:6]))
    assert [(one.kind, one.device) for one in drift(PLAN, fewer)] == [("fewer_devices", 6), ("fewer_devices", 7)]


def test_devices_and_nodes_that_nobody_planned_may_be_silent_or_absent() -> None:
    plan = plan_of({"actor": "0-3"})
    seen = running(plan)
    assert drift(plan, replace(seen, nodes=seen.nodes[:1])) == ()
    assert drift(plan, with_node(seen, 1, lambda node: replace(node, stale=True))) == ()
    assert drift(plan, with_node(seen, 0, lambda node: replace(node, devices=node.devices[:4]))) == ()


def test_many_of_one_kind_are_few_lines() -> None:
    seen = replace(SEEN, ranks=dict.fromkeys(SEEN.ranks, ()))
    assert list(drift_lines(drift(PLAN, seen)))[:4] == [
        "missing_rank: actor 0 is not running",
        "missing_rank: actor 1 is not running",
        "missing_rank: actor 2 is not running",
        "missing_rank: 5 more: actor 3-7",
    ]
    hostile = Drift("foreign_process", "\x1b[31mred " + "x" * 99)
    (line,) = drift_lines([hostile], 30, ascii=True)
    assert "\x1b" not in line
    assert len(line) <= 30


def test_a_rank_state_without_a_plan_for_it_is_ignored() -> None:
    more = {**SEEN.ranks, "critic": (RankState("critic", 0, "dead"),)}
    assert drift(PLAN, replace(SEEN, ranks=more)) == ()


def test_limits_of_memory_are_part_of_the_plan() -> None:
    assert plan_of(MIXED, memory={"actor": 0.75}).memory == {"actor": 0.75}
    slime = {"actor_num_nodes": 1, "actor_num_gpus_per_node": 8, "rollout_num_gpus": 8, "colocate": True}
    plan = resolve({"slime": slime, "placetui": {"memory": {"actor": 0.5}}}, nodes=[Node(gpus=8)])
    assert plan.memory == {"actor": 0.5}


def test_a_node_that_drains_under_a_running_job_is_drift() -> None:
    seen = with_node(SEEN, 1, lambda node: replace(node, state="draining", reason="preempted"))
    assert [(one.kind, one.node, one.message) for one in drift(PLAN, seen)] == [
        ("draining", 1, "node1 is draining: preempted: its processes will end")
    ]
    unused = plan_of({"actor": "0-7"})
    nobody = with_node(running(unused), 1, lambda node: replace(node, state="draining"))
    assert drift(unused, nobody) == ()


def test_an_idle_node_that_is_not_sampled_is_no_drift() -> None:
    unused = plan_of({"actor": "0-7"})
    devices = tuple(DeviceSample(index, error="idle, not sampled") for index in range(8))
    assert drift(unused, with_node(running(unused), 1, lambda node: replace(node, state="idle", devices=devices))) == ()


def test_two_threads_may_compare_at_once() -> None:
    """What one is in the middle of is not mixed up with what the other sees."""
    watch = DriftWatch(PLAN)
    others: list[Thread] = []
    bad = with_process(SEEN, 0, 3, foreign())

    class Interrupted(tuple[DeviceSample, ...]):
        """While the last node is compared, another thread compares a cluster in which the first node differs."""

        __slots__ = ()

        def __iter__(self) -> Iterator[DeviceSample]:
            if not others:
                others.append(Thread(target=watch.update, args=(bad,)))
                others[0].start()
                others[0].join(0.2)
            return super().__iter__()

    watch.update(with_node(SEEN, 1, lambda node: replace(node, devices=Interrupted(node.devices))))
    others[0].join(10)
    assert not others[0].is_alive()
    assert watch.update(SEEN) == ()
    assert kinds(watch.update(bad)) == {"foreign_process"}

"""The simulated cluster: the same for the same seed, and like a training job for whoever looks."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placetui.frameworks.planner import resolve
from placetui.observe.delta import NOTHING, changed_nodes
from placetui.observe.model import Observation
from placetui.observe.simulation import (
    LayoutComponent,
    LayoutNode,
    SimulatedLayout,
    Simulation,
    SimulationOptions,
    layout_of,
    role_of,
)
from placetui.placement.topology import Node

CALM = SimulationOptions(startup=2.0, cycle=20.0, rank_dies_every=None, node_stale_every=None)
ROLLING, TRAINING = 2.0 + 0.45 * 20, 2.0 + 0.8 * 20
"""Seconds at which a calm job is in the midst of rollout and of training."""


def layout(nodes: int, *, shared: bool = True) -> SimulatedLayout:
    """Training on GPUs 0–3 (or all, if shared), rollout with two GPUs a rank on 4–7 (or all), reward on the node."""
    train = range(8) if shared else range(4)
    roll = range(0, 8, 2) if shared else range(4, 8, 2)
    return SimulatedLayout(
        tuple(LayoutNode(f"node{rank}", f"10.0.0.{rank}", 8) for rank in range(nodes)),
        (
            LayoutComponent("actor", "train", tuple((node, (gpu,)) for node in range(nodes) for gpu in train)),
            LayoutComponent("rollout", "rollout", tuple((node, (i, i + 1)) for node in range(nodes) for i in roll)),
            LayoutComponent("reward", "other", ((0, ()),)),
        ),
    )


def watch(simulation: Simulation, seconds: float, step: float = 0.5) -> list[Observation]:
    return [simulation.step(1000.0 + number * step) for number in range(round(seconds / step) + 1)]


def at(simulation: Simulation, seconds: float) -> Observation:
    return watch(simulation, seconds)[-1]


def mean_memory(observation: Observation, component: str) -> float:
    held = [
        100 * (process.memory or 0) / (device.memory_total or 1)
        for node in observation.nodes
        for device in node.devices
        for process in device.processes
        if process.component == component
    ]
    return sum(held) / len(held)


def mean_utilization(observation: Observation, devices: range) -> float:
    busy = [node.devices[index].utilization or 0 for node in observation.nodes for index in devices]
    return sum(busy) / len(busy)


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.lists(st.floats(0, 30), max_size=12))
def test_the_same_seed_and_times_give_the_same_observations(seed: int, pauses: list[float]) -> None:
    options = SimulationOptions(seed=seed, startup=1.0, rank_dies_every=4.0, node_stale_every=5.0)
    first, second = Simulation(layout(2), options), Simulation(layout(2), options)
    time = 1e9
    for pause in pauses:
        time += pause
        assert first.step(time) == second.step(time)


def test_another_seed_gives_other_observations() -> None:
    one, other = (at(Simulation(layout(2), SimulationOptions(seed=seed)), 5) for seed in (1, 2))
    assert one != other


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.booleans())
def test_values_stay_within_what_a_device_has(seed: int, shared: bool) -> None:
    options = SimulationOptions(seed=seed, startup=1.0, rank_dies_every=2.0, node_stale_every=3.0)
    for observation in watch(Simulation(layout(2, shared=shared), options), 40, step=3.7):
        assert [node.rank for node in observation.nodes] == [0, 1]
        for node in observation.nodes:
            assert node.stale == (node.error is not None)
            assert node.age == 0 or node.stale
            for device in node.devices:
                assert device.memory_used is not None
                assert device.memory_total is not None
                assert sum(process.memory or 0 for process in device.processes) <= device.memory_used
                assert device.memory_used <= device.memory_total
                assert 0 <= (device.utilization or 0) <= 100


def test_ranks_come_up_one_after_the_other() -> None:
    seen = watch(Simulation(layout(4), CALM), 3, step=0.1)
    counts = [Counter(state.state for state in observation.all_ranks) for observation in seen]
    assert counts[0]["pending"] > 0
    assert any(count["pending"] and count["starting"] and count["alive"] for count in counts)
    assert counts[-1].keys() == {"alive"}
    alive = [count["alive"] for count in counts]
    assert alive == sorted(alive)


def test_a_rank_without_a_process_holds_no_memory() -> None:
    first = Simulation(layout(2), CALM).step(0)
    pids = {state.pid for state in first.all_ranks if state.pid is not None}
    assert {process.pid for node in first.nodes for device in node.devices for process in device.processes} <= pids


def test_rollout_and_training_take_turns() -> None:
    apart = layout(4, shared=False)
    rolling, training = at(Simulation(apart, CALM), ROLLING), at(Simulation(apart, CALM), TRAINING)
    assert mean_utilization(rolling, range(4, 8)) > 40 > 10 > mean_utilization(rolling, range(4))
    assert mean_utilization(training, range(4)) > 40 > 10 > mean_utilization(training, range(4, 8))


def test_the_cache_fills_during_rollout() -> None:
    simulation = Simulation(layout(4, shared=False), CALM)
    early, late = at(simulation, 3.0), at(simulation, ROLLING)
    assert mean_memory(late, "rollout") > mean_memory(early, "rollout") + 10


def test_components_that_share_devices_make_room_for_each_other() -> None:
    rolling, training = (at(Simulation(layout(4), CALM), time) for time in (ROLLING, TRAINING))
    assert mean_memory(rolling, "actor") < 10 < 50 < mean_memory(rolling, "rollout")
    assert mean_memory(training, "rollout") < 10 < 50 < mean_memory(training, "actor")


def test_a_rank_dies_with_a_reason_and_comes_back_as_another_process() -> None:
    options = SimulationOptions(startup=8.0, rank_dies_every=10.0, node_stale_every=None)
    seen = watch(Simulation(layout(1), options), 40)
    dead = next(state for observation in seen for state in observation.all_ranks if state.state == "dead")
    life = [observation.ranks[dead.component][dead.rank] for observation in seen]
    states = list(dict.fromkeys(state.state for state in life))
    assert states[-4:] == ["starting", "alive", "dead", "restarting"]
    after = life[[state.state for state in life].index("dead") :]
    assert after[0].reason
    assert after[0].pid is None
    back = next(state for state in after if state.state == "alive")
    assert back.restarts == 1
    assert back.pid not in {state.pid for state in life[: life.index(dead)]}


def test_a_node_falls_silent_grows_old_and_answers_again() -> None:
    options = SimulationOptions(startup=1.0, rank_dies_every=None, node_stale_every=10.0)
    seen = [observation.nodes[0] for observation in watch(Simulation(layout(1), options), 60)]
    silent = [node for node in seen if node.stale]
    first = seen.index(silent[0])
    run = next(place for place in range(first, len(seen)) if not seen[place].stale) - first
    ages = [node.age for node in seen[first : first + run]]
    assert ages == sorted(ages)
    assert ages[-1] > 3
    assert len({node.devices for node in seen[first : first + run]}) == 1
    assert (seen[first + run].age, seen[first + run].error) == (0, None)


def test_of_a_large_cluster_a_tenth_changes_at_a_time_and_everything_in_turn() -> None:
    simulation = Simulation(layout(1300), CALM)
    simulation.step(1000.0)
    last = simulation.step(1003.0)
    everything: set[int] = set()
    for step in range(10):
        observation = simulation.step(1010.0 + step)
        changed = changed_nodes(last, observation)
        assert 0 < len(changed) <= 130
        everything |= changed
        last = observation
    assert everything == set(range(1300))


STORY = SimulationOptions(seed=3, node_stale_every=None, story=True)


def test_in_the_story_of_a_small_cluster_a_foreign_process_comes_and_a_rank_stays_dead() -> None:
    seen = watch(Simulation(layout(2), STORY), 100, step=1.0)
    foreign = [
        process
        for node in seen[-1].nodes
        for device in node.devices
        for process in device.processes
        if process.kind == "foreign"
    ]
    assert [(one.pid, one.command, (one.memory or 0) >> 30) for one in foreign] == [(31877, "python eval.py", 6)]
    dead = [{(one.component, one.rank) for one in each.all_ranks if one.state == "dead"} for each in seen]
    assert dead[-1] == dead[-15]
    assert len(dead[-1]) == 1
    assert [bool(dead[second]) for second in (20, 28, 60)] == [False, True, False], "one died before, and came back"
    assert seen == watch(Simulation(layout(2), STORY), 100, step=1.0)


def test_in_the_story_of_a_large_cluster_a_few_gpus_are_unlike_their_peers() -> None:
    last = watch(Simulation(layout(64), STORY), 100, step=1.0)[-1]
    devices = [device for node in last.nodes if not node.stale for device in node.devices]
    full = [one for one in devices if (one.memory_percent or 0) > 98]
    low = [one for one in devices if (one.memory_percent or 0) < 15]
    hot = [one for one in devices if (one.temperature or 0) > 90]
    assert [len(full), len(low), len(hot), sum(node.stale for node in last.nodes)] == [4, 1, 1, 2]
    means = [sum(one.memory_used or 0 for one in devices[first : first + 64]) >> 36 for first in range(0, 448, 64)]
    assert max(means) > 1.3 * min(means), "parts of the cluster are in different phases"


def test_nodes_nobody_sits_on_do_not_change() -> None:
    empty = Simulation(SimulatedLayout((LayoutNode("a", gpus=8), LayoutNode("b"))), CALM)
    first = empty.step(0)
    assert changed_nodes(NOTHING, first) == {0, 1}
    assert changed_nodes(first, empty.step(9)) == frozenset()


def test_a_plan_becomes_a_layout_that_survives_json() -> None:
    config = {"cluster": {"num_nodes": 2, "component_placement": {"actor": "0-15", "rollout": "0-15:0-7"}}}
    plan = resolve(config, [Node(gpus=8, name="a", memory_gib=40), Node(gpus=8, name="b")])
    found = layout_of(plan)
    assert [node.name for node in found.nodes] == ["a", "b"]
    assert found.nodes[0].memory_gib == 40
    actor, rollout = found.components
    assert (actor.role, rollout.role) == ("train", "rollout")
    assert actor.places[9] == (1, (1,))
    assert rollout.places[7] == (1, (6, 7))
    assert SimulatedLayout.from_dict(json.loads(json.dumps(found.to_dict()))) == found


@pytest.mark.parametrize(
    "value",
    [None, {}, {"nodes": [["a", "", 1]]}, {"nodes": [["a", "", 1]], "components": [["actor", "train", [[1, []]]]]}],
)
def test_what_is_no_layout_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"not a layout|does not exist"):
        SimulatedLayout.from_dict(value)


@pytest.mark.parametrize("value", [None, {"sed": 1}, {"seed": "x"}])
def test_what_are_no_options_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="options of a simulation"):
        SimulationOptions.from_dict(value)


def test_options_survive_json() -> None:
    assert SimulationOptions.from_dict(json.loads(json.dumps(CALM.to_dict()))) == CALM


def test_roles_are_guessed_from_names() -> None:
    names = ("actor", "critic", "rollout", "actor_inference", "reward", "env")
    assert [role_of(name) for name in names] == ["train", "train", "rollout", "rollout", "other", "other"]


def test_a_cluster_without_a_job_has_no_rank_that_could_die() -> None:
    simulation = Simulation(SimulatedLayout((LayoutNode("node0", "10.0.0.0", 8),), ()), SimulationOptions(story=True))
    seen = [simulation.step(1000.0 + second) for second in range(120)]
    assert [one.ranks for one in seen] == [{}] * 120

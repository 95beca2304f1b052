"""Events: each change of the cluster is reported once, with its time, and a recording gives the same ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from placetui.frameworks.planner import resolve
from placetui.observe.alerts import Alert, AlertWatch, Thresholds
from placetui.observe.drift import Drift, DriftWatch
from placetui.observe.events import MOST_ALIKE, Event, EventLog
from placetui.observe.model import DeviceSample, GroupState, NodeSample, Observation, RankState, State
from placetui.observe.recording.reader import Recording
from placetui.observe.recording.writer import Recorder
from placetui.observe.simulation import Simulation, SimulationOptions, layout_of
from placetui.placement.plan import Plan
from placetui.placement.topology import Node

NODES = tuple(NodeSample(rank, f"node{rank}", devices=(DeviceSample(0), DeviceSample(1))) for rank in range(3))
RANKS = {"actor": tuple(RankState("actor", rank, "alive", pid=10 + rank, node=rank) for rank in range(3))}
SEEN = Observation(100.0, "ray", NODES, RANKS, "train")


def changed(**parts: object) -> list[tuple[str, str]]:
    return [(event.kind, event.message) for event in events(replace(SEEN, time=101.0, **parts))]  # type: ignore[arg-type]


def events(*later: Observation) -> list[Event]:
    log = EventLog()
    assert log.update(SEEN) == []
    return [event for observation in later for event in log.update(observation)]


def ranks(*states: State, **parts: object) -> dict[str, tuple[RankState, ...]]:
    found = [replace(RANKS["actor"][rank], state=state, **parts) for rank, state in enumerate(states)]  # type: ignore[arg-type]
    return {"actor": tuple(found)}


def node(rank: int, **parts: object) -> tuple[NodeSample, ...]:
    return tuple(replace(one, **parts) if one.rank == rank else one for one in NODES)  # type: ignore[arg-type]


def test_the_first_observation_and_one_without_changes_give_no_events() -> None:
    assert events(replace(SEEN, time=101.0), replace(SEEN, time=102.0, nodes=node(0, cpu_percent=3.0))) == []


def test_a_rank_dies_restarts_and_comes_back() -> None:
    found = events(
        replace(SEEN, time=101.0, ranks=ranks("alive", "dead", "alive", reason="exit code 1")),
        replace(SEEN, time=102.0, ranks=ranks("alive", "dead", "alive", reason="exit code 1")),
        replace(SEEN, time=103.0, ranks=ranks("alive", "restarting", "alive")),
        replace(SEEN, time=104.0, ranks=ranks("alive", "starting", "alive")),
        replace(SEEN, time=105.0, ranks=ranks("alive", "alive", "alive")),
    )
    assert [(one.time, one.kind, one.node, one.component, one.rank, one.message) for one in found] == [
        (101.0, "rank_died", 1, "actor", 1, "actor:1 died: exit code 1"),
        (103.0, "rank_restarting", 1, "actor", 1, "actor:1 is restarting"),
        (105.0, "rank_back", 1, "actor", 1, "actor:1 is back"),
    ]
    assert [one.is_problem for one in found] == [True, True, False]


def test_a_restart_between_two_observations_is_noticed() -> None:
    states = {"actor": (replace(RANKS["actor"][0], pid=99, restarts=1), *RANKS["actor"][1:])}
    assert changed(ranks=states) == [("rank_back", "actor:0 is back")]


def test_many_ranks_that_die_together_are_one_event() -> None:
    count = MOST_ALIKE + 1
    alive = tuple(RankState("actor", rank, "alive") for rank in range(count))
    dead = tuple(replace(state, state="dead", reason="node lost") for state in alive)
    log = EventLog()
    log.update(replace(SEEN, ranks={"actor": alive}))
    (event,) = log.update(replace(SEEN, time=101.0, ranks={"actor": dead}))
    assert (event.kind, event.rank) == ("rank_died", None)
    assert event.message == f"{count} ranks of actor (0-{count - 1}) died: node lost"


@pytest.mark.parametrize(
    ("parts", "kind", "message"),
    [
        ({"stale": True, "error": "it does not answer"}, "node_stale", "node1 is stale: it does not answer"),
        ({"state": "lost", "stale": True}, "node_lost", "node1 is lost"),
        ({"state": "draining", "reason": "preempted"}, "node_draining", "node1 is draining: preempted"),
        ({"devices": (DeviceSample(0), DeviceSample(1, stale=True))}, "device_stale", "node1/gpu1 is stale"),
    ],
)
def test_a_node_in_trouble_and_back(parts: dict[str, object], kind: str, message: str) -> None:
    assert changed(nodes=node(1, **parts)) == [(kind, message)]
    found = events(replace(SEEN, time=101.0, nodes=node(1, **parts)), replace(SEEN, time=102.0))
    back = [] if kind == "node_draining" else [kind.partition("_")[0] + "_back"]
    assert [event.kind for event in found[1:]] == back


def test_an_idle_node_is_no_event() -> None:
    assert changed(nodes=node(1, state="idle")) == []


def test_nodes_join_and_leave() -> None:
    assert changed(nodes=NODES[:2]) == [("node_lost", "node2 left the cluster")]
    assert changed(nodes=(*NODES, NodeSample(3, "node3"))) == [("node_joined", "node3 joined the cluster")]
    assert [kind for kind, _ in changed(nodes=node(2, name="other"))] == ["node_lost", "node_joined"]
    many = tuple(NodeSample(rank, f"n{rank}") for rank in range(3, 20))
    assert [kind for kind, _ in changed(nodes=(*NODES, *many))] == ["node_joined"]


def test_drift_and_alerts_appear_and_end_once() -> None:
    log = EventLog()
    log.update(SEEN)
    drift = Drift("foreign_process", "python holds 1.0 GiB", node=0, device=1, pid=7)
    more = replace(drift, message="python holds 2.0 GiB")
    alert = Alert("memory_above", "node0/gpu1: 95%", 0, 1)
    steps = [((drift,), (alert,)), ((more,), (replace(alert, message="96%"),)), ((), ())]
    found = [log.update(replace(SEEN, time=101.0 + step), *one) for step, one in enumerate(steps)]
    assert [[event.kind for event in one] for one in found] == [["drift", "alert"], [], ["drift_over", "alert_over"]]
    assert found[2][0].message == "no longer: python holds 2.0 GiB"
    assert (found[0][0].node, found[0][0].device) == (0, 1)


def test_drift_that_repeats_a_rank_event_is_left_out() -> None:
    log = EventLog()
    log.update(SEEN)
    dead = replace(SEEN, time=101.0, ranks=ranks("dead", "alive", "alive"))
    assert [one.kind for one in log.update(dead, [Drift("dead_rank", "actor 0 is dead", "actor", 0)])] == ["rank_died"]


def test_a_job_starts_becomes_ready_and_ends() -> None:
    empty = replace(SEEN, ranks={}, time=99.0)
    log = EventLog()
    log.update(empty)
    steps = [
        replace(SEEN, ranks=ranks("pending", "starting", "alive")),
        replace(SEEN, time=101.0),
        replace(empty, time=102.0, job=""),
    ]
    found = [event for step in steps for event in log.update(step)]
    assert [(event.kind, event.message) for event in found] == [
        ("job_started", "train started"),
        ("job_ready", "train: 3 ranks alive"),
        ("job_ended", "train ended"),
    ]


def test_other_jobs_are_known_by_their_placement_groups() -> None:
    groups = (GroupState("a", "other", "placetui"), GroupState("b", "theirs", "somewhere"))
    found = events(replace(SEEN, time=101.0, groups=groups), replace(SEEN, time=102.0))
    assert [(one.kind, one.message) for one in found] == [
        ("job_started", "other started"),
        ("job_ended", "other ended"),
    ]


def test_another_job_is_not_compared_with_the_one_before() -> None:
    found = changed(job="other", ranks=ranks("dead", "dead", "dead"))
    assert [kind for kind, _ in found] == ["job_started", "job_ended"]


def test_the_log_is_bounded_and_a_step_back_drops_what_comes_later() -> None:
    log = EventLog(limit=4)
    log.update(SEEN)
    for step in range(10):
        states = ranks("alive" if step % 2 else "dead", "alive", "alive")
        log.update(replace(SEEN, time=101.0 + step, ranks=states))
    assert [event.time for event in log.events] == [107.0, 108.0, 109.0, 110.0]
    assert log.update(replace(SEEN, time=108.0)) == []
    assert [event.time for event in log.events] == [107.0, 108.0]


def events_of(observations: Iterable[Observation], plan: Plan) -> list[Event]:
    log, drift, alerts = EventLog(), DriftWatch(plan), AlertWatch(Thresholds(memory_above=60))
    return [event for seen in observations for event in log.update(seen, drift.update(seen), alerts.update(seen))]


def test_a_recording_gives_the_events_of_the_stream(tmp_path: Path) -> None:
    plan = resolve(
        {"cluster": {"num_nodes": 2, "component_placement": {"actor": "0-15"}}}, nodes=[Node(gpus=8), Node(gpus=8)]
    )
    options = SimulationOptions(seed=3, startup=2.0, rank_dies_every=6.0, node_stale_every=9.0)
    simulation = Simulation(layout_of(plan), options)
    seen = [simulation.step(1000.0 + step) for step in range(90)]
    with Recorder(tmp_path / "r", whole_every=7) as recorder:
        for observation in seen:
            recorder.write(observation)
    live = events_of(seen, plan)
    assert {"rank_died", "rank_restarting", "rank_back", "node_stale", "node_back", "job_ready", "alert"} <= {
        event.kind for event in live
    }
    assert events_of(Recording(tmp_path / "r"), plan) == live
    assert all(event.message for event in live)

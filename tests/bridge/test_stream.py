"""Observations on their way: when they are due, and that the other side gets what was seen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from placetui.bridge.stream import NODES_PER_MESSAGE, Gap, StreamReceiver, StreamSender
from placetui.observe.delta import CodecError
from placetui.observe.model import NodeSample, Observation
from placetui.observe.simulation import LayoutComponent, LayoutNode, SimulatedLayout, Simulation


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Cluster:
    """Simulated, by a clock of our own; takes `takes` seconds to look at."""

    def __init__(self, clock: Clock, nodes: int = 2, takes: float = 0.0) -> None:
        layout = SimulatedLayout(
            tuple(LayoutNode(f"node{rank}", gpus=1) for rank in range(nodes)),
            (LayoutComponent("actor", "train", tuple((rank, (0,)) for rank in range(nodes))),),
        )
        self._simulation = Simulation(layout)
        self._clock = clock
        self._takes = takes
        self.seen: list[Observation] = []

    def observe(self, deadline: float) -> Observation:
        assert deadline > self._clock.now
        self._clock.now += self._takes
        self.seen.append(self._simulation.step(self._clock.now))
        return self.seen[-1]


def take(assembly: StreamReceiver, body: dict[str, Any]) -> Observation | None:
    return assembly.take(**json.loads(json.dumps(body)))


def test_the_other_side_gets_what_was_seen() -> None:
    clock = Clock()
    cluster = Cluster(clock)
    stream, assembly = StreamSender(1, cluster, 1.0, clock), StreamReceiver()
    for _ in range(20):
        clock.now += 1.0
        (body,) = stream.observe()
        assert take(assembly, body) == cluster.seen[-1]


def test_a_large_cluster_comes_in_pieces_and_is_shown_when_it_is_whole() -> None:
    clock = Clock()
    cluster = Cluster(clock, nodes=2 * NODES_PER_MESSAGE + 1)
    assembly = StreamReceiver()
    *some, last = (take(assembly, body) for body in StreamSender(1, cluster, 1.0, clock).observe())
    assert some == [None, None]
    assert last == cluster.seen[-1]


def test_after_a_gap_nothing_is_taken_until_all_of_it_comes_again() -> None:
    clock = Clock()
    cluster = Cluster(clock)
    stream, assembly = StreamSender(1, cluster, 1.0, clock), StreamReceiver()
    bodies = [body for _ in range(4) for body in stream.observe()]
    take(assembly, bodies[0])
    for body in bodies[2:]:
        with pytest.raises(Gap):
            take(assembly, body)
    stream.restart()
    (body,) = stream.observe()
    assert take(assembly, body) == cluster.seen[-1]


def test_after_one_that_cannot_be_read_the_next_is_a_gap() -> None:
    clock = Clock()
    stream, assembly = StreamSender(1, Cluster(clock), 1.0, clock), StreamReceiver()
    first, second, third = (next(iter(stream.observe())) for _ in range(3))
    take(assembly, first)
    with pytest.raises(CodecError):
        take(assembly, second | {"delta": {"schema": 1}})
    with pytest.raises(Gap):
        take(assembly, third)


def test_a_new_stream_begins_anew() -> None:
    clock = Clock()
    assembly = StreamReceiver()
    old, new = StreamSender(1, Cluster(clock, nodes=3), 1.0, clock), StreamSender(2, Cluster(clock), 1.0, clock)
    take(assembly, next(iter(old.observe())))
    seen = take(assembly, next(iter(new.observe())))
    assert seen is not None
    assert len(seen.nodes) == 2
    with pytest.raises(Gap):
        take(assembly, next(iter(old.observe())))


def test_observations_keep_in_step_and_those_missed_are_left_out() -> None:
    clock = Clock()
    cluster = Cluster(clock, takes=0.25)
    stream = StreamSender(1, cluster, 1.0, clock)
    assert stream.wait() == 0
    list(stream.observe())
    assert stream.wait() == 0.75
    clock.now += 5
    assert stream.wait() == 0
    list(stream.observe())
    list(stream.observe())
    assert 0 < (stream.wait() or 0) <= 1


def test_a_stream_rests_and_goes_on() -> None:
    clock = Clock()
    stream = StreamSender(1, Cluster(clock), 10.0, clock)
    list(stream.observe())
    stream.set_interval(None)
    assert stream.wait() is None
    stream.set_interval(2.0)
    assert stream.wait() == 2.0
    clock.now += 60
    assert stream.wait() == 0


def test_an_observer_that_fails_leaves_the_stream_whole() -> None:
    clock = Clock()
    seen = Observation(1.0, "nvml", (NodeSample(0, "a"),))

    class Moody:
        calls = 0

        def observe(self, deadline: float) -> Observation:
            self.calls += 1
            if self.calls == 2:
                raise RuntimeError("not now")
            return seen

    stream, assembly = StreamSender(1, Moody(), 1.0, clock), StreamReceiver()
    take(assembly, next(iter(stream.observe())))
    with pytest.raises(RuntimeError):
        list(stream.observe())
    assert take(assembly, next(iter(stream.observe()))) == seen

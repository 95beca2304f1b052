"""The sparkline's values: against a plain list of what was seen, and how much memory they take."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from placetui.observe.history import DeviceHistory
from placetui.observe.model import DeviceSample, NodeSample, Observation


def observation(time: float, *percents: int | None, stale: bool = False) -> Observation:
    devices = tuple(
        DeviceSample(index, memory_used=percent, memory_total=100, utilization=percent)
        for index, percent in enumerate(percents)
    )
    return Observation(time, "simulated", (NodeSample(0, "a", devices=devices, stale=stale),))


@given(
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 100)), max_size=20),
    st.integers(0, 3),
)
def test_a_series_is_the_last_value_of_each_period_held_until_the_next(
    length: int, steps: list[tuple[int, int | None]], rest: int
) -> None:
    history = DeviceHistory(length, 1.0)
    seen: dict[int, int | None] = {}
    now = 0
    for pause, percent in steps:
        now += pause
        # What is not known is no value: within a period, the last one before it stays.
        seen[now] = seen.get(now) if percent is None else percent
        history.record(observation(now, 7, percent), [0])
    now += rest
    history.record(observation(now), [])
    expected: list[int | None] = []
    for tick in range(now - length + 1, now + 1):
        known = [then for then in seen if then <= tick]
        expected.append(seen[max(known)] if known else None)
    assert history.series(0, 1, "utilization") == tuple(expected)
    assert history.series(0, 1, "memory") == tuple(expected)


def test_a_stale_node_has_gaps() -> None:
    history = DeviceHistory(3)
    history.record(observation(0, 40), [0])
    history.record(observation(1, 40, stale=True), [0])
    history.record(observation(2, 50), [0])
    assert history.series(0, 0, "memory") == (40, None, 50)


def test_an_hour_keeps_one_value_a_minute() -> None:
    history = DeviceHistory(3, 60.0)
    for second in range(180):
        history.record(observation(second, second // 2), [0])
    assert history.series(0, 0, "utilization") == (29, 59, 89)


def test_a_clock_set_back_begins_again() -> None:
    history = DeviceHistory(2)
    history.record(observation(100, 40), [0])
    history.record(observation(10, 50), [0])
    assert history.series(0, 0, "memory") == (None, 50)


def test_nothing_is_kept_of_a_node_that_is_gone_and_of_devices_that_were_exchanged() -> None:
    history = DeviceHistory(2)
    history.record(observation(0, 40), [0])
    history.record(observation(1, 40, 50), [0])
    assert history.series(0, 0, "memory") == (None, 40)
    history.record(Observation(2, "simulated"), [0])
    assert history.series(0, 0, "memory") == (None, None)


def test_there_is_nothing_of_what_was_never_seen() -> None:
    history = DeviceHistory(2)
    history.record(observation(0, 40), [0])
    assert history.series(0, 1, "memory") == history.series(5, 0, "memory") == (None, None)
    assert history.series(0, -1, "memory") == (None, None)


def test_a_minute_of_4096_nodes_takes_less_than_16_megabytes() -> None:
    nodes = 64
    devices = tuple(DeviceSample(index, memory_used=1, memory_total=2) for index in range(8))
    samples = tuple(NodeSample(rank, "a", devices=devices) for rank in range(nodes))
    history = DeviceHistory(60)
    tracemalloc.start()
    try:
        for tick in range(70):
            history.record(Observation(tick, "simulated", samples), range(nodes))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken / nodes * 4096 < 16 * 2**20


def test_a_gpu_that_does_not_answer_leaves_a_gap() -> None:
    history = DeviceHistory(2, 1.0)
    for time, stale in ((10.0, False), (11.0, True)):
        device = DeviceSample(0, memory_used=50, memory_total=100, utilization=7, stale=stale)
        history.record(Observation(time, "nvml", (NodeSample(0, "a", devices=(device,)),)), [0])
    assert history.series(0, 0, "memory") == (50, None)


def test_a_period_in_which_a_node_fell_silent_keeps_what_was_seen_in_it() -> None:
    hour = DeviceHistory(3, 60.0)
    hour.record(observation(0.0, 50), [0])
    hour.record(observation(30.0, 50, stale=True), [0])
    assert hour.series(0, 0, "memory") == (None, None, 50)
    hour.record(observation(60.0, 50, stale=True), [0])
    assert hour.series(0, 0, "memory") == (None, 50, None)

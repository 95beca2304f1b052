"""Values beyond their thresholds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from placetui.observe.alerts import NO_THRESHOLDS, AlertWatch, Thresholds, alerts_of
from placetui.observe.model import DeviceSample, NodeSample, Observation, ProcessSample

DEVICE = DeviceSample(0, memory_used=95, memory_total=100, utilization=50, temperature=80)


def kinds(thresholds: Thresholds, device: DeviceSample = DEVICE, **node: bool) -> list[str]:
    return [alert.kind for alert in alerts_of(NodeSample(4, "gpu-4", devices=(device,), **node), thresholds)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("thresholds", "found"),
    [
        (Thresholds(memory_above=94), ["memory_above"]),
        (Thresholds(memory_above=95), []),
        (Thresholds(temperature_above=79, load_above=49), ["temperature_above", "load_above"]),
        (Thresholds(temperature_above=80, load_above=50), []),
        (Thresholds(load_below=51), []),  # nobody is on it
        (NO_THRESHOLDS, []),
    ],
)
def test_a_value_beyond_its_threshold_is_told(thresholds: Thresholds, found: list[str]) -> None:
    assert kinds(thresholds) == found


def test_an_idle_gpu_is_told_when_somebody_is_on_it() -> None:
    busy = replace(DEVICE, processes=(ProcessSample(1),))
    assert kinds(Thresholds(load_below=51), busy) == ["load_below"]
    assert kinds(Thresholds(load_below=50), busy) == []


def test_what_is_not_known_or_too_old_says_nothing() -> None:
    everything = Thresholds(0, 0, 0, 100)
    assert kinds(everything, DeviceSample(0)) == []
    assert kinds(everything, replace(DEVICE, stale=True)) == []
    assert kinds(everything, stale=True) == []


def test_an_alert_says_where_and_how_much() -> None:
    (alert,) = alerts_of(NodeSample(4, "gpu-4", devices=(DEVICE,)), Thresholds(temperature_above=75))
    assert (alert.node, alert.device) == (4, 0)
    assert alert.message == "gpu-4/gpu0: 80 °C is more than 75 °C"


def test_nodes_come_and_go() -> None:
    watch = AlertWatch(Thresholds(memory_above=90))
    nodes = tuple(NodeSample(rank, f"n{rank}", devices=(DEVICE,)) for rank in range(3))
    seen = Observation(1.0, "nvml", nodes)
    assert [alert.node for alert in watch.update(seen)] == [0, 1, 2]
    cooler = replace(nodes[1], devices=(replace(DEVICE, memory_used=1),))
    assert [alert.node for alert in watch.update(replace(seen, nodes=(nodes[0], cooler)))] == [0]
    assert [alert.node for alert in watch.update(seen)] == [0, 1, 2]

"""What the inspector says of a device when plan, books and memory do not agree; and how it has been."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from placetui.frameworks.planner import resolve
from placetui.grid import Place, plain
from placetui.grid.inspector import inspect
from placetui.observe.alerts import Alert
from placetui.observe.drift import Drift
from placetui.observe.history import DeviceHistory
from placetui.observe.model import Claim, DeviceSample, NodeSample, Observation, ProcessSample
from placetui.placement.plan import GPU, NODE, Plan
from placetui.placement.topology import Node

GIB = 1 << 30


def plan() -> Plan:
    return resolve({"cluster": {"num_nodes": 1, "component_placement": {"actor": "0-3"}}}, [Node(4)])


def seen(*claims: Claim, processes: tuple[ProcessSample, ...] = ()) -> Observation:
    device = DeviceSample(
        0, memory_used=40 * GIB, memory_total=80 * GIB, utilization=50, processes=processes, claims=claims
    )
    node = NodeSample(0, "gpu-0", devices=(device,), cpu_percent=12.4, memory_used=100 * GIB, memory_total=512 * GIB)
    return Observation(1e6, "ray", (node,))


def lines(observation: Observation, place: Place | None = None, *, compact: bool = False, **more: object) -> list[str]:
    more.setdefault("details", True)
    found = inspect(
        plan(),
        place or Place(0, GPU, 0),
        locate=lambda _: None,
        width=110,
        observation=observation,
        compact=compact,
        **more,  # type: ignore[arg-type]
    )
    return [plain(line).rstrip() for line in found.lines]


@pytest.mark.parametrize(
    ("claim", "memory", "said"),
    [
        (
            Claim("a", "T", 7, None, None, "04", 0.5, False),
            None,
            "T of job 04 reserved .50, not assigned, uses no memory",
        ),
        (Claim("a", "T", 7, None, None, None, None, True), 3 * GIB, "T nothing reserved, assigned, uses 3.0 GiB"),
        (Claim("a", "T", 7, None, None, None, None), GIB, "T nothing reserved, not assigned, uses 1.0 GiB"),
        (Claim("a", "x/actor:0", 7, "actor", 0, "x", 0.8, True), None, "A0 reserved .80, assigned, uses no memory"),
    ],
)
def test_the_three_truths_stand_side_by_side_where_they_disagree(claim: Claim, memory: int | None, said: str) -> None:
    process = ProcessSample(7, memory, actor="T", kind="actor", actor_id="a")
    text = "\n".join(lines(seen(claim, processes=(process,) if memory is not None else ())))
    assert f"reserved {said}" in text


def test_where_they_agree_nothing_is_said() -> None:
    claim = Claim("a", "x/actor:0", 7, "actor", 0, "x", 0.8, True)
    process = ProcessSample(7, GIB, "actor", 0, "x", kind="rank", actor_id="a")
    assert "reserved " not in "\n".join(lines(seen(claim, processes=(process,))))


def test_what_is_wrong_comes_first() -> None:
    wrong = [
        Drift("foreign_process", "eve is on gpu-0 GPU 0", node=0, device=0),
        Alert("temperature_above", "it is hot", 0, 0),
    ]
    found = lines(seen(), notices=wrong)
    assert [line.strip() for line in found[1:3]] == ["≠ eve is on gpu-0 GPU 0", "▲ it is hot"]
    short = lines(seen(), notices=wrong, compact=True)
    assert short[1] == "≠ eve is on gpu-0 GPU 0 (and 1 more)"
    assert len(short) <= 4


def test_the_minute_and_the_hour_have_a_curve_each() -> None:
    minute, hour = DeviceHistory(), DeviceHistory(60, 60.0)
    for seconds in range(0, 600, 10):
        later = replace(seen(), time=1e6 + seconds)
        for history in (minute, hour):
            history.record(later, [0])
    text = "\n".join(lines(seen(), history=minute, hour=hour))
    assert text.count(" min ago") == text.count(" h ago") == 2


def test_a_node_says_how_its_cpu_and_ram_are() -> None:
    for place in (Place(0, GPU, 0), Place(0, NODE, 0)):
        assert any("CPU 12% · RAM 100 of 512 GiB" in line for line in lines(seen(), place))


def test_a_task_is_called_by_its_name_and_not_outside_ray() -> None:
    task = ProcessSample(7, 3 * GIB, job="02000000", actor="Ray task step", user="eve", actor_id="e")
    text = "\n".join(lines(seen(processes=(task, ProcessSample(8, GIB, command="python")))))
    assert re.search(r"Ray task step of job 02000000 .*3\.0G +7 .*user eve", text)
    assert re.search(r"python .*\? foreign .*1\.0G +8", text)

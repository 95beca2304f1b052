"""What an observation says of nodes, devices and ranks, and the JSON that `top --json` prints."""

from __future__ import annotations

from placetui.observe.model import DeviceSample, NodeSample, Observation, ProcessSample, RankState

GIB = 2**30


def observation() -> Observation:
    process = ProcessSample(41, 3 * GIB, "actor", 0, "job", "job/actor:0", "rank")
    seen = DeviceSample(0, "GPU-1", "H100", 20 * GIB, 80 * GIB, 93, 61, 640, (process,))
    lost = DeviceSample(1, "GPU-2", "H100", error="the GPU is lost")
    return Observation(
        12.5,
        "ray",
        (
            NodeSample(0, "a", "10.0.0.1", devices=(seen, lost), cpu_percent=7.0),
            NodeSample(3, "b", "10.0.0.2", 4.2, True, "no answer"),
        ),
        {"actor": (RankState("actor", 0, "alive", pid=41, node=0), RankState("actor", 1, "dead", "exit code 1"))},
    )


def test_nodes_are_found_by_rank_also_when_ranks_have_gaps() -> None:
    seen = observation()
    assert [getattr(seen.node(rank), "name", None) for rank in range(-1, 5)] == [None, "a", None, None, "b", None]


def test_devices_are_found_by_their_index_in_the_plan() -> None:
    devices = (DeviceSample(4, "x"), DeviceSample(2, "y"))
    node = NodeSample(0, "a", devices=devices)
    assert [node.device(index) for index in (2, 4)] == [devices[1], devices[0]]
    assert node.device(0) is None
    assert observation().device(0, 1) is not None
    assert observation().device(1, 0) is None


def test_a_rank_nobody_heard_of_is_none() -> None:
    seen = observation()
    assert seen.rank("actor", 1) == RankState("actor", 1, "dead", "exit code 1")
    assert (seen.rank("actor", 2), seen.rank("actor", -1), seen.rank("critic", 0)) == (None, None, None)


def test_memory_that_cannot_be_read_has_no_percentage() -> None:
    first, second = observation().nodes[0].devices
    assert (first.memory_percent, second.memory_percent) == (25, None)
    assert DeviceSample(0, memory_used=1, memory_total=0).memory_percent is None


def test_the_json_has_the_promised_keys_and_null_for_what_is_unknown() -> None:
    value = observation().to_dict()
    assert {"time", "source", "nodes"} <= value.keys()
    node = value["nodes"][0]
    assert {"name", "ip", "age", "stale", "error", "devices"} <= node.keys()
    first, second = node["devices"]
    assert {"index", "uuid", "name", "memory_used", "memory_total", "utilization", "error", "processes"} <= first.keys()
    assert first["processes"] == [
        {
            "pid": 41,
            "memory": 3 * GIB,
            "component": "actor",
            "rank": 0,
            "job": "job",
            "actor": "job/actor:0",
            "framework": "placetui",
            "state": None,
            "restarts": None,
            "since": None,
            "device_from": None,
            "kind": "rank",
        }
    ]
    assert (second["memory_used"], second["utilization"], second["error"]) == (None, None, "the GPU is lost")
    assert (value["nodes"][1]["age"], value["nodes"][1]["stale"]) == (4.2, True)

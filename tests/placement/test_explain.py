"""Explanations say what the plan says: where a rank is, who is on a device, where a component is."""

from __future__ import annotations

from contextlib import suppress
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.frameworks.planner import make_plan, resolve
from placetui.placement.explain import explain, occupants_text
from placetui.placement.names import Names, UnknownName
from placetui.placement.plan import Occupant, Plan
from placetui.placement.problems import Path, Span
from placetui.placement.topology import Node
from placetui.placement.wording import pattern_text, ranges, share_text

NODES = [
    Node(8, name="alpha", ip="10.0.0.1"),
    Node(8, name="beta", ip="10.0.0.2"),
    Node(0, name="arms", ip="10.0.0.3"),
]

HETEROGENEOUS = {
    "cluster": {
        "num_nodes": 3,
        "node_groups": [
            {"label": "a", "node_ranks": "0", "env_configs": [{"node_ranks": "0", "env_vars": [{"NIC": "eth7"}]}]},
            {"label": "b", "node_ranks": "1"},
            {
                "label": "arm",
                "node_ranks": "2",
                "hardware": {
                    "type": "DOSW1",
                    "configs": [{"node_rank": 2, "robot_url": "http://x"}, {"node_rank": 2, "robot_url": "http://y"}],
                },
            },
        ],
        "component_placement": {
            "actor": {"node_group": "a,b", "placement": "0-3:0-7,8-15"},
            "rollout": {"node_group": "b", "placement": "0-7:0-3"},
            "env": {"node_group": "arm", "placement": "0-1"},
            "agent": {"node_group": "node", "placement": "1:0-199"},
        },
    }
}

STRIDED = {
    "cluster": {"num_nodes": 1, "component_placement": {"actor,rollout": "0-7", "reward": "0-7"}},
    "actor": {"model": {"tensor_model_parallel_size": 4}},
    "rollout": {"tensor_parallel_size": 2},
    "placetui": {"mode": "model_parallel"},
}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return resolve(HETEROGENEOUS, NODES)


def answer(plan: Plan, what: str) -> dict[str, Any]:
    return explain(plan, what).to_dict()


def text(plan: Plan, what: str) -> str:
    return "\n".join(explain(plan, what).lines())


def target(plan: Plan, what: str) -> tuple[object, ...]:
    """Components, nodes, kind of devices and numbers, as far as they are named."""
    named = Names(plan).read(what)
    numbers = named.numbers.text if named.numbers else None
    return tuple(part for part in (*named.components, *named.nodes, named.kind, numbers) if part not in ("", None))


@pytest.mark.parametrize(
    ("what", "named"),
    [
        ("actor", ("actor",)),
        ("ACTOR", ("actor",)),
        ("roll", ("rollout",)),
        ("actor:3", ("actor", "3")),
        ("actor 3", ("actor", "3")),
        (" actor : 3 ", ("actor", "3")),
        ("actor rank 3", ("actor", "3")),
        ("actor:0-3", ("actor", "0-3")),
        ("actor 0 - 3, 7", ("actor", "0-3,7")),
        ("beta", (1,)),
        ("10.0.0.2", (1,)),
        ("node1", (1,)),
        ("1", (1,)),
        ("#1", (1,)),
        ("beta/gpu5", (1, "gpu", "5")),
        ("node1/GPU 5", (1, "gpu", "5")),
        ("10.0.0.2/5", (1, "gpu", "5")),
        ("arms/DOSW11", (2, "DOSW1", "1")),
        ("2/dosw1 0", (2, "DOSW1", "0")),
        ("dosw1 0", (0, 1, 2, "DOSW1", "0")),
        ("group:arm", (2,)),
    ],
)
def test_what_people_write_is_understood(plan: Plan, what: str, named: tuple[object, ...]) -> None:
    assert target(plan, what) == named


def test_a_component_called_like_a_number_is_a_component() -> None:
    plan = resolve({"cluster": {"num_nodes": 1, "component_placement": {"0": "0-3", "a:1": "0"}}})
    assert target(plan, "0") == ("0",)
    assert target(plan, "0:2") == ("0", "2")
    assert target(plan, "a:1") == ("a:1",)


def test_letters_of_the_drawing_are_understood(plan: Plan) -> None:
    names = Names(plan, {"actor": "A", "rollout": "7"})
    assert names.read("a3") == Names(plan).read("actor:3") == names.read("A:3")
    assert names.read("7:3").components == ("rollout",)


@pytest.mark.parametrize(
    ("what", "hint"),
    [
        ("actr:3", "did you mean `actor:3`?"),
        ("rolout", "did you mean `rollout`?"),
        ("alhpa/gpu0", "did you mean `alpha/gpu0`?"),
        ("actor:99", "actor has ranks 0 to 15"),
        ("alpha/gpu8", "alpha has GPUs 0 to 7"),
        ("arms/gpu0", "arms has no GPUs"),
        ("arms/DOSW12", "arms has DOSW1 0-1"),
        ("node9", "the plan has nodes 0 to 2"),
        ("actor 3 rollout 2", "name a component"),
        ("", "name a component (`actor`, `rollout`, `env` and `agent`), a rank such as `actor:3`"),
        ("?" * 5000, "name a component"),
    ],
)
def test_what_is_not_there_gets_a_hint(plan: Plan, what: str, hint: str) -> None:
    with pytest.raises(UnknownName) as caught:
        explain(plan, what)
    assert hint in caught.value.hint


def test_a_component_that_could_not_be_placed_says_so() -> None:
    plan = make_plan({"cluster": {"num_nodes": 1, "component_placement": {"actor": "0-99", "critic": "0"}}})
    with pytest.raises(UnknownName) as caught:
        explain(plan, "actor:0")
    assert "could not be placed" in caught.value.hint


@pytest.mark.parametrize("piece", [" ", ":", "1,", "/", "gpu ", "1 ", "- "])
def test_long_texts_cost_little_more_than_short_ones(plan: Plan, piece: str) -> None:
    def seconds(length: int) -> float:
        start = process_time()
        with suppress(UnknownName):
            Names(plan).read("a" + piece * length + "x")
        return process_time() - start

    short, long = (min(seconds(length) for _ in range(3)) for length in (100, 20_000))
    assert long < 0.02 + 20 * short, "a cube of the length would be eight million times as much"


def test_some_ranks_are_a_table_of_nodes(plan: Plan) -> None:
    found = answer(plan, "actor:6-9")
    assert (found["kind"], found["ranks"]) == ("ranks", [6, 7, 8, 9])
    assert [(row["node"], row["ranks"], row["devices"]) for row in found["nodes"]] == [
        (0, [6, 7], [[3], [3]]),
        (1, [8, 9], [[0], [1]]),
    ]
    lines = text(plan, "actor 6-9").splitlines()
    assert lines[0] == "actor 6-9: 4 of 16 ranks on 2 nodes"
    assert lines[-2:] == ["  alpha  6-7  GPU 3 ×2", "  beta   8-9  GPU 0-1"]
    assert answer(plan, "actor:15-99")["kind"] == "rank", "the only one of these that there is"


def test_one_name_can_stand_for_several_devices(plan: Plan) -> None:
    found = answer(plan, "gpu7")
    assert found["kind"] == "several"
    assert [(part["node_name"], part["index"]) for part in found["parts"]] == [("alpha", 7), ("beta", 7)]
    assert text(plan, "gpu7").startswith("alpha/gpu7 is empty\n\nbeta/gpu7: shares add up to 1.00\n")


@given(st.text(max_size=30))
def test_no_question_is_too_strange(question: str) -> None:
    plan = resolve(STRIDED)
    try:
        answer = explain(plan, question)
    except UnknownName:
        return
    assert answer.to_dict()["schema"] == 1
    assert list(answer.lines())


def test_a_rank_with_its_segment_numbers_and_groups(plan: Plan) -> None:
    found = answer(plan, "actor:9")
    assert found["schema"] == 1
    assert found["kind"] == "rank"
    assert (found["node"], found["node_name"], found["device_kind"], found["devices"]) == (1, "beta", "gpu", [1])
    assert found["numbers"] == [9], "counted over both groups"
    assert found["counted_over"] == ["a", "b"]
    assert found["node_group"] == "b"
    assert found["segment"]["text"] == "8-15"
    assert (found["segment"]["resources"], found["segment"]["processes"]) == ("8-15", "8-15")
    assert found["environment"]["RANK"] == "9"
    assert "GPU 9 of node groups `a` and `b`, counted in this order: beta/gpu1" in text(plan, "actor:9")


def test_every_rank_is_explained_as_it_is_placed(plan: Plan) -> None:
    for name, component in plan.components.items():
        for placement in component.placements:
            found = answer(plan, f"{name}:{placement.rank}")
            assert found["node"] == placement.cluster_node_rank
            assert found["devices"] == placement.local_hardware_ranks
            assert found["visible_accelerators"] == placement.visible_accelerators
            assert found["share"] == component.rank_share(placement.rank)
            first, _, last = found["segment"]["processes"].partition("-")
            assert int(first) <= placement.rank <= int(last or first)


def test_variables_of_the_node_group_reach_the_rank(plan: Plan) -> None:
    assert answer(plan, "actor:0")["environment"]["NIC"] == "eth7"
    assert "NIC" not in answer(plan, "actor:9")["environment"]
    assert "    NIC=eth7" in text(plan, "actor:0").splitlines()


def test_neighbours_are_the_others_on_the_same_devices(plan: Plan) -> None:
    assert answer(plan, "actor:0")["neighbours"] == [{"component": "actor", "rank": 1, "share": 0.4}]
    assert [one["component"] for one in answer(plan, "rollout:0")["neighbours"]] == ["actor", "actor"]


def test_a_process_on_a_node_sees_what_it_does_not_own(plan: Plan) -> None:
    lines = text(plan, "agent:7")
    assert lines.startswith("agent 7 is on beta\n")
    assert "sees      GPU 0-7 (CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7): all of the node" in lines
    assert "share" not in lines
    assert answer(plan, "alpha/gpu0")["seen_by"] == {}
    assert answer(plan, "beta/gpu0")["seen_by"] == {"agent": "0-199"}


def test_rules_are_found_in_the_file(plan: Plan) -> None:
    asked: list[tuple[Path, Span | None]] = []

    def locate(path: Path, span: Span | None) -> tuple[int, int]:
        asked.append((path, span))
        return (4, 10 if span is None else 10 + span[0])

    found = explain(plan, "actor:9", locate).to_dict()
    path = ("cluster", "component_placement", "actor", "placement")
    assert asked == [(path, None), (path, (8, 12))]
    assert (found["rule"]["line"], found["rule"]["column"]) == (4, 10)
    assert found["segment"]["column"] == 18


def test_a_stride_is_explained_by_the_sizes_that_led_to_it() -> None:
    plan = resolve(STRIDED)
    found = answer(plan, "rollout:1")
    assert found["devices"] == [1, 3]
    assert found["placement_mode"] == "collocated"
    (stride,) = [reason for reason in found["reasons"] if "stride" in reason]
    assert "4" in stride
    assert "2" in stride
    assert "Ray reserves only the first of them" in text(plan, "rollout:1")
    assert "with  node0/gpu1,3" in text(plan, "node0/gpu3")


def test_slime_ranks_name_their_engine() -> None:
    slime = {"actor_num_nodes": 1, "rollout_num_gpus": 32, "rollout_num_gpus_per_engine": 16}
    plan = resolve({"slime": slime})
    found = answer(plan, "rollout:3")
    assert found["engine"] == {"engine": 1, "part": 1, "parts": 2}
    assert found["numbers"] == list(range(32, 40)), "slots over all nodes"
    assert "engine    engine 1, part 1 of 2" in text(plan, "rollout:3")
    assert answer(plan, "actor:0")["engine"] is None
    assert "rollout manager" in text(plan, "node0")


def test_a_device_says_who_is_on_it_and_why(plan: Plan) -> None:
    lines = text(plan, "beta/gpu1").splitlines()
    assert lines[0] == "beta/gpu1: shares add up to 1.00"
    assert "  actor 9 (0.80)" in lines
    assert "  rollout 0 (0.20)" in lines
    assert "    rule  `rollout: 0-7:0-3`" in lines
    assert "    with  beta/gpu0-1" in lines
    assert text(plan, "alpha/gpu7") == "alpha/gpu7 is empty"
    assert text(plan, "arms/DOSW11").startswith("arms DOSW1 1: 1 process\n  env 1\n")


def test_a_node_lists_its_devices(plan: Plan) -> None:
    lines = text(plan, "beta").splitlines()
    assert lines[0] == "beta: node rank 1, 10.0.0.2, 8 GPUs, NV_GPU, group b"
    assert lines[1] == "  GPU 0     actor 8 (0.80), rollout 0 (0.20)"
    assert lines[-1] == "  the node  agent 0-199 ×200"
    assert [device["index"] for device in answer(plan, "beta")["devices"]] == [*range(8), 0]


def test_a_component_is_a_table_of_nodes(plan: Plan) -> None:
    lines = text(plan, "actor").splitlines()
    assert lines[0] == "actor: 16 ranks on 2 nodes"
    assert lines[-2:] == ["  alpha  0-7   GPU 0-3 ×2", "  beta   8-15  GPU 0-7"]
    rows = answer(plan, "actor")["nodes"]
    assert [(row["node"], row["ranks"]) for row in rows] == [(0, list(range(8))), (1, list(range(8, 16)))]


def test_thousands_of_ranks_take_a_few_lines() -> None:
    rules = {"actor": "all", "rollout": "0-8175:0-4087"}
    plan = resolve({"cluster": {"num_nodes": 1024, "component_placement": rules}})
    assert len(text(plan, "actor").splitlines()) < 8
    assert text(plan, "actor").endswith("node0 … node1023  0-8191  GPU 0-7 on each of 1024 nodes")
    assert text(plan, "rollout").endswith("0-4087  GPU 0-1 2-3 4-5 6-7 on each of 1022 nodes")


@given(st.sets(st.integers(0, 60)))
def test_ranges_can_be_read_back(numbers: set[int]) -> None:
    found: list[int] = []
    for part in filter(None, ranges(sorted(numbers)).split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    assert found == sorted(numbers)


def test_ranges_keep_an_order_that_goes_down() -> None:
    assert ranges([3, 0]) == "3,0"


@pytest.mark.parametrize(
    ("share", "expected"), [(0.8, "0.80"), (1.0, "1.00"), (0.3333, "0.3333"), (0.125, "0.125"), (None, "-")]
)
def test_shares_have_two_digits_or_what_they_need(share: float | None, expected: str) -> None:
    assert share_text(share) == expected


@pytest.mark.parametrize(
    ("kind", "owned", "expected"),
    [
        ("gpu", [[0], [1], [2]], "GPU 0-2"),
        ("gpu", [[0], [0], [1], [1]], "GPU 0-1 ×2"),
        ("gpu", [[0], [0], [1]], "GPU 0,0-1"),
        ("gpu", [[0, 2], [1, 3]], "GPU {0,2} {1,3}"),
        ("gpu", [[i, i + 1] for i in range(0, 20, 2)], "GPU 0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15 … 2 more"),
        ("Franka", [[0]], "Franka 0"),
        ("node", [[]], "the node"),
        ("node", [[], []], "the node ×2"),
    ],
)
def test_devices_of_a_node_are_a_pattern(kind: str, owned: list[list[int]], expected: str) -> None:
    assert pattern_text(kind, owned) == expected


def test_occupants_of_one_component_are_summarised() -> None:
    many = [Occupant("agent", rank, 0.005) for rank in range(200)]
    assert list(occupants_text(many)) == [("agent 0-199 ×200", "0.005")]

"""A cluster as it is, and the file that gives the same picture."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.document import Document, PlanRequest, plan_document
from placetui.document.new_file import picture_text
from placetui.frameworks.picture import Picture, Stride
from placetui.frameworks.planner import make_plan, resolve
from placetui.observe.model import Claim, DeviceSample, NodeSample, Observation, ProcessSample
from placetui.observe.picture import OccupancyWatch, picture_of
from placetui.observe.simulation import Simulation, SimulationOptions, layout_of
from placetui.placement.plan import GPU, Plan
from placetui.placement.topology import Node

GIB = 1 << 30
SAMPLES = Path(__file__).parents[2] / "sample_configs"


def seen(*nodes: tuple[DeviceSample, ...]) -> Observation:
    samples = tuple(NodeSample(rank, f"gpu-{rank}", f"10.0.0.{rank}", devices=d) for rank, d in enumerate(nodes))
    return Observation(1.0, "ray", samples)


def seats_of(picture: Picture) -> dict[int, list[tuple[str, int]]]:
    """By GPU, numbered through the cluster, the components and ranks on it."""
    found: dict[int, list[tuple[str, int]]] = {}
    for part in picture.parts:
        for rank, devices in enumerate(part.processes):
            for device in devices:
                found.setdefault(device, []).append((part.name, rank))
    return found


def opened(picture: Picture) -> Plan:
    plan = plan_document(Document(picture_text(picture, "as seen on gpu-0"), "seen.yaml"), PlanRequest())
    assert [problem.message for problem in plan.problems if problem.severity == "error"] == []
    return plan


def seats(plan: Plan) -> dict[int, list[tuple[str, int]]]:
    found: dict[int, list[tuple[str, int]]] = {}
    gpus = [device for device in plan.devices if device.kind == GPU]
    for number, device in enumerate(gpus):
        if device.occupants:
            found[number] = [(one.component, one.rank) for one in device.occupants]
    return found


def device(index: int, *claims: Claim, total: int = 80 * GIB) -> DeviceSample:
    return DeviceSample(index, memory_total=total, claims=claims)


def claim(name: str, reserved: float | None = None, job: str = "04", **more: object) -> Claim:
    return Claim(name, name, 7, None, None, job, reserved, reserved is None, **more)  # type: ignore[arg-type]


def test_actors_of_one_class_and_job_are_a_component() -> None:
    two = tuple(device(i, claim(f"t{i}", 0.8, class_name="Trainer"), claim(f"e{i // 2}", 0.2)) for i in range(4))
    picture = picture_of(seen(two))
    assert {part.name: (part.rule, part.units) for part in picture.parts} == {
        "Trainer": ("all", 8000),
        "e": ("all:0-1", 2000),
    }
    assert picture.notes == ()
    plan = opened(picture)
    assert plan.devices[0].total_share == 1.0
    assert "# class Trainer, job 04" in picture_text(picture)


def test_ranks_keep_their_numbers_and_jobs_their_names() -> None:
    def rank(job: str, number: int) -> Claim:
        return Claim(f"{job}{number}", f"{job}/actor:{number}", 1, "actor", number, job, 0.5, True)

    picture = picture_of(seen((device(0, rank("a", 0), rank("b", 1)), device(1, rank("a", 1), rank("b", 0)))))
    assert {part.name: part.rule for part in picture.parts} == {"actor-a": "all", "actor-b": "all"}
    assert picture.notes == ("actor-b: ranks are renumbered, in the order of their GPUs",)
    opened(picture)


def test_nodes_are_as_they_were_seen_and_gaps_are_kept() -> None:
    first, last = (device(0), device(1)), (device(0, total=0),)
    nodes = (NodeSample(0, "gpu-a", "10.0.0.1", devices=first), NodeSample(3, "no", "10.0.0.9", devices=last))
    plan = opened(picture_of(Observation(1.0, "ray", nodes)))
    assert [(node.name, node.ip, node.gpus, node.memory_gib) for node in plan.nodes] == [
        ("gpu-a", "10.0.0.1", 2, 80.0),
        ("node1", "", 0, None),
        ("node2", "", 0, None),
        ("no", "10.0.0.9", 1, None),
    ]
    assert dict(plan.components) == {}


def test_one_that_reserves_nothing_gets_what_is_left() -> None:
    one = device(0, claim("x", 0.6, class_name="X"), claim("y", None, class_name="Y"))
    assert {part.name: part.units for part in picture_of(seen((one,))).parts} == {"X": 6000, "Y": 4000}
    full = device(0, claim("x", 1.0, class_name="X"), claim("y", None, class_name="Y"))
    picture = picture_of(seen((full,)))
    assert [part.units for part in picture.parts] == [None, None]
    assert picture.notes == ("the shares are not those reserved: together they would be more than a GPU",)
    opened(picture)


def test_gpus_that_are_not_neighbours_are_said() -> None:
    wide = claim("w", 1.0, class_name="Wide")
    picture = picture_of(seen((device(0, wide), device(1), device(2, wide))))
    assert picture.notes == ("Wide: a process on GPUs that are not adjacent is written as several",)
    assert seats(opened(picture)) == {0: [("Wide", 0)], 2: [("Wide", 1)]}


def test_a_split_process_is_said_at_its_rule_too() -> None:
    wide = claim("w", 1.0, class_name="Wide")
    text = picture_text(picture_of(seen((device(0, wide), device(1), device(2, wide)))))
    assert "Wide: 0,2  # class Wide, job 04; a process on GPUs that are not adjacent is written as several\n" in text


def strided(each: int, step: int, nodes: int = 2, **changes: object) -> Observation:
    """A collocated job on nodes of eight GPUs, whose rollout has every `step`-th GPU of the actor's."""
    parts = {"actor": 0.5, "reward": 0.1, "rollout": 0.4}
    claims: dict[int, list[Claim]] = {}
    for number, devices in enumerate(Stride(0, 8 * nodes - 1, each, step).processes()):
        for index in devices:
            # In Ray's books it stands in its first GPU only.
            reserved = parts["rollout"] if index == devices[0] else None
            one = Claim(f"r{number}", "", 9, "rollout", number, "job", reserved, True)
            claims.setdefault(index, []).append(replace(one, **changes))  # type: ignore[arg-type]
    for index in range(8 * nodes):
        for name in ("actor", "reward"):
            claims[index].append(Claim(f"{name}{index}", "", 1, name, index, "job", parts[name]))
    return seen(*(tuple(device(index, *claims[8 * node + index]) for index in range(8)) for node in range(nodes)))


@pytest.mark.parametrize(("each", "step"), [(2, 2), (2, 4), (4, 2)])
def test_a_rollout_with_a_stride_is_told_by_the_sizes_of_the_models(each: int, step: int) -> None:
    picture = picture_of(strided(each, step))
    assert picture.notes == ()
    assert {part.name: (part.rule, part.units) for part in picture.parts} == {
        "actor": ("all", 5000),
        "reward": ("all", 1000),
        "rollout": ("0-15", 4000),
    }
    plan = opened(picture)
    assert plan.problems == []
    assert {number: sorted(held) for number, held in seats(plan).items()} == {
        number: sorted(held) for number, held in seats_of(picture).items()
    }
    assert seats(make_plan(picture.config(), topology_source="file")) == seats(plan)
    assert [one.local_hardware_ranks for one in plan.components["rollout"].placements[:2]] == [
        [step * k for k in range(each)],
        [step * k + 1 for k in range(each)],
    ]


def test_a_stride_that_the_mode_would_place_otherwise_is_split() -> None:
    # Another name, another job, or a component that the mode would take for its own.
    assert picture_of(strided(2, 2, component="engine")).stride is None
    whole = strided(2, 2, nodes=1)
    critic = Claim("c", "", 3, "critic", 0, "job", None, True)
    first, *rest = whole.nodes[0].devices
    more = (replace(first, claims=(*first.claims, critic)), *rest)
    picture = picture_of(replace(whole, nodes=(replace(whole.nodes[0], devices=more),)))
    assert picture.stride is None
    assert picture.notes[0] == "rollout: a process on GPUs that are not adjacent is written as several"
    opened(picture)


def test_tasks_come_and_go_and_have_no_place() -> None:
    task = replace(claim("Ray task step", 0.5), task=True)
    picture = picture_of(seen((device(0, task, claim("x", 0.5, class_name="X")),)))
    assert [(part.name, part.units) for part in picture.parts] == [("X", 5000)]


def test_strangers_and_memory_without_a_process_have_no_place() -> None:
    processes = (ProcessSample(1, GIB, command="python"), ProcessSample(0, GIB, kind="gone"))
    assert picture_of(seen((DeviceSample(0, processes=processes),))).parts == ()


def test_a_simulated_job_gives_the_file_it_was_made_from() -> None:
    rules = {"actor": "0-7", "rollout": "0-1:0,2-3:1,4-5:2,6-7:3", "env": "2-3:0-3"}
    made = resolve({"cluster": {"num_nodes": 2, "component_placement": rules}}, [Node(4)] * 2)
    simulation = Simulation(layout_of(made), SimulationOptions(rank_dies_every=None, node_stale_every=None))
    simulation.step(0.0)
    plan = opened(picture_of(simulation.step(30.0)))
    assert {number: sorted(held) for number, held in seats(plan).items()} == {
        number: sorted(held) for number, held in seats(made).items()
    }


def test_the_sample_with_a_stride_is_kept_as_it_is() -> None:
    made = plan_document(Document.from_file(str(SAMPLES / "model-parallel-stride.yaml")), PlanRequest())
    simulation = Simulation(layout_of(made), SimulationOptions(rank_dies_every=None, node_stale_every=None))
    simulation.step(0.0)
    picture = picture_of(simulation.step(30.0))
    assert picture.notes == ()
    plan = opened(picture)
    assert {number: sorted(held) for number, held in seats(plan).items()} == {
        number: sorted(held) for number, held in seats(made).items()
    }


def test_a_quick_look_tells_who_moved_and_not_who_holds_more() -> None:
    one = device(0, claim("x", 0.5))
    watch, first = OccupancyWatch(), seen((one, device(1)), (device(0),))
    assert watch.moved(first)
    assert not watch.moved(first)
    fuller = replace(one, memory_used=9 * GIB)
    assert not watch.moved(seen((fuller, device(1)), (device(0),)))
    assert watch.moved(seen((device(0), replace(one, index=1)), (device(0),)))
    assert watch.moved(seen((device(0), replace(one, index=1))))


NAMES = st.sampled_from(["Trainer", "no", "1e3", "a:b", "über actor", "${x}", "- x", "#", "", "x/rank:3"])
ACTORS = st.lists(
    st.tuples(
        st.integers(0, 2),  # node
        st.sets(st.integers(0, 3), min_size=1, max_size=4),
        NAMES,
        st.sampled_from(["", "04", "my job"]),
        st.sampled_from([None, 0.1, 0.25, 0.3333, 1.0]),
        st.sampled_from([None, 0, 1, 2, 5]),
    ),
    max_size=14,
)


@given(ACTORS)
def test_the_text_resolves_to_the_same_picture(
    actors: list[tuple[int, set[int], str, str, float | None, int | None]],
) -> None:
    claims: dict[tuple[int, int], list[Claim]] = {}
    for number, (node, devices, name, job, reserved, rank) in enumerate(actors):
        for index in devices:
            component = None if rank is None else name or "c"
            one = Claim(str(number), name, number, component, rank, job or None, reserved, reserved is None)
            claims.setdefault((node, index), []).append(one)
    nodes = (tuple(device(index, *claims.get((node, index), ())) for index in range(4)) for node in range(3))
    picture = picture_of(seen(*nodes))
    plan = opened(picture)
    # What is opened is the picture, rank by rank; and the same as what its values say.
    assert {number: sorted(held) for number, held in seats(plan).items()} == {
        number: sorted(held) for number, held in seats_of(picture).items()
    }
    assert seats(make_plan(picture.config(), topology_source="file")) == seats(plan)
    # The picture is what was seen: on each GPU as many processes, with the shares they have reserved.
    assert {number: len(held) for number, held in seats_of(picture).items()} == {
        4 * node + index: len(held) for (node, index), held in claims.items()
    }
    if not picture.notes and all(entry[4] is not None for entry in actors):
        for (node, index), held in claims.items():
            occupants = plan.devices_of(node)[index].occupants
            assert Counter(one.share for one in occupants) == Counter(one.reserved for one in held)

"""Rows of the tables: who is there, and what each rank holds in all."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from placetui.cli.commands.cluster.top import TextStyle, lines
from placetui.frameworks.planner import resolve
from placetui.observe.model import Claim, DeviceSample, NodeSample, Observation, ProcessSample, RankState
from placetui.observe.rows import TableRows, rows_of
from placetui.observe.simulation import Simulation, SimulationOptions, layout_of
from placetui.placement.plan import Plan
from placetui.placement.topology import Node

GIB = 1 << 30


def seen(*devices: DeviceSample, job: str = "", **ranks: tuple[RankState, ...]) -> Observation:
    return Observation(1.0, "ray", (NodeSample(0, "gpu-0", devices=devices),), ranks, job)


def rank(pid: int, memory: int | None, component: str, number: int, job: str = "mine") -> ProcessSample:
    return ProcessSample(pid, memory, component, number, job, kind="rank", actor_id=f"{component}{number}")


def roster(observation: Observation) -> TableRows:
    found = TableRows()
    found.update(observation)
    return found


def plan() -> Plan:
    rules = {"actor": "0-3", "rollout": "0-1:0,2-3:1"}
    return resolve({"cluster": {"num_nodes": 1, "component_placement": rules}}, [Node(4)])


def test_a_task_is_foreign_whether_it_holds_something_or_not() -> None:
    claims = (
        Claim("e", "Ray task step", 7, job="02", reserved=0.5, task=True),
        Claim("f", "Ray task other", 8, task=True),
    )
    process = ProcessSample(7, GIB, job="02", actor="Ray task step", user="eve", actor_id="e")
    holding, waiting = roster(seen(DeviceSample(0, processes=(process,), claims=claims))).processes()
    assert (holding.who, holding.kind, holding.job, holding.user) == ("Ray task step", "foreign", "02", "eve")
    assert (waiting.who, waiting.kind, waiting.memory) == ("Ray task other", "foreign", 0)


def test_a_process_says_who_it_is() -> None:
    device = DeviceSample(
        0,
        memory_total=80 * GIB,
        processes=(
            rank(1, 8 * GIB, "actor", 3),
            ProcessSample(2, GIB, actor="Trainer", job="04", kind="actor", command="python -m child", actor_id="a"),
            ProcessSample(3, GIB, user="eve", command="python mine.py"),
            ProcessSample(0, GIB, kind="gone", note="nobody holds it"),
            ProcessSample(9, None, note="pid 9 is not visible here"),
        ),
    )
    rows = roster(seen(device)).processes()
    assert [row.who for row in rows] == [
        "actor:3",
        "Trainer",
        "python mine.py",
        "memory without a process",
        "not visible here",
    ]
    assert [row.kind for row in rows] == ["rank", "actor", "foreign", "gone", "foreign"]
    assert [row.note for row in rows] == ["", "python -m child", "", "nobody holds it", "pid 9 is not visible here"]
    assert rows[0].memory_percent == 10
    assert rows[4].memory_percent is None
    assert len({row.key for row in rows}) == len(rows)


def test_an_actor_that_holds_nothing_is_there_too() -> None:
    device = DeviceSample(
        0,
        processes=(rank(1, GIB, "actor", 0),),
        claims=(
            Claim("actor0", "mine/actor:0", 1, "actor", 0, "mine", 0.8, True),
            Claim("b", "Engine", 7, None, None, "04", 0.5),
            Claim("c", "Worker", 8, None, None, "05", None, True),
        ),
    )
    rows = roster(seen(device)).processes()
    assert [(row.who, row.pid, row.memory, row.kind) for row in rows] == [
        ("actor:0", 1, GIB, "rank"),
        ("Engine", 7, 0, "actor"),
        ("Worker", 8, 0, "actor"),
    ]
    assert rows[0].claim is device.claims[0]
    assert rows[1].note == "uses no memory yet: 0.5 of this GPU is reserved"
    assert rows[2].note == "uses no memory yet: its environment names this GPU"


def test_what_cannot_be_read_is_not_nothing() -> None:
    claim = Claim("a", "mine/actor:0", 1, "actor", 0, "mine", 0.8, True)
    unread = DeviceSample(0, error="there is no NVIDIA driver here", claims=(claim,))
    assert (unread.held_by(claim), unread.to_dict()["claims"][0]["held"]) == (None, None)
    (row,) = roster(seen(unread)).processes()
    assert (row.memory, row.note) == (None, "memory unknown: 0.8 of this GPU is reserved")
    text = "\n".join(lines(seen(unread), TextStyle()))
    assert "mine/actor:0  (reserved 0.8, memory unknown)" in text


def test_a_rank_holds_what_it_and_its_children_hold_on_all_its_devices() -> None:
    devices = (
        DeviceSample(0, processes=(rank(1, 8 * GIB, "rollout", 0), rank(2, GIB, "rollout", 0))),
        DeviceSample(1, processes=(rank(1, 4 * GIB, "rollout", 0), rank(5, None, "rollout", 1))),
        DeviceSample(2, processes=(rank(6, GIB, "rollout", 0, job="other"),)),
    )
    states = (RankState("rollout", 0, "alive", restarts=2, pid=1, node=0), RankState("rollout", 1, "dead", "oom"))
    found = {(row.job, row.who): row for row in roster(seen(*devices, job="mine", rollout=states)).ranks(plan())}
    first = found["mine", "rollout:0"]
    assert (first.memory, first.places, first.restarts) == (13 * GIB, ((0, 0), (0, 1)), 2)
    assert first.share == plan().components["rollout"].rank_share(0)
    unknown = found["mine", "rollout:1"]
    assert (unknown.memory, unknown.status, unknown.note) == (None, "dead", "oom")
    other = found["other", "rollout:0"]
    assert (other.memory, other.status) == (GIB, "seen")
    absent = found["mine", "actor:3"]
    assert (absent.memory, absent.status, absent.places, absent.node) == (0, "not seen", ((0, 3),), 0)


def test_without_a_plan_the_share_is_what_is_reserved() -> None:
    claim = Claim("a", "x/actor:0", 1, "actor", 0, "x", 0.25)
    (row,) = roster(seen(DeviceSample(0, claims=(claim,)))).ranks()
    assert (row.share, row.memory, row.node) == (0.25, 0, 0)


def test_only_nodes_that_changed_are_gone_through_again() -> None:
    simulation = Simulation(layout_of(plan()), SimulationOptions(rank_dies_every=None, node_stale_every=None))
    simulation.step(0.0)
    first = simulation.step(20.0)
    many = replace(first, nodes=tuple(replace(first.nodes[0], rank=rank) for rank in range(4)))
    found = roster(many)
    before = found.processes()
    changed = replace(many.nodes[2], cpu_percent=50.0)
    found.update(replace(many, nodes=(*many.nodes[:2], changed, many.nodes[3])))
    after = found.processes()
    assert before == [row._replace(node=many.nodes[row.node.rank]) for row in after]
    same = [old is new for old, new in zip(before, after, strict=True)]
    assert [row.node.rank for row, kept in zip(after, same, strict=True) if not kept] == [2] * (len(after) // 4)


@given(
    st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.integers(0, 9)), max_size=5), max_size=4)
)
def test_no_memory_is_lost_or_counted_twice(nodes: list[list[tuple[str, int, int]]]) -> None:
    samples = tuple(
        NodeSample(
            number,
            f"n{number}",
            devices=(DeviceSample(0, processes=tuple(rank(pid, m, c, r) for pid, (c, r, m) in enumerate(held))),),
        )
        for number, held in enumerate(nodes)
    )
    found = roster(Observation(1.0, "ray", samples))
    assert sum(row.memory or 0 for row in found.ranks()) == sum(row.memory or 0 for row in found.processes())
    even = [row for sample in samples for row in rows_of(sample) if (row.pid or 0) % 2 == 0]

    def is_even(row: object) -> bool:
        return (getattr(row, "pid", 0) or 0) % 2 == 0

    assert found.processes(is_even) == even
    assert found.processes(is_even) == even

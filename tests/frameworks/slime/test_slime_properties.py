from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from placetui.frameworks.slime.arguments import KNOWN_ARGUMENTS
from placetui.frameworks.slime.layout import read_layout
from placetui.frameworks.slime.plan import place
from placetui.placement.plan import Component
from placetui.placement.problems import Problems
from placetui.placement.topology import Node


def expected_slots(section: dict[str, Any], actor: int, rollout: int) -> tuple[int, int, int, int]:
    """Slots, offset, training ranks and rollout GPUs, as the table of slime's modes has them."""
    if section.get("debug_train_only") or section.get("load_debug_rollout_data"):
        return actor, 0, actor, 0
    if section.get("rollout_external"):
        return (actor, 0, 0, 0) if section.get("debug_rollout_only") else (actor, actor, actor, 0)
    if section.get("debug_rollout_only"):
        return rollout, 0, 0, rollout
    if section.get("colocate"):
        return max(actor, rollout), 0, actor, rollout
    return actor + rollout, actor, actor, rollout


@st.composite
def layouts(draw: st.DrawFn) -> tuple[dict[str, Any], list[int], tuple[int, int, int, int]]:
    """A section, the GPUs of the nodes, and what must come of it."""
    flags = ("colocate", "debug_train_only", "debug_rollout_only", "rollout_external", "use_critic")
    section: dict[str, Any] = {flag: True for flag in flags if draw(st.booleans())}
    if section.get("debug_train_only"):
        section.pop("debug_rollout_only", None)
    nodes, per_node = draw(st.integers(1, 4)), draw(st.integers(1, 9))
    node_size = draw(st.sampled_from([1, 2, 4, 8, 16]))
    engine = draw(st.sampled_from([size for size in (1, 2, 3, 4, 8, 16) if size <= node_size or size % node_size == 0]))
    rollout = engine * draw(st.integers(0, 5))
    section |= {
        "actor_num_nodes": nodes,
        "actor_num_gpus_per_node": per_node,
        "rollout_num_gpus": rollout,
        "rollout_num_gpus_per_engine": engine,
        "num_gpus_per_node": node_size,
    }
    gpus = draw(st.one_of(st.lists(st.integers(0, 16), max_size=8), st.just([node_size] * 200)))
    return section, gpus, expected_slots(section, nodes * per_node, rollout)


@given(layouts())
def test_any_layout_is_as_the_table_says(case: tuple[dict[str, Any], list[int], tuple[int, int, int, int]]) -> None:
    section, gpus, (slots, offset, training, rollout) = case
    problems = Problems()
    layout = read_layout(section, problems)
    assert layout is not None, problems
    assert (layout.slots, layout.rollout_offset) == (slots, offset)
    assert (layout.assumed_nodes - 1) * layout.num_gpus_per_node <= max(0, slots - 1)
    assert layout.assumed_nodes * layout.num_gpus_per_node >= slots

    components = place(layout, [Node(size) for size in gpus], problems)
    starts = [0, *accumulate(gpus)]

    def held(name: str) -> list[int]:
        """Slots of a component, by rank."""
        found = []
        for rank, one in enumerate(components[name].placements):
            assert one.rank == rank
            assert one.local_accelerator_rank == one.local_hardware_ranks[0]
            assert len(one.visible_accelerators) == gpus[one.cluster_node_rank]
            for gpu in one.local_hardware_ranks:
                assert 0 <= gpu < gpus[one.cluster_node_rank]
                found.append(starts[one.cluster_node_rank] + gpu)
        return found

    rules = {problem.rule for problem in problems}
    assert ("slime_not_enough_gpus" in rules) == (slots > sum(gpus))
    if "actor" in components:
        assert held("actor") == list(range(training))
    if "critic" in components:
        assert section["use_critic"]
        assert held("critic") == held("actor")
    if "rollout" in components:
        assert held("rollout") == list(range(offset, offset + rollout))
    elif layout.mode != "train_only":
        assert rules & {"slime_not_enough_gpus", "process_across_nodes"}
    if layout.mode == "separate" and {"actor", "rollout"} <= components.keys():
        assert set(held("actor")).isdisjoint(held("rollout"))
    for component in components.values():
        check_local_ranks(component)
    devices = Counter(slot for name in components for slot in held(name))
    assert set(devices) <= set(range(slots))


def check_local_ranks(component: Component) -> None:
    on_node = Counter(one.cluster_node_rank for one in component.placements)
    order = {node: index for index, node in enumerate(sorted(on_node))}
    seen: Counter[int] = Counter()
    for one in component.placements:
        assert one.local_world_size == on_node[one.cluster_node_rank]
        assert one.placement_node_rank == order[one.cluster_node_rank]
        assert one.local_rank == seen[one.cluster_node_rank]
        seen[one.cluster_node_rank] += 1


junk = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 40), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=5,
)
junk_keys: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(list(KNOWN_ARGUMENTS)),
    st.sampled_from(list(KNOWN_ARGUMENTS)).map(lambda name: name.replace("_", "-")),
    st.text(max_size=30),
    st.integers(),
    st.none(),
)


@given(st.dictionaries(junk_keys, junk, max_size=12), st.lists(st.integers(0, 9), max_size=4))
def test_junk_is_a_problem_and_never_an_exception(section: dict[Any, Any], gpus: list[int]) -> None:
    problems = Problems()
    layout = read_layout(section, problems)
    assert (layout is None) == problems.blocking
    if layout is not None:
        place(layout, [Node(size) for size in gpus], problems)
    for problem in problems:
        assert problem.path[0] == "slime"
        assert problem.message
        assert problem.hint
        problem.format()

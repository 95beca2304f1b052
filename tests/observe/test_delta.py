"""Differences between observations, and observations as JSON: properties over any two of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placetui.observe.codec import decode, decode_delta, encode, encode_delta
from placetui.observe.delta import NOTHING, CodecError, apply, changed_nodes, changes, parts
from placetui.observe.model import (
    BundleState,
    DeviceSample,
    GroupState,
    NodeSample,
    Observation,
    ProcessSample,
    RankState,
)

COMPONENTS = ("actor", "rollout", "reward")
numbers = st.integers(0, 2**48)
words = st.text(max_size=6)
errors = st.none() | words
percents = st.integers(0, 100)

processes = st.builds(
    ProcessSample,
    pid=numbers,
    memory=st.none() | numbers,
    component=st.none() | words,
    rank=st.none() | st.integers(0, 99),
    job=st.none() | words,
    actor=st.none() | words,
    kind=st.sampled_from(["rank", "actor", "foreign", "gone"]),
)
devices = st.builds(
    DeviceSample,
    index=st.integers(0, 16),
    uuid=st.none() | words,
    name=st.none() | words,
    memory_used=st.none() | numbers,
    memory_total=st.none() | numbers,
    utilization=st.none() | percents,
    temperature=st.none() | percents,
    power=st.none() | numbers,
    processes=st.lists(processes, max_size=2).map(tuple),
    error=errors,
)


def nodes(rank: int) -> st.SearchStrategy[NodeSample]:
    return st.builds(
        NodeSample,
        rank=st.just(rank),
        name=words,
        ip=words,
        age=st.floats(0, 1e6),
        stale=st.booleans(),
        error=errors,
        devices=st.lists(devices, max_size=2).map(tuple),
        cpu_percent=st.none() | st.floats(0, 100),
        memory_used=st.none() | numbers,
        memory_total=st.none() | numbers,
    )


def rank_states(component: str, size: int) -> st.SearchStrategy[tuple[RankState, ...]]:
    return st.tuples(
        *(
            st.builds(
                RankState,
                component=st.just(component),
                rank=st.just(rank),
                state=st.sampled_from(["pending", "starting", "alive", "restarting", "dead"]),
                reason=errors,
                restarts=st.integers(0, 9),
                pid=st.none() | numbers,
                node=st.none() | st.integers(0, 5),
            )
            for rank in range(size)
        )
    )


bundles = st.builds(BundleState, node=st.none() | st.integers(0, 5), gpus=st.floats(0, 8), cpus=st.floats(0, 8))
groups = st.builds(
    GroupState, id=words, name=words, state=st.sampled_from(["pending", "created"]), bundles=st.tuples(bundles)
)


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    seen = sorted(draw(st.sets(st.integers(0, 5), max_size=4)))
    sizes = draw(st.dictionaries(st.sampled_from(COMPONENTS), st.integers(0, 3)))
    return Observation(
        time=draw(st.floats(0, 2e9)),
        source=draw(st.sampled_from(["nvml", "ray", "replay", "simulated"])),
        nodes=tuple(draw(nodes(rank)) for rank in seen),
        ranks={component: draw(rank_states(component, size)) for component, size in sizes.items()},
        groups=tuple(draw(st.lists(groups, max_size=2))),
    )


@st.composite
def successions(draw: st.DrawFn) -> tuple[Observation, Observation]:
    """Two observations that have some of their nodes and components in common, as those of one cluster do."""
    old, new = draw(observations()), draw(observations())
    nodes = {node.rank: node for node in new.nodes} | {node.rank: node for node in old.nodes if draw(st.booleans())}
    ranks = dict(new.ranks) | {name: states for name, states in old.ranks.items() if draw(st.booleans())}
    found = old.groups if draw(st.booleans()) else new.groups
    return old, Observation(new.time, new.source, tuple(nodes[rank] for rank in sorted(nodes)), ranks, groups=found)


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


@settings(max_examples=40)
@given(successions())
def test_a_difference_leads_to_the_later_observation(pair: tuple[Observation, Observation]) -> None:
    old, new = pair
    assert apply(old, changes(old, new)) == new


@settings(max_examples=40)
@given(successions())
def test_only_what_changed_is_in_a_difference(pair: tuple[Observation, Observation]) -> None:
    old, new = pair
    delta = changes(old, new)
    assert {node.rank for node in delta.later.nodes} == {node.rank for node in new.nodes if old.node(node.rank) != node}
    assert set(delta.gone) == {node.rank for node in old.nodes} - {node.rank for node in new.nodes}
    assert set(delta.ranks) == {state for state in new.all_ranks if old.rank(state.component, state.rank) != state}


@settings(max_examples=40)
@given(successions())
def test_what_did_not_change_is_the_same_object(pair: tuple[Observation, Observation]) -> None:
    old, new = pair
    applied = apply(old, changes(old, new))
    for node in applied.nodes:
        known = old.node(node.rank)
        assert node is known or node != known
    assert (applied.ranks is old.ranks) == (list(new.ranks.items()) == list(old.ranks.items()))


@settings(max_examples=40)
@given(successions(), st.integers(1, 3))
def test_pieces_lead_to_the_same_end(pair: tuple[Observation, Observation], most: int) -> None:
    old, new = pair
    reached = old
    for piece in parts(changes(old, new), most):
        assert len(piece.later.nodes) <= most
        reached = apply(reached, piece)
    assert reached == new


@settings(max_examples=40)
@given(successions())
def test_changed_nodes_are_those_with_other_values_or_ranks(pair: tuple[Observation, Observation]) -> None:
    old, new = pair
    everywhere = {node.rank for one in pair for node in one.nodes}
    everywhere |= {state.node for one in pair for state in one.all_ranks if state.node is not None}

    def picture(one: Observation, node: int) -> object:
        return one.node(node), {state for state in one.all_ranks if state.node == node}

    expected = {node for node in everywhere if picture(old, node) != picture(new, node)}
    assert changed_nodes(old, new) == expected


@settings(max_examples=40)
@given(observations())
def test_an_observation_survives_json(observation: Observation) -> None:
    assert decode(through_json(encode(observation))) == observation


@settings(max_examples=40)
@given(successions())
def test_a_difference_survives_json(pair: tuple[Observation, Observation]) -> None:
    delta = changes(*pair)
    assert decode_delta(through_json(encode_delta(delta))) == delta


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=40)
@given(observations(), st.data())
def test_a_damaged_observation_is_refused_or_has_the_right_types(observation: Observation, data: st.DataObject) -> None:
    value = through_json(encode(observation))
    place = value
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], (dict, list)) or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(json_values)
    try:
        read = decode(value)
    except CodecError:
        return
    assert decode(through_json(encode(read))) == read
    assert all(type(node.stale) is bool for node in read.nodes)
    assert all(
        type(value) in (int, type(None))
        for node in read.nodes
        for device in node.devices
        for value in (device.index, device.memory_used, device.memory_total, device.utilization)
    )


@pytest.mark.parametrize("value", [None, [], 3, {}, {"schema": 1}, {"schema": True, "time": 0}])
def test_what_is_no_observation_is_refused(value: Any) -> None:
    with pytest.raises(CodecError):
        decode(value)


def test_a_later_schema_is_named() -> None:
    later = encode(NOTHING) | {"schema": 2}
    with pytest.raises(CodecError, match="schema 2"):
        decode(later)


def test_true_is_not_a_number() -> None:
    value = encode(Observation(1.0, "nvml", (NodeSample(0, "a", devices=(DeviceSample(0),)),)))
    value["nodes"][0][6][0][0] = True
    with pytest.raises(CodecError, match="DeviceSample"):
        decode(value)


def test_a_row_written_before_a_field_existed_is_read_with_its_default() -> None:
    value = encode(Observation(1.0, "nvml", (NodeSample(0, "a", cpu_percent=12.0),)))
    value["nodes"][0] = [0, "a"]
    assert decode(value).nodes == (NodeSample(0, "a"),)


@pytest.mark.parametrize(
    ("delta", "reason"),
    [
        ({"gone": [7]}, "node 7"),
        ({"world_sizes": {"actor": 1}}, "0 ranks where 1"),
        ({"world_sizes": {"actor": 3}, "ranks": [["actor", 2]]}, "gap"),
        ({"ranks": [["actor", 0]]}, "no size"),
    ],
)
def test_a_difference_that_does_not_fit_is_refused(delta: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        apply(NOTHING, decode_delta(encode(NOTHING) | delta))

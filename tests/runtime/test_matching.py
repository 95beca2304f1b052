"""Which node is which rank: RLinf's rules and slime's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placetui.frameworks.registry import framework
from placetui.runtime.errors import NotPossible
from placetui.runtime.gcs.model import RayNode
from placetui.runtime.launch.matching import match_by

RLINF, SLIME = framework("rlinf"), framework("slime")


def node(ip: str, gpus: int = 8, name: str = "", **labels: str) -> RayNode:
    return RayNode(name or ip, ip, resources={"GPU": gpus} if gpus else {}, labels=labels)


def addresses(nodes: tuple[RayNode, ...]) -> list[str]:
    return [one.ip for one in nodes]


def test_slime_orders_addresses_as_numbers_and_skips_nodes_without_gpus() -> None:
    nodes = [node("10.0.0.10"), node("10.0.0.2"), node("10.0.0.1", gpus=0)]
    assert addresses(match_by(SLIME, nodes).nodes) == ["10.0.0.2", "10.0.0.10"]


def test_slime_tells_nodes_of_one_address_apart_by_their_label() -> None:
    nodes = [node("10.0.0.1", name="a", RLINF_NODE_RANK="1"), node("10.0.0.1", name="b", RLINF_NODE_RANK="0")]
    assert [one.id for one in match_by(SLIME, nodes).nodes] == ["b", "a"]


def test_ranks_that_the_nodes_say_decide() -> None:
    nodes = [node("10.0.0.1"), node("10.0.0.2"), node("10.0.0.3")]
    match = match_by(RLINF, nodes, "10.0.0.1", {"10.0.0.1": "2", "10.0.0.2": " 0", "10.0.0.3": "1"})
    assert addresses(match.nodes) == ["10.0.0.2", "10.0.0.3", "10.0.0.1"]
    assert (match.by, match.warnings) == ("RLINF_NODE_RANK", ())


def test_one_node_is_rank_0_whatever_it_says() -> None:
    assert addresses(match_by(RLINF, [node("10.0.0.1")], "", {"10.0.0.1": "7"}).nodes) == ["10.0.0.1"]


@pytest.mark.parametrize(
    ("ranks", "says"),
    [
        (("0", None), "is set on 1 node and not on 10.0.0.2"),
        (("0", "0"), "must be 0 to 1, each once"),
        (("1", "2"), "must be 0 to 1, each once"),
        (("-1", "0"), "must be 0 to 1, each once"),
        (("0", "one"), "on 10.0.0.2 is `one`, not a whole number"),
    ],
)
def test_ranks_that_cannot_be_right(ranks: tuple[str | None, str | None], says: str) -> None:
    nodes = [node("10.0.0.1"), node("10.0.0.2")]
    with pytest.raises(NotPossible, match=says):
        match_by(RLINF, nodes, "", dict(zip(["10.0.0.1", "10.0.0.2"], ranks, strict=True)))


def test_without_ranks_addresses_are_text_and_the_driver_comes_first() -> None:
    nodes = [node("10.0.0.2"), node("10.0.0.1", gpus=0), node("10.0.0.10"), node("10.0.0.3")]
    match = match_by(RLINF, nodes, "10.0.0.3", {})
    assert addresses(match.nodes) == ["10.0.0.3", "10.0.0.10", "10.0.0.2", "10.0.0.1"]
    assert [text.partition(":")[0] for text in match.warnings] == ["node_order"]
    assert "numeric" in match.warnings[0]


def test_no_warning_where_text_and_numbers_agree() -> None:
    nodes = [node("10.0.0.2"), node("10.0.0.3"), node("10.0.0.1")]
    match = match_by(RLINF, nodes, "10.0.0.3", {})
    assert (addresses(match.nodes), match.warnings) == (["10.0.0.3", "10.0.0.1", "10.0.0.2"], ())


def test_node_groups_without_ranks_are_warned_of() -> None:
    match = match_by(RLINF, [node("10.0.0.1"), node("10.0.0.2")], "10.0.0.1", {}, node_groups=True)
    assert "refuses node_groups" in match.warnings[0]


@given(st.permutations(range(6)), st.booleans())
def test_the_order_in_which_ray_lists_nodes_does_not_matter(places: list[int], one_address: bool) -> None:
    all_nodes = [node("10.0.0.1" if one_address else f"10.0.0.{number}", name=f"n{number}") for number in range(6)]
    listed = [all_nodes[place] for place in places]
    assert match_by(SLIME, listed).nodes == match_by(SLIME, all_nodes).nodes
    assert match_by(RLINF, listed, "n3", {}).nodes == match_by(RLINF, all_nodes, "n3", {}).nodes

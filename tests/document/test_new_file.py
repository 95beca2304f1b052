"""A file from nothing is sound, or there is a reason why there is none."""

from __future__ import annotations

import pytest

from placetui.document import Document, plan_document
from placetui.document.new_file import Sizes, Style, new_file
from placetui.placement.edit_types import Refusal
from placetui.placement.layouts import Layout
from placetui.placement.plan import Plan


def devices(plan: Plan, name: str) -> set[tuple[int, int]]:
    placements = plan.components[name].placements
    return {(one.cluster_node_rank, index) for one in placements for index in one.local_hardware_ranks}


@pytest.mark.parametrize("style", ["rlinf", "slime"])
@pytest.mark.parametrize("layout", ["colocated", "disaggregated"])
@pytest.mark.parametrize("sizes", [Sizes(), Sizes(2, 8, 12, 4), Sizes(3, 4), Sizes(1, 2), Sizes(2, 8, None, 2)])
def test_a_new_file_is_sound(layout: Layout, style: Style, sizes: Sizes) -> None:
    text = new_file(layout, sizes, style)
    assert isinstance(text, str), text
    plan = plan_document(Document(text))
    assert not [problem for problem in plan.problems if problem.severity == "error"]
    total = sizes.nodes * sizes.gpus_per_node
    actor, rollout = devices(plan, "actor"), devices(plan, "rollout")
    assert actor | rollout == {(node, i) for node in range(sizes.nodes) for i in range(sizes.gpus_per_node)}
    assert (actor == rollout and len(actor) == total) if layout == "colocated" else not actor & rollout
    width = {len(one.local_hardware_ranks) for one in plan.components["rollout"].placements}
    assert width == {sizes.per_engine}


def test_a_new_file_that_cannot_be() -> None:
    for sizes in (Sizes(0), Sizes(1, 1), Sizes(1, 8, 8), Sizes(1, 8, 3, 2), Sizes(2, 3, 2, 2), Sizes(1, 8, 4, 0)):
        assert isinstance(new_file("disaggregated", sizes), Refusal), sizes

"""A file from nothing is sound, or there is a reason why there is none."""

from __future__ import annotations

import pytest

from placetui.document import Document, plan_document
from placetui.document.new_file import new_file
from placetui.frameworks.new_job import JobSize, Layout
from placetui.placement.edits import Refusal
from placetui.placement.plan import Plan


def devices(plan: Plan, name: str) -> set[tuple[int, int]]:
    placements = plan.components[name].placements
    return {(one.cluster_node_rank, index) for one in placements for index in one.local_hardware_ranks}


@pytest.mark.parametrize("style", ["rlinf", "slime", "miles"])
@pytest.mark.parametrize("layout", ["collocated", "disaggregated"])
@pytest.mark.parametrize(
    "sizes", [JobSize(), JobSize(2, 8, 12, 4), JobSize(3, 4), JobSize(1, 2), JobSize(2, 8, None, 2)]
)
def test_a_new_file_is_sound(layout: Layout, style: str, sizes: JobSize) -> None:
    text = new_file(layout, sizes, style)
    assert isinstance(text, str), text
    plan = plan_document(Document(text))
    assert plan.framework == style
    assert not [problem for problem in plan.problems if problem.severity == "error"]
    total = sizes.nodes * sizes.gpus_per_node
    actor, rollout = devices(plan, "actor"), devices(plan, "rollout")
    assert actor | rollout == {(node, i) for node in range(sizes.nodes) for i in range(sizes.gpus_per_node)}
    assert (actor == rollout and len(actor) == total) if layout == "collocated" else not actor & rollout
    width = {len(one.local_hardware_ranks) for one in plan.components["rollout"].placements}
    assert width == {sizes.per_engine}


def test_a_new_file_that_cannot_be() -> None:
    for sizes in (
        JobSize(0),
        JobSize(1, 1),
        JobSize(1, 8, 8),
        JobSize(1, 8, 3, 2),
        JobSize(2, 3, 2, 2),
        JobSize(1, 8, 4, 0),
    ):
        assert isinstance(new_file("disaggregated", sizes), Refusal), sizes

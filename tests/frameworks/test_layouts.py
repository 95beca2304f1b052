"""Components arranged otherwise, to try it out: the border between training and rollout is where it was asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from placetui.document import Document, PlanRequest, plan_document
from placetui.frameworks.new_job import Layout
from placetui.frameworks.registry import framework_of
from placetui.placement.plan import Plan
from placetui.placement.pools import pools_of
from tests.tui.conftest import SAMPLES


def arranged(sample: str, layout: Layout, training: int | None, **options: Any) -> Plan:
    document, request = Document.from_file(str(SAMPLES / f"{sample}.yaml")), PlanRequest(**options)
    plan = plan_document(document, request)
    arrange = framework_of(plan).arrange
    assert arrange is not None
    return plan_document(document, replace(request, overrides=tuple(arrange(plan, layout, training, document.config))))


@pytest.mark.parametrize(("training", "expected"), [(None, 8), (4, 4), (1, 1), (0, 1), (99, 15)])
def test_rlinf_files_are_divided_anywhere(training: int | None, expected: int) -> None:
    plan = arranged("collocated", "disaggregated", training)
    pools = pools_of(plan)
    assert (pools.training, pools.generation, pools.apart) == (expected, 16 - expected, True)
    assert not [one for one in plan.problems if one.severity == "error"]


def test_slime_files_are_divided_where_engines_fit() -> None:
    plan = arranged("slime-colocated", "disaggregated", 8)
    pools = pools_of(plan)
    assert (pools.training, pools.generation, pools.apart) == (8, 8, True)
    assert not [one for one in plan.problems if one.severity == "error"]


def test_a_critic_follows_the_actor_to_its_gpus() -> None:
    plan = arranged("slime-ppo-critic", "disaggregated", 4)
    assert {plan.components[name].world_size for name in ("actor", "critic")} == {4}


def test_the_border_means_nothing_to_a_collocated_layout() -> None:
    assert pools_of(arranged("collocated", "collocated", 4)).shared == 16

"""When a node that is sampled counts as stale."""

from __future__ import annotations

from typing import Any

import pytest

from placetui.observe.attribution import NodeFacts
from placetui.observe.model import NodeSample
from placetui.observe.ports import WatchOptions
from placetui.runtime.gcs.model import RayNode
from placetui.runtime.watch.observer import aged
from placetui.runtime.watch.samplers import GpuOrder, Reading, SampledNode, Samplers

NODE = NodeSample(0, "a")
READING = Reading(1, NODE, NodeFacts(), GpuOrder(8))
SOMETHING: Any = object()


def seat(**values: Any) -> SampledNode:
    return SampledNode(RayNode("a", "10.0.0.1"), **{"actor": SOMETHING, **values})


def look(one: SampledNode, now: float, period: float = 0.0) -> tuple[bool, float, str | None]:
    found = aged(NODE, one, now, period)
    return found.stale, found.age, found.error


def test_a_node_that_answers_is_fresh() -> None:
    assert look(seat(reading=READING, read_at=10.0), 10.3) == (False, 0.0, None)
    assert look(seat(reading=READING, read_at=10.0, call=SOMETHING, asked_at=11.0), 11.9) == (False, 0.0, None)


def test_the_second_answer_that_is_missed_makes_it_stale() -> None:
    late = seat(reading=READING, read_at=10.0, call=SOMETHING, asked_at=11.0)
    assert look(late, 12.2) == (True, 2.2, "its sampler has not answered for 1 s")
    # A large cluster is read less often.
    assert look(late, 12.2, period=4.0) == (False, 0.0, None)


def test_after_a_rest_old_values_are_no_alarm() -> None:
    assert look(seat(reading=READING, read_at=10.0, call=SOMETHING, asked_at=500.0), 500.3) == (False, 0.0, None)


def test_a_sampler_that_died_leaves_old_values_until_the_next_one_answers() -> None:
    died = seat(actor=None, reading=READING, read_at=10.0, problem="its sampler died")
    assert look(died, 11.0) == (False, 0.0, None)
    assert look(died, 12.0) == (True, 2.0, "its sampler died")
    died.actor, died.call, died.asked_at = SOMETHING, SOMETHING, 12.0
    assert look(died, 12.1) == (True, 2.1, "its sampler died")


def test_a_sampler_that_was_found_as_it_ended_is_no_problem_but_a_second_one_is() -> None:
    samplers, new = Samplers(), seat()
    samplers._lose(SOMETHING, new, "its sampler died")
    assert look(new, 1.0) == (False, 0.0, None)
    samplers._lose(SOMETHING, new, "its sampler died")
    assert look(new, 2.0) == (True, 0.0, "its sampler died")


def test_a_sampler_may_take_its_time_to_start() -> None:
    assert look(seat(made_at=10.0), 15.0) == (False, 0.0, None)
    assert look(seat(made_at=10.0), 31.0) == (True, 0.0, "its sampler has not answered for 21 s")
    assert (
        look(seat(actor=None, problem="no sampler can be started there"), 1.0)[2] == "no sampler can be started there"
    )


@pytest.mark.parametrize("options", [{"adress": "auto"}, {"nodes": "2"}, {"sample": 1}, {"nodes": True}])
def test_options_that_are_none_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="cannot be observed with"):
        WatchOptions.read(options)

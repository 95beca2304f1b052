"""Calls to all ranks of a group, on real actors: results by rank, failures by rank, and nobody waits for too long."""

from __future__ import annotations

import pickle
import time
from typing import TYPE_CHECKING, Any

import pytest

from placetui.runtime.errors import RankFailure
from placetui.runtime.jobs.group import GroupError, Pending

if TYPE_CHECKING:
    from tests.runtime.conftest import TestCluster

PROGRAM = """
import json, os, time
import ray
from placetui.runtime.errors import RankFailure
from placetui.runtime.jobs.group import RankGroup, GroupError

ray.init(address=os.environ["RAY_ADDRESS"], log_to_driver=False)

class Plain:
    def __init__(self, rank):
        self.rank = rank

    def add(self, number, more=0):
        return self.rank + number + more

    def odd(self):
        if self.rank % 2:
            raise ValueError("an odd rank\\nwith more to say")
        return self.rank

    def hang(self):
        if self.rank == 0:
            time.sleep(600)
        return self.rank

    def die(self):
        if self.rank == 2:
            os._exit(1)

class Shell(Plain):
    def call(self, method, *args, **kwargs):
        return getattr(self, method)(*args, **kwargs)

def start(made, number):
    return [ray.remote(num_cpus=0)(made).remote(rank) for rank in range(number)]

def told(function):
    begun = time.monotonic()
    try:
        return {"results": function()}
    except GroupError as problem:
        traceback = {rank: one.traceback for rank, one in problem.failures.items()}
        return {"message": str(problem), "failed": sorted(problem.failures), "waiting": problem.waiting,
                "good": problem.results, "traceback": traceback, "seconds": time.monotonic() - begun}

shells = RankGroup(start(Shell, 4), "actor")
plain = RankGroup([*start(Plain, 2), None], direct=True, gone={2: "node lost"})
found = {"world_size": shells.world_size, "handles": len(shells.handles)}
found["add"] = told(lambda: shells.call("add", 10, more=5))
found["odd"] = told(lambda: shells.call("odd"))
found["no method"] = told(lambda: shells.call("nonsense"))
found["plain"] = told(lambda: plain.call("add", 1))
found["no argument"] = told(lambda: shells.begin("add", open(os.devnull, "w")).wait(30))

pending = shells.begin("hang")
# The others have long answered when the time is up, however slow the machine.
found["hang"] = told(lambda: pending.wait(5))
found["came"] = sorted(rank for rank, _ in pending.as_completed(0))

class Enough(Exception):
    pass

def enough():
    raise Enough

try:
    for _ in pending.as_completed(check=enough):
        pass
except Enough:
    found["interrupted"] = pending.waiting

again = RankGroup(start(Shell, 3), "actor")
slow = again.begin("hang")
# Its rank 2 is the odd one.
both = RankGroup([again.handles[0], *start(Shell, 2)], "actor")
found["fast"] = told(lambda: both.begin("odd").wait(fail_fast=True))
ray.kill(again.handles[0])
found["killed"] = told(lambda: slow.wait(60))
found["died"] = told(lambda: RankGroup([None, None, *start(Shell, 3)[2:]], "actor").begin("die").wait(60))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(one_node: TestCluster) -> dict[str, Any]:
    return one_node.python(PROGRAM)


pytestmark = [pytest.mark.ray, pytest.mark.slow]


def test_results_come_by_rank(found: dict[str, Any]) -> None:
    assert (found["world_size"], found["handles"]) == (4, 4)
    assert found["add"] == {"results": [15, 16, 17, 18]}


def test_failed_ranks_are_named_with_how_they_failed(found: dict[str, Any]) -> None:
    odd = found["odd"]
    assert odd["message"] == "`actor.odd` failed on ranks 1 and 3 (ValueError: an odd rank)"
    assert (odd["failed"], odd["waiting"], odd["good"]) == ([1, 3], [], {"0": 0, "2": 2})
    assert "with more to say" in odd["traceback"]["1"][-1]


def test_a_method_that_does_not_exist(found: dict[str, Any]) -> None:
    assert found["no method"]["failed"] == [0, 1, 2, 3]
    assert "ranks 0, 1, 2 and 3 (AttributeError: " in found["no method"]["message"]
    assert "no attribute 'nonsense'" in found["no method"]["message"]


def test_an_argument_that_cannot_be_sent(found: dict[str, Any]) -> None:
    assert found["no argument"]["failed"] == [0, 1, 2, 3]
    assert "Cannot pickle files" in found["no argument"]["message"]


def test_actors_without_a_shell_and_ranks_that_are_gone(found: dict[str, Any]) -> None:
    assert found["plain"]["message"] == "`add` failed on rank 2 (node lost)"
    assert found["plain"]["good"] == {"0": 1, "1": 2}


def test_a_rank_that_hangs_is_named_and_the_others_are_heard(found: dict[str, Any]) -> None:
    assert found["hang"]["message"] == "`actor.hang`: rank 0 did not answer within 5 s"
    assert (found["hang"]["failed"], found["hang"]["waiting"]) == ([], [0])
    assert found["hang"]["good"] == {"1": 1, "2": 2, "3": 3}
    assert found["came"] == [1, 2, 3]


def test_waiting_can_be_interrupted(found: dict[str, Any]) -> None:
    assert found["interrupted"] == [0]


def test_the_first_failure_ends_the_waiting_when_asked(found: dict[str, Any]) -> None:
    fast = found["fast"]
    assert (fast["failed"], 0 in fast["waiting"]) == ([2], True)
    assert fast["message"].startswith("`actor.odd` failed on rank 2 (ValueError: an odd rank); rank")
    assert "not answered" in fast["message"]
    assert fast["seconds"] < 60  # rank 0 hangs for ten minutes


def test_a_process_that_dies_during_a_call(found: dict[str, Any]) -> None:
    assert found["killed"]["message"] == "`actor.hang` failed on rank 0 (the process died: it was killed by `ray.kill`)"
    died = found["died"]["message"]
    assert died.startswith("`actor.die` failed on ranks 0 and 1 (it is not there) and rank 2 (the process died: ")
    assert "common causes" not in died


class FakeRay:
    """Whose results are never there."""

    def wait(self, known: list[Any], *, num_returns: int, timeout: float) -> tuple[list[Any], list[Any]]:
        time.sleep(min(timeout, 0.01))
        return [], known


def test_many_ranks_are_not_all_named() -> None:
    with pytest.raises(GroupError) as raised:
        Pending(FakeRay(), "actor.save", list(range(20))).wait(0.02)
    assert str(raised.value) == "`actor.save`: ranks 0, 1, 2, 3, 4, 5 and 14 more did not answer within 0.02 s"
    assert raised.value.waiting == tuple(range(20))


def test_the_error_can_be_sent_elsewhere() -> None:
    error = GroupError("actor.save", {1: RankFailure("ValueError")}, [2], {0: "x"})
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.failures, again.waiting, again.results) == (
        "`actor.save` failed on rank 1 (ValueError); rank 2 has not answered",
        {1: RankFailure("ValueError")},
        (2,),
        {0: "x"},
    )

"""A head that does not answer now and then, or for a while: that is no reason to give up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from placetui.runtime.errors import ClusterLost, NotPossible, Silent, Unreachable
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.model import RayActor
from placetui.runtime.jobs.stop import stop
from placetui.runtime.policy import OUTAGE_VARIABLE, Policy
from tests.runtime.fake_head import FakeHead


def actor(**more: Any) -> RayActor:
    return RayActor(id="a", name="job/actor:0", namespace="placetui", **more)


def test_a_job_is_stopped_all_the_same() -> None:
    head = FakeHead(actor())
    head.every = 3
    assert stop(head, "job") == {"actors": 1, "groups": 0}
    assert head.living == []


@pytest.mark.parametrize("name", ["", "a/b", "-x"])
def test_what_cannot_be_a_name_ends_nothing(name: str) -> None:
    with pytest.raises(NotPossible, match="cannot be the name of a job"):
        stop(FakeHead(), name)


def head_that_answers(*answers: Any, outage: float = 5.0) -> Head:
    head = Head("127.0.0.1:1", Policy(poll=0.001, outage=outage))
    waiting = iter(answers)

    def answer(*_: str, **__: Any) -> Any:
        found = next(waiting)
        if isinstance(found, Exception):
            raise found
        return found

    head._call_once = answer  # type: ignore[method-assign]
    return head.outlast_outages()


@pytest.mark.parametrize("kind", [Unreachable, Silent])
def test_a_call_is_repeated_within_an_outage(kind: Callable[[str], Exception]) -> None:
    head = head_that_answers(kind("no"), kind("no"), None)
    assert head.get(b"n", b"k") is None


def test_a_call_is_given_up_after_an_outage() -> None:
    begun = time.monotonic()
    with pytest.raises(Unreachable):
        head_that_answers(*[Unreachable("no")] * 1000, outage=0.1).get(b"n", b"k")
    assert time.monotonic() - begun < 20


def test_what_is_wrong_for_good_is_said_at_once() -> None:
    with pytest.raises(ClusterLost, match="refuses"):
        head_that_answers(ClusterLost("refuses"), None).get(b"n", b"k")


def test_whoever_waits_for_a_head_can_be_interrupted() -> None:
    head = head_that_answers(*[Unreachable("no")] * 1000)

    def interrupt() -> None:
        raise KeyboardInterrupt

    head.outlast_outages(interrupt)
    with pytest.raises(KeyboardInterrupt):
        head.nodes()


def test_an_outage_may_last_as_long_as_ray_itself_waits() -> None:
    assert Policy.read({}).outage == 60
    assert Policy.read({OUTAGE_VARIABLE: "5"}).outage == 5
    assert Policy.read({OUTAGE_VARIABLE: "soon"}).outage == 60

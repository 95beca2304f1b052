"""A head that is so busy that it answers late, now and then: that is no reason to give up."""

from __future__ import annotations

from typing import Any

import pytest

from placetui.bridge.work import Work
from placetui.runtime import jobs
from placetui.runtime.errors import Refused, Silent
from placetui.runtime.model import RayActor
from placetui.runtime.waiting import Patience


class BusyHead:
    """Has one actor of a job, and every third answer comes too late."""

    def __init__(self) -> None:
        self.asked = 0
        self.left = [RayActor(id="a", name="job/actor:0", namespace="placetui", state="ALIVE")]
        self.deleted: list[bytes] = []

    def _answer(self, value: Any) -> Any:
        self.asked += 1
        if self.asked % 3 == 1:
            raise Silent("the head did not answer in time")
        return value

    def get(self, namespace: bytes, key: bytes) -> bytes | None:
        return None

    def living_actors(self) -> Any:
        return self._answer(tuple(self.left))

    def groups(self) -> Any:
        return ()

    def kill_actor(self, id: str) -> None:
        self._answer(None)
        self.left = []

    def delete_all(self, namespace: bytes, prefix: bytes) -> None:
        self.deleted.append(prefix)


def test_a_job_is_stopped_all_the_same() -> None:
    head = BusyHead()
    assert jobs.stop(head, "job") == {"actors": 1, "groups": 0}  # type: ignore[arg-type]
    assert head.deleted


@pytest.mark.parametrize("name", ["", "a/b", "-x"])
def test_what_cannot_be_a_name_ends_nothing(name: str) -> None:
    with pytest.raises(Refused, match="cannot be the name of a job"):
        jobs.stop(BusyHead(), name)  # type: ignore[arg-type]


def test_waiting_goes_on() -> None:
    answers = iter([Silent("late"), None, Silent("late"), "there"])

    def look() -> Any:
        answer = next(answers)
        if isinstance(answer, Silent):
            raise answer
        return answer

    def watch() -> None:
        raise Silent("late")

    assert Patience(Work(0, lambda kind, **body: None), 10.0, watch).until(look, lambda: "it") == "there"

"""What is stored about jobs, where others store at the same time."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from placetui.bridge.work import Work
from placetui.observe.model import RankState
from placetui.runtime.errors import ClusterError, ClusterLost, NotPossible
from placetui.runtime.gcs.client import Head
from placetui.runtime.gcs.model import RayActor, RayGroup, RayNode
from placetui.runtime.jobs import records
from placetui.runtime.jobs.logs import log_targets
from placetui.runtime.jobs.records import READY, RECORDS, Record
from placetui.runtime.jobs.state import JobStatus, find_all_jobs, find_job
from placetui.runtime.jobs.stop import stop, stop_any
from placetui.runtime.policy import Policy
from tests.runtime.fake_head import FakeHead

PLAN = {"schema": 1, "devices": [{"node": 0}] * 1000}


def launched(head: FakeHead, job: str = "job", **more: Any) -> Record:
    record = Record(job, "/f.yaml", 1.0, groups={"actor": 2}, plan=PLAN, ray_job="01", **more)
    records.create(head, record)
    records.set_ready(head, record)
    return replace(record, state=READY)


def ranks(job: str = "job", ray_job: str = "01") -> list[RayActor]:
    return [
        RayActor(f"{job}{rank}", f"{job}/actor:{rank}", namespace="placetui", job=ray_job, node="n")
        for rank in range(2)
    ]


def test_the_record_that_ps_reads_is_small() -> None:
    head = FakeHead()
    launched(head)
    assert len(head.values[RECORDS][b"job"]) < 500
    found = records.find(head, "job")
    assert found is not None
    assert found.plan == {}
    assert records.read_plan(head, found) == PLAN


def test_a_record_is_not_forgotten_that_belongs_to_a_new_job_meanwhile() -> None:
    head = FakeHead()
    old = launched(head)
    records.forget(head, old)
    new = launched(head)
    records.forget(head, old)
    assert records.find(head, "job") == replace(new, plan={})
    assert stop(head, "job", record=old) == {"actors": 0, "groups": 0}
    assert records.read_plan(head, new) == PLAN
    records.forget(head, new)
    assert [store for store in head.values.values() if store] == []


def test_nobody_else_removes_a_record_while_it_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    head = FakeHead()
    record = launched(head)
    head.put(records.LOCKS, record.key(), json.dumps(["somebody", 2**40]).encode(), overwrite=True)
    waits = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        assert records.find(head, "job") is not None
        if len(waits) == 3:
            head.delete(records.LOCKS, record.key())

    monkeypatch.setattr(time, "sleep", wait)
    records.forget(head, record)
    assert (len(waits), records.find(head, "job")) == (3, None)
    # One that was left behind by a process that died holds nobody up forever.
    record = launched(head)
    head.put(records.LOCKS, record.key(), json.dumps(["dead", 0.0]).encode(), overwrite=True)
    records.forget(head, record)
    assert records.find(head, "job") is None


def test_two_restarts_at_a_time_are_both_noted() -> None:
    head = FakeHead()
    record = launched(head)
    news = {("actor", rank): {"pid": 90 + rank, "actor_id": f"b{rank}"} for rank in range(2)}
    for (component, rank), one in news.items():
        records.note_restart(head, record, component, rank, one)
    assert records.restarts(head, record) == news


def test_a_name_is_taken_once_and_by_whom_repeats_himself() -> None:
    head = FakeHead()
    record = Record("job", "f", 1.0)
    records.create(head, record)
    records.create(head, record)  # the first answer was lost on the way
    with pytest.raises(NotPossible, match="there is a job `job` already"):
        records.create(head, Record("job", "f", 1.0))


class Status:
    """A reply with Ray's own status."""

    class status:  # noqa: N801
        code, message = 5, "IOError: the store is gone"


def test_an_error_of_the_store_is_not_read_as_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    head = Head("127.0.0.1:1")

    class Stub:
        def __init__(self, channel: Any) -> None:
            self.InternalKVGet = lambda request, timeout: Status

    monkeypatch.setattr(head._stubs, "InternalKVGcsServiceStub", Stub)
    with pytest.raises(ClusterLost, match="refuses InternalKVGet: IOError: the store is gone"):
        records.find(head, "job")


def test_ps_reads_the_ranks_of_its_jobs_and_nothing_else() -> None:
    head = FakeHead(*ranks(), *ranks("other", "02"))
    head.living += [RayActor(f"x{number}", f"noise-{number}", namespace="elsewhere", job="07") for number in range(500)]
    head.dead += [RayActor(f"d{number}", job="07", state="DEAD") for number in range(5000)]
    launched(head)
    head.calls = head.rows = 0
    found = find_all_jobs(head)
    assert [(job.record.job, job.state) for job in found] == [("job", "running"), ("other", "incomplete")]
    assert (head.calls, head.rows) == (6, 2)  # on a cluster, records are read in two calls


def test_a_placement_group_that_was_left_is_a_job_that_can_be_stopped() -> None:
    head = FakeHead()
    head.standing = [
        RayGroup("aa", "left", "placetui"),
        RayGroup("bb", "", "placetui"),
        RayGroup("cc", "hers", "verl"),
        RayGroup("dd", "gone", "placetui", state="REMOVED"),
    ]
    assert [(job.record.job, job.state) for job in find_all_jobs(head)] == [("left", "incomplete")]
    assert stop(head, "left") == {"actors": 0, "groups": 1}
    assert [one.id for one in head.standing] == ["bb", "cc", "dd"]


def test_one_job_is_found_in_few_calls() -> None:
    head = FakeHead(*ranks())
    head.dead += [RayActor(f"d{number}", job="07", state="DEAD") for number in range(5000)]
    launched(head)
    head.calls = head.rows = 0
    assert find_job(head, "job").state == "running"
    assert (head.calls, head.rows) == (4, 2)


def test_of_the_dead_those_of_the_job_say_why() -> None:
    head = FakeHead(*ranks()[:1])
    head.dead = [
        RayActor("job1", "job/actor:1", namespace="placetui", job="01", node="n", state="DEAD", reason="killed"),
        RayActor("old", "job/actor:0", namespace="placetui", job="00", node="n", state="DEAD", reason="long ago"),
    ]
    record = launched(head)
    assert find_job(head, "job").troubles == ["actor:1 dead: killed"]
    # Made again by another driver.
    head.living.append(RayActor("new", "job/actor:1", namespace="placetui", job="09", node="n"))
    records.note_restart(head, record, "actor", 1, {"actor_id": "new"})
    assert find_job(head, "job").state == "running"


def test_ranks_with_the_same_end_are_summed_up_and_what_happened_to_few_comes_first() -> None:
    killed = "killed by its driver"
    states = [RankState("actor", rank, "dead", killed if rank != 2 else "its process was killed") for rank in range(5)]
    states += [RankState("rollout", 0, "dead", killed), RankState("rollout", 1, "alive")]
    job = JobStatus(Record("job", None, 1.0, groups={"actor": 5, "rollout": 2}), tuple(states), "failed")
    assert job.troubles == [
        "actor:2 dead: its process was killed",
        "actor:0-1,3-4 and rollout:0 dead: killed by its driver",
    ]


def test_a_component_with_a_number_in_its_name_can_be_named() -> None:
    groups = {"teacher:7": 2, "teacher:math": 1, "actor": 8}
    states = tuple(RankState(name, rank, "alive") for name, size in groups.items() for rank in range(size))
    job = JobStatus(Record("job", None, 1.0, groups=groups), states, "running")

    def named(component: str, *ranks: int) -> list[str]:
        return [str(one) for one in log_targets(job, {"component": component, "ranks": list(ranks) or None})]

    assert named("teacher", 7) == ["teacher:7:0", "teacher:7:1"]
    assert named("teacher:7", 1) == ["teacher:7:1"]
    assert named("actor", 7) == ["actor:7"]
    with pytest.raises(NotPossible, match="no component `teacher`"):
        named("teacher", 0)


class StuckHead(FakeHead):
    """Kills nobody."""

    def kill_actor(self, actor: str, *, no_restart: bool = True) -> None:
        pass


@pytest.mark.parametrize("ends", [True, False])
def test_down_says_what_may_still_run_on_a_node_that_is_cut_off(ends: bool) -> None:
    head = (FakeHead if ends else StuckHead)(*ranks(), policy=Policy(poll=0.001, stop=0.05, silent=0.2))
    head.members = (RayNode("n", "127.0.0.1", resources={"GPU": 8}, port=1),)
    launched(head)
    if ends:
        found = stop_any(head, "job", Work(0, lambda kind, **body: None))
        assert found == {"actors": 2, "groups": 0, "silent": [{"node": "127.0.0.1", "ranks": ["actor:0", "actor:1"]}]}
        return
    sentence = "2 actors .* are still there .*; 127.0.0.1 does not answer: actor:0 and actor:1 may still run there"
    with pytest.raises(ClusterError, match=sentence):
        stop_any(head, "job", Work(0, lambda kind, **body: None))

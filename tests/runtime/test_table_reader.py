"""What a watch reads of the head's tables: few calls, no rows of the dead but those of its job, once."""

from __future__ import annotations

from dataclasses import replace

from placetui.runtime.gcs.model import SAMPLER_NAMESPACE, RayActor
from placetui.runtime.jobs import records
from placetui.runtime.jobs.records import READY, Record
from placetui.runtime.watch.table_reader import TableReader
from placetui.runtime.watch.view import Seen, rank_states
from tests.runtime.fake_head import FakeHead

SIZE = 16
TABLES = 4 + 3
"""Calls for actors, by the state they are in; and for nodes, placement groups and what is available."""


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Watched(FakeHead):
    """A cluster with one job of ours, another program, and a head that remembers thousands of dead actors."""

    def __init__(self) -> None:
        super().__init__(*[self.rank(number) for number in range(SIZE)])
        self.living += [
            RayActor(f"x{number}", f"noise-{number}", namespace="elsewhere", job="07") for number in range(40)
        ]
        self.dead += [
            RayActor(f"d{number}", f"old-{number}", namespace="elsewhere", job="07", state="DEAD")
            for number in range(5000)
        ]
        self.dead += [
            RayActor(f"e{number}", f"train/actor:{number}", namespace="placetui", job="02", state="DEAD")
            for number in range(SIZE)
        ]
        self.record = Record("train", "f.yaml", 1.0, groups={"actor": SIZE}, owner="ann@desk", ray_job="01")
        records.create(self, self.record)
        records.set_ready(self, self.record)

    def rank(self, number: int, state: str = "ALIVE") -> RayActor:
        return RayActor(
            f"a{number}", f"train/actor:{number}", namespace="placetui", job="01", node="n", state=state, pid=number
        )

    def kill(self, *numbers: int) -> None:
        names = {f"a{number}" for number in numbers}
        self.living = [one for one in self.living if one.id not in names]
        self.dead += [replace(self.rank(number, "DEAD"), reason="exit code 1") for number in numbers]

    def groups(self) -> tuple[()]:
        self._call("")
        return ()

    def available(self) -> dict[str, dict[str, float]]:
        self._call("")
        return {}


def watch() -> tuple[Watched, TableReader, Clock]:
    head, clock = Watched(), Clock()
    reader = TableReader("auto", "train", clock)
    reader.head = head
    return head, reader, clock


def read(head: Watched, reader: TableReader) -> tuple[int, int, Seen]:
    """Calls and rows of one reading, and what it gave."""
    head.calls = head.rows = 0
    seen = reader.read()
    return head.calls, head.rows, seen


def states(seen: Seen) -> list[str]:
    return [one.state for one in rank_states(seen).get("actor", ())]


def test_a_watch_reads_the_living_and_the_record_now_and_then() -> None:
    head, reader, clock = watch()
    calls, rows, seen = read(head, reader)
    assert (calls, rows) == (TABLES + 2, SIZE + 40)  # the record and the drivers
    assert states(seen) == ["alive"] * SIZE
    assert seen.record is not None
    assert seen.record.owner == "ann@desk"
    assert read(head, reader)[:2] == (TABLES, SIZE + 40)
    clock.now += 6.0
    assert read(head, reader)[0] == TABLES + 2


def test_the_drivers_are_read_again_when_one_comes_or_goes() -> None:
    head, reader, _ = watch()
    read(head, reader)
    head.living.append(RayActor("b0", "b", namespace="elsewhere", job="08"))
    assert read(head, reader)[0] == TABLES + 1
    assert read(head, reader)[0] == TABLES
    head.living.pop()
    assert read(head, reader)[0] == TABLES + 1


def test_a_job_of_the_same_name_and_other_components_is_not_followed() -> None:
    head, _, clock = watch()
    for components, followed in (({"actor"}, True), ({"actor", "env"}, True), ({"rollout"}, False)):
        reader = TableReader("auto", "train", clock, components=components)
        reader.head = head
        assert (read(head, reader)[2].record is not None) == followed


def test_the_dead_of_the_job_are_read_once_and_no_others() -> None:
    head, reader, clock = watch()
    read(head, reader)
    head.kill(3, 4)
    calls, rows, seen = read(head, reader)
    # The record, the dead of the job, and whether somebody restarted ranks.
    assert (calls, rows) == (TABLES + 3, SIZE - 2 + 40 + 2)
    assert [one.reason for one in rank_states(seen)["actor"] if one.state == "dead"] == ["exit code 1"] * 2
    clock.now += 1.0
    calls, rows, seen = read(head, reader)
    assert (calls, rows) == (TABLES + 1, SIZE - 2 + 40)
    assert states(seen).count("dead") == 2
    head.living.append(head.rank(3))
    assert states(read(head, reader)[2]).count("dead") == 1


def test_a_rank_that_the_head_has_forgotten_is_not_asked_for_again() -> None:
    head, reader, _ = watch()
    read(head, reader)
    head.living = [one for one in head.living if one.id != "a5"]
    assert states(read(head, reader)[2]).count("dead") == 1
    assert read(head, reader)[0] == TABLES + 1


def test_a_job_that_is_being_stopped_has_no_ranks_any_more() -> None:
    head, reader, _ = watch()
    assert states(read(head, reader)[2]) == ["alive"] * SIZE
    records.set_stopping(head, head.record)
    head.kill(0)
    _, rows, seen = read(head, reader)
    assert (seen.record, states(seen), rows) == (None, [], SIZE - 1 + 40)
    records.forget(head, head.record)
    assert read(head, reader)[2].record is None
    again = replace(head.record, uid="another", state=READY)
    records.create(head, again)
    assert read(head, reader)[2].record == replace(again, plan={})


def test_what_was_read_says_of_which_recognised_jobs_it_has_the_dead() -> None:
    head, reader, _ = watch()
    seen = read(head, reader)[2]
    assert seen.with_dead == set()
    reader.recognised = {"07"}
    again = read(head, reader)[2]
    assert again.with_dead == {"07"}
    assert seen.with_dead == set()
    assert sum(actor.state == "DEAD" for actor in again.tables.actors) == 5000


def test_samplers_that_are_starting_do_not_wait_for_resources() -> None:
    head, reader, _ = watch()
    head.living.append(RayActor("s", "2:n", namespace=SAMPLER_NAMESPACE, job="08", state="PENDING_CREATION"))
    assert read(head, reader)[2].waiting == ()

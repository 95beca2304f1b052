"""Processes in a container with numbers of its own, a real one: seen from outside, and from within."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from placetui.observe.attribution import ActorFact, attribute
from placetui.observe.model import Claim, ProcessSample
from placetui.runtime.watch.samplers import Reading
from tests.telemetry.container import UNSHARE, Surroundings, need_containers, surroundings
from tests.telemetry.standin import StandIn

GIB = 2**30
WORKER = "ray::Trainer.train"


@pytest.fixture
def outside(standin: StandIn) -> Iterator[Surroundings]:
    with surroundings(standin.environment) as one:
        yield one


@pytest.fixture
def inside(standin: StandIn) -> Iterator[Surroundings]:
    need_containers()
    with surroundings(standin.environment, UNSHARE) as one:
        yield one


def actor(pid: int, age: float = 0.0) -> ActorFact:
    """A rank that Ray knows by the number of its process in its own container."""
    created = time.time() - age
    return ActorFact(0, Claim("a" * 32, "ppo/actor:0", pid, "actor", 0, "ppo", group="ppo"), created=created)


def named(reading: Reading, *actors: ActorFact) -> dict[int, ProcessSample]:
    """By pid, who they are."""
    node = attribute(reading.node, reading.facts, actors)
    return {process.pid: process for device in node.devices for process in device.processes}


def test_from_outside_numbers_are_translated(standin: StandIn, outside: Surroundings, inside: Surroundings) -> None:
    number = inside.start(WORKER)
    pid = inside.number_outside(number)
    assert pid != number
    with surroundings(standin.environment, UNSHARE) as another:
        # The same number in the next container.
        twin = another.start("python serve.py")
        assert twin == number
        other = another.number_outside(twin)
        standin.configure(f"count = 2\n[gpu 0]\nproc = {pid} 5G\n[gpu 1]\nproc = {other} 3G\n")
        reading = outside.read(lambda one: {pid, other} <= set(one.facts.processes))
    assert reading.facts.complete
    assert [reading.facts.processes[one].inner_pid for one in (pid, other)] == [number, number]
    found = named(reading, actor(number))
    assert (found[pid].kind, found[pid].component, found[pid].memory) == ("rank", "actor", 5 * GIB)
    stranger = found[other]
    assert (stranger.kind, stranger.component) == ("foreign", None)
    assert (stranger.command or "").startswith("python serve.py")
    assert stranger.note == f"it may be ppo/actor:0, which has pid {number}; this is not confirmed"


def test_from_within_numbers_of_the_container_are_its_own(standin: StandIn, inside: Surroundings) -> None:
    number = inside.start(WORKER)
    # As newer drivers tell it: translated, and nobody from outside. What those hold is in the memory in use.
    standin.configure(f"count = 1\n[gpu 0]\nused = 9G\nproc = {number} 5G\n")
    reading = inside.read(lambda one: number in one.facts.processes)
    assert not reading.facts.complete
    found = named(reading, actor(number))
    assert (found[number].kind, found[number].rank) == ("rank", 0)
    assert "of a process of another container" in (found[0].note or "")
    # The number has been given out again since the actor came to life.
    late = named(reading, actor(number, age=60))
    assert (late[number].kind, late[number].component) == ("foreign", None)


def test_from_within_numbers_of_the_host_are_nobody_s(standin: StandIn, inside: Surroundings) -> None:
    number = inside.start(WORKER)
    pid = inside.number_outside(number)
    # As older drivers tell it: the worker under the host's number, and a process of the host's that happens to have
    # the number which the worker has here.
    standin.configure(f"count = 2\n[gpu 0]\nproc = {pid} 5G\n[gpu 1]\nproc = {number} 3G\n")
    reading = inside.read(lambda one: sum(len(device.processes) for device in one.node.devices) == 2)
    found = named(reading, actor(number))
    for one in (pid, number):
        assert (found[one].kind, found[one].component, found[one].actor) == ("foreign", None, None)
        assert (found[one].user, found[one].command) == (None, None)
        assert f"pid {one} is not visible here" in (found[one].note or "")
    # Once nobody from outside is listed any more, they are looked at again.
    standin.configure(f"count = 2\n[gpu 1]\nproc = {number} 5G\n")
    reading = inside.read(lambda one: number in one.facts.processes)
    assert named(reading, actor(number))[number].kind == "rank"


def test_a_number_that_was_given_out_again_is_another_process(standin: StandIn, inside: Surroundings) -> None:
    number = inside.start(WORKER)
    standin.configure(f"count = 1\n[gpu 0]\nproc = {number} 5G\n")
    reading = inside.read(lambda one: number in one.facts.processes)
    began = reading.facts.processes[number].started
    assert began is not None
    rank = actor(number, age=time.time() - began)
    assert named(reading, rank)[number].kind == "rank"
    inside.end(number)
    reading = inside.read(lambda one: number not in one.facts.processes)
    # It ended between NVML's list and /proc.
    assert named(reading, rank)[number].kind == "foreign"
    assert "not visible here" in (named(reading, rank)[number].note or "")
    inside.start_as(number, "python somebody_else.py")
    reading = inside.read(lambda one: number in one.facts.processes)
    assert (reading.facts.processes[number].command or "").startswith("python somebody_else.py")
    # Ray's row is as old as it was; the process is younger.
    other = named(reading, actor(number, age=60))[number]
    assert (other.kind, other.component) == ("foreign", None)
    assert (other.command or "").startswith("python somebody_else.py")

"""Who is on which GPU: pids are confirmed, children follow their ancestors, and nothing is guessed."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from placetui.observe.attribution import ActorFact, Attribution, NodeFacts, ProcessFact, attribute
from placetui.observe.codec import decode, encode
from placetui.observe.model import Claim, DeviceSample, NodeSample, Observation, ProcessSample

GIB = 2**30
WORKER = ProcessFact(500, started=1000.0, parent=400, leader=500, user="ml", command="ray::Worker.train")
RAYLET = ProcessFact(400, started=900.0, parent=1, leader=400, user="ml", command="raylet --all")
OURS = Claim("a" * 32, "job/actor:3", 500, "actor", 3, "job", group="job")
RANK = ActorFact(0, OURS, reserved={0: 0.8}, created=1002.0)


def facts(*processes: ProcessFact, complete: bool = True) -> NodeFacts:
    return NodeFacts({one.pid: one for one in processes}, complete)


def node(*pids: int, used: int | None = None, index: int = 0) -> NodeSample:
    held = tuple(ProcessSample(pid, GIB) for pid in pids)
    used = len(pids) * GIB if used is None else used
    device = DeviceSample(index, "GPU-0", "H100", used, 80 * GIB, processes=held)
    return NodeSample(0, "node0", devices=(device,))


def only(sample: NodeSample) -> ProcessSample:
    (process,) = sample.devices[0].processes
    return process


def test_a_rank_is_named_with_its_component_and_job() -> None:
    process = only(attribute(node(500), facts(WORKER, RAYLET), [RANK]))
    assert (process.kind, process.component, process.rank, process.job) == ("rank", "actor", 3, "job")
    assert (process.actor, process.actor_id, process.memory) == ("job/actor:3", OURS.actor_id, GIB)


def test_any_other_ray_program_is_named_by_actor_class_namespace_and_job() -> None:
    engine = Claim("b" * 32, "Engine", 500, job="02000000", class_name="Engine", namespace="verl")
    other = ActorFact(0, engine, created=1002.0)
    seen = attribute(node(500), facts(WORKER), [other])
    process, (claim,) = only(seen), seen.devices[0].claims
    assert (process.kind, process.actor, process.job, process.component) == ("actor", "Engine", "02000000", None)
    # It uses no accounting: it holds what is neither reserved nor claimed.
    assert (claim.class_name, claim.namespace, claim.reserved, claim.claimed) == ("Engine", "verl", None, False)
    assert seen.devices[0].held_by(claim) == GIB


def test_children_belong_to_their_ancestor() -> None:
    child = ProcessFact(501, 1010.0, 500, 500, "ml", "python -m engine")
    grandchild = ProcessFact(502, 1011.0, 501, 502, "ml", "EngineCore")
    seen = attribute(node(501, 502), facts(WORKER, child, grandchild), [RANK])
    assert [one.rank for one in seen.devices[0].processes] == [3, 3]
    assert [one.command for one in seen.devices[0].processes] == ["python -m engine", "EngineCore"]
    assert [seen.devices[0].held_by(claim) for claim in seen.devices[0].claims] == [2 * GIB]


def test_a_child_whose_parent_is_gone_is_found_by_its_process_group() -> None:
    child = ProcessFact(502, 1011.0, 1, 500, "ml", "EngineCore")
    assert only(attribute(node(502), facts(WORKER, child), [RANK])).rank == 3


def test_an_orphan_with_a_session_of_its_own_is_foreign() -> None:
    orphan = ProcessFact(502, 1011.0, 1, 502, "ml", "EngineCore")
    process = only(attribute(node(502), facts(WORKER, orphan), [RANK]))
    assert (process.kind, process.user, process.command) == ("foreign", "ml", "EngineCore")


def test_a_number_that_was_given_out_again_is_not_the_actor() -> None:
    reused = replace(WORKER, started=5000.0, command="python train.py")
    assert only(attribute(node(500), facts(reused), [RANK])).kind == "foreign"
    exact = replace(RANK, began=1000.4)
    assert only(attribute(node(500), facts(WORKER), [exact])).kind == "rank"
    assert only(attribute(node(500), facts(replace(WORKER, started=990.0)), [exact])).kind == "foreign"


def test_a_parent_that_is_younger_than_its_child_is_a_stranger() -> None:
    child = ProcessFact(501, 600.0, 500, 501, "ml", "python")
    assert only(attribute(node(501), facts(WORKER, child), [RANK])).kind == "foreign"


def test_a_number_alone_is_not_believed() -> None:
    bare = ProcessFact(500, command="python")
    process = only(attribute(node(500), facts(bare), [RANK]))
    assert process.kind == "foreign"
    assert process.note == "it may be job/actor:3, which has pid 500; this is not confirmed"
    titled = ProcessFact(500, command="ray::Worker.train")
    assert only(attribute(node(500), facts(titled), [RANK])).kind == "rank"


def test_parents_in_a_circle_end() -> None:
    one, two = ProcessFact(1, parent=2), ProcessFact(2, parent=1)
    assert only(attribute(node(1), facts(one, two), [RANK])).kind == "foreign"


def test_memory_without_a_process_is_gone() -> None:
    process = only(attribute(node(777), facts(WORKER), [RANK]))
    assert (process.kind, process.memory) == ("gone", GIB)


def test_memory_that_nobody_holds_is_shown_from_a_gib_on() -> None:
    seen = attribute(node(500, used=5 * GIB), facts(WORKER), [RANK])
    held, unseen = seen.devices[0].processes
    assert (held.rank, unseen.pid, unseen.kind, unseen.memory) == (3, 0, "gone", 4 * GIB)
    assert len(attribute(node(500, used=2 * GIB), facts(WORKER), [RANK]).devices[0].processes) == 1


def test_in_a_container_what_is_not_visible_is_not_called_gone() -> None:
    process = only(attribute(node(777), facts(WORKER, complete=False), [replace(RANK, claim=replace(OURS, pid=777))]))
    assert (process.kind, process.component) == ("foreign", None)
    assert process.note is not None
    assert "pid 777 is not visible here" in process.note


def test_numbers_within_a_container_are_translated_and_confirmed() -> None:
    inside = ProcessFact(30132, 1000.0, 1, 30132, "ml", "ray::Worker.train", inner_pid=2)
    within = replace(RANK, claim=replace(OURS, pid=2))
    assert only(attribute(node(30132), facts(inside), [within])).rank == 3
    # Every container has a process 2.
    other = replace(inside, command="python")
    assert only(attribute(node(30132), facts(other), [within])).kind == "foreign"
    assert only(attribute(node(30132), facts(other), [replace(within, began=1000.0)])).rank == 3


def test_an_actor_that_holds_nothing_yet_is_there() -> None:
    seen = attribute(node(), facts(), [replace(RANK, claimed=(0, 1))])
    (claim,) = seen.devices[0].claims
    assert (claim.actor, claim.reserved, claim.claimed, seen.devices[0].held_by(claim)) == ("job/actor:3", 0.8, True, 0)


def test_a_stranger_in_our_group_is_told() -> None:
    stranger = replace(RANK, claim=Claim("c", "helper", 500, job="job", group="job", class_name="helper"))
    process = only(attribute(node(500), facts(WORKER), [stranger]))
    assert (process.kind, process.group, process.actor) == ("actor", "job", "helper")


TASK = ActorFact(
    0, Claim("e" * 56, "Ray task train_step", 500, job="02000000", task=True), reserved={0: 0.5}, began=1000.0
)


def test_a_task_is_foreign_and_has_a_name_a_job_and_a_part() -> None:
    worker = replace(WORKER, command="ray::train_step")
    child = ProcessFact(501, 1010.0, 500, 500, "ml", "python -m engine")
    seen = attribute(node(500, 501), facts(worker, child), [TASK])
    own, other = seen.devices[0].processes
    assert (own.kind, own.actor, own.job, own.user) == ("foreign", "Ray task train_step", "02000000", "ml")
    assert (own.command, own.component, own.note) == (None, None, None)
    assert (other.kind, other.actor, other.command) == ("foreign", "Ray task train_step", "python -m engine")
    (claim,) = seen.devices[0].claims
    assert (claim.actor, claim.reserved, claim.task) == ("Ray task train_step", 0.5, True)
    assert seen.devices[0].held_by(claim) == 2 * GIB
    observation = Observation(1.0, "ray", (seen,))
    assert decode(encode(observation)) == observation
    # The worker has ended, and its number belongs to another process.
    later = attribute(node(500), facts(replace(worker, started=1100.0, command="python")), [TASK])
    assert only(later).actor is None


def test_claims_and_notes_go_through_json() -> None:
    seen = attribute(node(500, 777, used=9 * GIB), facts(WORKER), [replace(RANK, claimed=(0,))])
    observation = Observation(1.0, "ray", (seen,), job="job")
    assert decode(encode(observation)) == observation


def test_what_did_not_change_stays_the_same_object() -> None:
    attribution = Attribution()
    actors = [RANK]
    here = facts(WORKER)
    first = Observation(1.0, "ray", (node(500), replace(node(), rank=1)))
    one = attribution.apply(first, {0: here}, actors)
    two = attribution.apply(replace(first, time=2.0), {0: facts(WORKER)}, [RANK])
    assert all(before is after for before, after in zip(one.nodes, two.nodes, strict=True))
    three = attribution.apply(replace(first, time=3.0), {0: facts()}, actors)
    assert only(three.nodes[0]).kind == "gone"
    assert three.nodes[1] is one.nodes[1]


pids = st.integers(1, 6)
times = st.none() | st.floats(0, 100)
claims = st.builds(Claim, st.uuids().map(str), st.just("worker"), pids)


@given(
    st.lists(st.builds(ProcessFact, pids, times, pids, pids, inner_pid=st.none() | pids), max_size=6),
    st.lists(st.builds(ActorFact, st.just(0), claims, created=times, began=times), max_size=4),
    st.lists(pids, max_size=4),
)
def test_whatever_is_known_memory_and_pids_are_kept(
    processes: list[ProcessFact], actors: list[ActorFact], held: list[int]
) -> None:
    before = node(*held)
    after = attribute(before, facts(*processes), actors)
    assert [(one.pid, one.memory) for one in after.devices[0].processes] == [(pid, GIB) for pid in held]
    claimed = {claim.actor_id for claim in after.devices[0].claims}
    for process in after.devices[0].processes:
        assert (process.kind == "actor") == (process.actor_id is not None)
        assert process.actor_id is None or process.actor_id in claimed

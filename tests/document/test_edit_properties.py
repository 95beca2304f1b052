"""Whatever the file and whatever the edit: it does what was asked for and nothing else, or is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from hypothesis import event, given, settings
from hypothesis import strategies as st

from placetui.document import Document, PlanRequest, plan_document
from placetui.document.edit import Edited, attempt, write
from placetui.document.splice import apply, apply_all, inverse
from placetui.frameworks.registry import framework_of
from placetui.placement.edits import (
    Add,
    Assign,
    Join,
    Move,
    Operation,
    PutOnGroup,
    Refusal,
    Remove,
    Rename,
    Resize,
    SetMode,
    SetRule,
    SetShare,
    SetValue,
    Spread,
    Swap,
    Unassign,
)
from placetui.placement.plan import Device, Plan
from placetui.placement.topology import Node

SAMPLES = sorted((Path(__file__).parents[2] / "sample_configs").glob("[!b]*.yaml"))


def devices(plan: Plan, name: str) -> set[tuple[int, int]]:
    component = plan.components[name]
    return {
        (one.cluster_node_rank, index) for one in component.placements for index in one.local_hardware_ranks or [-1]
    }


def seats(plan: Plan, name: str) -> list[tuple[int, list[int]]]:
    return [(one.cluster_node_rank, one.local_hardware_ranks) for one in plan.components[name].placements]


HEADS = [
    "# a comment\n",
    "defaults: {x: &shared [1, 2], y: *shared}\n",
    "%YAML 1.1\n---\n",
    "long:\n" + "  - é: 😀\n" * 40,
]
TAILS = ["", "\n", "\n# the end\n", "\nother:\n  deep: {a: [1, 'x: y']}\n", "\nplacetui: {shares: {actor: 0.5}}\n"]
LAYOUTS = [
    "  component_placement:\n    actor: {0} # a\n\n    # about rollout\n    rollout: {1}\n    env: {2}",
    "  component_placement: {{actor: '{0}', rollout: \"{1}\", env: {{placement: '{2}'}}}} # flow",
    '  component_placement:\n      "actor" : "{0}" #\ttab\t\n      rollout: &r\n'
    "        placement: '{1}' # r\n      env : {2}",
    "  component_placement:\n    actor: &x {0}\n    rollout,env: *x # {1} {2}",
    "  component_placement:\n    actor,rollout,env: >-\n      {0}\n    # {1} {2}",
    "  component_placement:\n    <<: {{actor: '{0}', env: '{2}'}}\n    rollout: {1}",
    "  component_placement:\n    rollout:\n      node_group: g # {0}\n      placement: all\n"
    "    actor: {1}\n    ? env\n    : {2}",
]
RULES = st.sampled_from(["0-3", "all", "0", "0-1,3", "0-3:0-7", "0-3:0-1", "4-5:0,6", "0-1:0,2-3", "2:0-2,3", "4-7"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    layout = draw(st.sampled_from(LAYOUTS)).format(draw(RULES), draw(RULES), draw(RULES))
    group = "  node_groups:\n  - {label: g, node_ranks: 0-1}\n"
    text = (
        f"{draw(st.sampled_from(HEADS))}cluster:\n  num_nodes: 3 # nodes\n{group}{layout}{draw(st.sampled_from(TAILS))}"
    )
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return ("\ufeff" if draw(st.booleans()) else "") + text


SPOTS = st.lists(st.builds(Device, st.integers(0, 2), st.integers(0, 3), st.just("gpu")), min_size=1, max_size=4).map(
    tuple
)
NAMES = st.sampled_from(["actor", "rollout", "env"])
OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    st.builds(Assign, NAMES, SPOTS),
    st.builds(Unassign, NAMES, SPOTS),
    st.builds(Move, NAMES, st.integers(-5, 5), st.sampled_from(["device", "node"]), st.none() | SPOTS),
    st.builds(Swap, NAMES, NAMES),
    st.builds(Resize, NAMES, st.integers(-6, 6)),
    st.builds(Spread, NAMES, st.integers(1, 3)),
    st.builds(lambda name, width: Spread(name, 1, width), NAMES, st.integers(1, 4)),
    st.builds(PutOnGroup, NAMES, st.sampled_from([("g",), ("node",), ("cluster",), ("g", "g")])),
    st.builds(Add, st.sampled_from(["critic", "on", "7", "a: b", "#x", "é", "- a", "{", "010", "x y"]), SPOTS),
    st.builds(Rename, NAMES, st.sampled_from(["critic", "on", "7", "a: b", "#x", "null", "'q"])),
    st.builds(Remove, NAMES),
    st.builds(Join, NAMES, NAMES),
    st.builds(SetShare, NAMES, st.sampled_from([0.25, 1.0, 0.0001, None])),
    st.builds(SetMode, st.sampled_from(["component", "hybrid", None])),
)
REQUEST = PlanRequest(nodes=(Node(4), Node(4), Node(4)))


@settings(max_examples=400)
@given(texts(), st.lists(OPERATIONS, min_size=1, max_size=4))
def test_any_edit_of_any_file(text: str, operations: list[Operation]) -> None:
    document = Document(text)
    plan = plan_document(document, REQUEST)
    for operation in operations:
        before = document.text
        found = attempt(document, plan, operation, REQUEST)
        assert document.text == before
        event(f"{type(operation).__name__} {type(found).__name__}")
        if isinstance(found, Refusal):
            assert found.reason
            assert not found.reason.endswith(".")
            continue
        after = found.document.text
        check_splices(before, found)
        fresh = Document(after, bom=document.bom)
        assert fresh.config == found.document.config
        again = plan_document(fresh, REQUEST)
        assert again.components == found.plan.components
        check_rest(document, fresh)
        check_others(plan, again, operation)
        check_meaning(plan, again, operation)
        assert ("\r\n" in after) == ("\r\n" in before)
        assert "\n" not in after.replace("\r\n", "") or "\r\n" not in before
        document, plan = fresh, again


def check_splices(before: str, found: Edited) -> None:
    """The splices lead to the new text, and their inverses back."""
    text = before
    back = []
    for splice in found.splices:
        back.append(inverse(text, splice))
        text = apply(text, splice)
    assert text == found.document.text
    assert apply_all(text, reversed(back)) == before


def check_rest(before: Document, after: Document) -> None:
    """All that is not placement means the same as before, also to PyYAML itself."""
    rest = []
    for document in (before, after):
        loaded: dict[str, Any] = yaml.safe_load(document.text)
        assert isinstance(loaded, dict)
        loaded["cluster"].pop("component_placement", None)
        loaded.pop("placetui", None)
        rest.append(loaded)
    assert rest[0] == rest[1]
    for comment in ("# a comment", "# the end", "# nodes", "# about rollout"):
        assert (comment in before.text) == (comment in after.text)


def check_others(before: Plan, after: Plan, operation: Operation) -> None:
    """Nobody else moves."""
    touched = {getattr(operation, field, None) for field in ("component", "name", "one", "other")}
    for name in set(before.components) - touched:
        assert seats(after, name) == seats(before, name)


def check_meaning(before: Plan, after: Plan, operation: Operation) -> None:
    """What an operation asks for, said once more in other words."""
    if isinstance(operation, Assign | Unassign):
        chosen = {(spot.node, spot.index) for spot in operation.devices}
        was, now = devices(before, operation.component), devices(after, operation.component)
        on_nodes = {index for _, index in was} == {-1}
        chosen = {(node, -1) for node, _ in chosen} if on_nodes else chosen
        assert now == (was | chosen if isinstance(operation, Assign) else was - chosen)
    elif isinstance(operation, Resize):
        was, now = devices(before, operation.component), devices(after, operation.component)
        assert len(now) - len(was) == operation.by
        assert was < now or now < was
    elif isinstance(operation, Move) and operation.devices is None:
        was, now = devices(before, operation.component), devices(after, operation.component)
        if operation.unit == "node":
            assert now == {(node + operation.by, index) for node, index in was}
        elif min(index for _, index in was) >= 0:
            assert {4 * node + index for node, index in now} == {4 * node + index + operation.by for node, index in was}
        assert len(seats(after, operation.component)) == len(seats(before, operation.component))
    elif isinstance(operation, Swap):
        assert seats(after, operation.one) == seats(before, operation.other)
        assert seats(after, operation.other) == seats(before, operation.one)
    elif isinstance(operation, Spread):
        assert devices(after, operation.component) == devices(before, operation.component)
        each = len(seats(after, operation.component)) / len(devices(after, operation.component))
        assert each == operation.processes_per_device / operation.devices_per_process
    elif isinstance(operation, Rename):
        assert seats(after, operation.name) == seats(before, operation.component)
        assert operation.component not in after.components
    elif isinstance(operation, Remove):
        assert operation.component not in after.components
    elif isinstance(operation, Join):
        assert seats(after, operation.component) == seats(before, operation.into)
    elif isinstance(operation, Add):
        assert devices(after, operation.component) == {(spot.node, spot.index) for spot in operation.devices}
    elif isinstance(operation, SetShare) and operation.share is not None:
        assert after.components[operation.component].share == operation.share
    elif isinstance(operation, SetMode):
        assert after.mode == (operation.mode or "hybrid")


@settings(max_examples=150)
@given(st.sampled_from(SAMPLES), st.data())
def test_any_edit_of_the_samples(path: Path, data: st.DataObject) -> None:
    text = path.read_text(encoding="utf-8")
    document = Document(text)
    plan = plan_document(document)
    names = st.sampled_from(sorted(plan.components))
    spots = st.lists(
        st.builds(Device, st.integers(0, len(plan.nodes) - 1), st.integers(0, 7), st.just("gpu")),
        min_size=1,
        max_size=9,
    ).map(tuple)
    operation = data.draw(
        st.one_of(
            st.builds(Assign, names, spots),
            st.builds(Unassign, names, spots),
            st.builds(Move, names, st.sampled_from([-8, -1, 1, 8]), st.sampled_from(["device", "node"])),
            st.builds(Resize, names, st.integers(-16, 16)),
            st.builds(Spread, names, st.integers(1, 4)),
            st.builds(lambda name, width: Spread(name, 1, width), names, st.sampled_from([2, 4, 8])),
            st.builds(Swap, names, names),
            st.builds(Remove, names),
            st.builds(Rename, names, st.just("other")),
            st.builds(SetShare, names, st.just(0.1)),
        )
    )
    found = attempt(document, plan, operation)
    event(f"{type(operation).__name__} {type(found).__name__}")
    if isinstance(found, Edited):
        check_splices(text, found)
        if isinstance(operation, Assign | Unassign | Resize | Remove | SetShare):
            check_meaning(plan, found.plan, operation)
        lines = found.document.text.splitlines()
        kept = [line for line in text.splitlines() if line in lines]
        assert len(text.splitlines()) - len(kept) <= 8
        others = [name for name in document.config if name not in ("placetui", *framework_of(plan).sections)]
        assert all(found.document.config[name] == document.config[name] for name in others)
        assert [line for line in lines if line.lstrip().startswith("#")] == [
            line for line in text.splitlines() if line.lstrip().startswith("#")
        ]


@settings(max_examples=200)
@given(texts(), st.sampled_from(["actor", "rollout", "env"]), st.text("0123456789-:,al ${}#'\"&*!|>%@`", max_size=12))
def test_any_text_as_a_rule_is_read_back(text: str, name: str, rule: str) -> None:
    """In the rule editor every keystroke is written, sound or not; YAML must give back what was typed."""
    draft = write(Document(text), [SetRule(name, rule)])
    if isinstance(draft, Refusal):
        assert "merge key" in draft.reason or "used elsewhere" in draft.reason, (draft, text)
        return
    components = Document(draft.document.text).config["cluster"]["component_placement"]
    value = next(value for key, value in components.items() if name in [one.strip() for one in key.split(",")])
    assert str(value["placement"] if isinstance(value, dict) else value) == rule


@given(st.text(max_size=20), st.sampled_from(["a800", "on", "7"]))
def test_any_name_and_value_is_read_back_or_refused(name: str, value: str) -> None:
    document = Document("cluster: {component_placement: {a: 0}}\nplacetui:\n  mode: hybrid # m\n")
    draft = write(document, [SetValue(("placetui", "mode"), value), Rename("a", name)])
    if not isinstance(draft, Refusal):
        assert list(draft.document.config["cluster"]["component_placement"]) == [name]
        assert draft.document.config["placetui"] == {"mode": value if value != "7" else 7}

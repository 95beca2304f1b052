"""Edits through the real document: what is asked for happens, nothing else does, and what cannot be is refused."""

from __future__ import annotations

import pytest
import yaml

from placetui.document import Document, PlanRequest, plan_document
from placetui.document.edit import Edited, attempt, write
from placetui.document.splice import apply_all
from placetui.placement.edits import (
    Add,
    AddRule,
    Arrange,
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
    Spread,
    Swap,
    Unassign,
    WriteRule,
)
from placetui.placement.plan import Device
from placetui.placement.topology import Node


def gpu(node: int, *indices: int) -> tuple[Device, ...]:
    return tuple(Device(node, index, "gpu") for index in indices)


def edited(text: str, operation: Operation, request: PlanRequest | None = None) -> Edited:
    document = Document(text)
    found = attempt(document, plan_document(document, request or PlanRequest()), operation, request or PlanRequest())
    assert isinstance(found, Edited), found
    assert apply_all(document.text, found.splices) == found.document.text
    return found


def refused(text: str, operation: Operation) -> Refusal:
    document = Document(text)
    before = document.text
    found = attempt(document, plan_document(document), operation)
    assert isinstance(found, Refusal), found
    assert document.text == before
    return found


def file(components: str, more: str = "", nodes: int = 2, gpus: int = 8) -> str:
    body = "".join(f"    {line}\n" for line in components.splitlines())
    topology = f"placetui:\n  topology: {{nodes: {nodes}, gpus_per_node: {gpus}}}\n"
    return f"cluster:\n  num_nodes: {nodes}\n  component_placement:\n{body}{more}{topology}"


def components_of(text: str) -> str:
    """The lines below `component_placement`, without their indentation."""
    lines = text.partition("component_placement:\n")[2].splitlines()
    end = next(index for index, line in enumerate([*lines, "x"]) if line[:4].strip())
    return "\n".join(line[4:] for line in lines[:end])


@pytest.mark.parametrize(
    ("before", "operation", "after"),
    [
        ("actor: 0-7 # all of it\nrollout: all", Move("actor", 1, "node"), "actor: 8-15 # all of it\nrollout: all"),
        ("actor: 0-7\nrollout: 0-7", Assign("rollout", gpu(1, 0, 1)), "actor: 0-7\nrollout: 0-9"),
        ("actor: '0-7'", Assign("actor", gpu(1, 0, 2)), "actor: '0-8,10'"),
        ('actor: "0-7"  # c', Unassign("actor", gpu(0, 3)), 'actor: "0-2,4-7"  # c'),
        ("actor: 10", WriteRule("actor", "10:0"), 'actor: "10:0"'),
        ("actor: 10", Spread("actor", processes_per_device=6), "actor: 10:0-5"),
        ("actor: 1-10", Resize("actor", -9), "actor: 1"),
        ("actor: 0-7", Spread("actor", devices_per_process=4), "actor: 0-7:0-1"),
        ("actor: 0-3:0-7", Resize("actor", 4), "actor: 0-7:0-15"),
        ("actor: 0-7:0-1", Resize("actor", -4), "actor: 0-3:0"),
        ("actor: 0-7\nrollout: 8-15", Swap("actor", "rollout"), "actor: 8-15\nrollout: 0-7"),
        ("actor,rollout: 0-7 # both", Resize("rollout", -4), "actor: 0-7 # both\nrollout: 0-3"),
        ("'actor, rollout , env': 0-7", Resize("rollout", -4), "'actor, env': 0-7\nrollout: 0-3"),
        ("actor,rollout: 0-7\nenv: 0", Remove("actor"), "rollout: 0-7\nenv: 0"),
        ("actor: 0-7 # a\nrollout: 0-7 # r\nenv: 0", Remove("rollout"), "actor: 0-7 # a\nenv: 0"),
        ("actor: 0-7", Add("on", gpu(0, 0, 1)), 'actor: 0-7\n"on": 0-1'),
        ("actor: 0-7", Rename("actor", "trainer"), "trainer: 0-7"),
        ("actor: 0-7\nrollout: 8-15 # r", Join("rollout", "actor"), "actor,rollout: 0-7"),
        ("actor:\n  placement: 0-7 # p", Resize("actor", -1), "actor:\n  placement: 0-6 # p"),
        ("actor: &a 0-7", Resize("actor", -1), "actor: &a 0-6"),
        ("actor: !!str 0-7", Resize("actor", -1), "actor: !!str 0-6"),
        ("actor: !!int 3", Resize("actor", 1), "actor: 3-4"),
        ("actor: &a 0-7\nenv: *a", Resize("env", -1), "actor: &a 0-7\nenv: 0-6"),
        ("actor: &a 0-7\nenv: *a", Resize("actor", -1), "actor: 0-6\nenv: &a 0-7"),
        ("actor: &a 0-7 # a\nenv: *a\nx: *a", Remove("actor"), "env: &a 0-7\nx: *a"),
        ("actor: |-\n  0-7\nenv: 0", Resize("actor", -1), "actor: 0-6\nenv: 0"),
        ("actor: >- # c\n  0-7\nenv: 0", Resize("actor", -1), "actor: 0-6 # c\nenv: 0"),
        ("actor: 0-3,\n  5-6\nenv: 0", Resize("actor", -1), "actor: 0-3,5\nenv: 0"),
        ("actor: 0-7 #\ttab\t", Resize("actor", -1), "actor: 0-6 #\ttab\t"),
        ("? actor\n: 0-7", Resize("actor", -1), "? actor\n: 0-6"),
        ("actor: 0-7", PutOnGroup("actor", ("node",)), "actor: {node_group: node, placement: all}"),
    ],
)
def test_a_rule_is_rewritten_in_place(before: str, operation: Operation, after: str) -> None:
    assert components_of(edited(file(before), operation).document.text) == after


@pytest.mark.parametrize(
    ("components", "operation", "reason"),
    [
        ("actor: 0-7", Resize("actor", 9), "room for 8 devices more"),
        ("actor: 0-7", Move("actor", -1), "there is no device -1"),
        ("actor: 0-7", Move("actor", -1, "node"), "there is no node 1 before node0"),
        ("actor: 0-7", Resize("actor", -8), "this would remove all of `actor`"),
        ("actor: 0-7", Assign("actor", gpu(0, 0)), "already there"),
        ("actor: 0-3", Unassign("actor", gpu(1, 0)), "is not there"),
        ("actor: 0-7:0-3", Unassign("actor", gpu(0, 0)), "rank 0 of `actor` is on devices 0-1 together"),
        ("actor: 0-7:0-3", Assign("actor", gpu(1, 0)), "cannot be divided into processes of 2"),
        ("actor: 0-7:0-1", Move("actor", 1), "would be on node0 and node1"),
        ("actor: 0-3", Move("actor", 2, devices=gpu(0, 0)), "ranks would be out of order"),
        ("actor: 0-5", Spread("actor", devices_per_process=4), "cannot be divided into processes of 4"),
        ("actor: 0-1", Arrange("actor", (gpu(0, 1), gpu(0, 0))), "ranks would be out of order"),
        ("actor: 0-1", Arrange("actor", (gpu(0, 0, 2),)), "are not adjacent"),
        ("actor: 0-1", Arrange("actor", ((*gpu(0, 7), *gpu(1, 0)),)), "would be on node0 and node1"),
        ("actor: ${x}\nx: 0", Resize("actor", 1), "the rule of `actor` is computed (`${x}`)"),
        ("actor: 0-99", Resize("actor", 1), "could not be placed"),
        ("actor: 0-7", Resize("critic", 1), "no component `critic`"),
        ("actor: 0-7", Rename("actor", "a,b"), "cannot be the name"),
        ("actor: 0-7\nenv: 0", Rename("actor", "env"), "already a component"),
        ("actor,env: 0-7", Swap("actor", "env"), "share one rule"),
        ("actor: 0-7", PutOnGroup("actor", ("a800",)), "no node group `a800`"),
        ("actor: 0-7", WriteRule("actor", "0-99"), "device 99"),
        ("actor: 0-7", SetShare("actor", 1.5), "1.5 is not a share"),
        ("actor: 0-7", SetMode("best"), "no mode `best`"),
        ("actor: &a {placement: 0-7}\nenv: *a", Resize("actor", -1), "also used as `*a`"),
        ("<<: {actor: 0-7}", Remove("actor"), "merge key"),
        ("<<: {actor: 0-7}\nactor: 0-3", Remove("actor"), "a merge key would supply `actor` again"),
        ("<<: {actor: 0-7}\nactor: 0-3", Rename("actor", "env"), "a merge key would supply `actor` again"),
        ("actor: &a {placement: 0-7}\nenv: *a", Remove("actor"), "also used as `*a`"),
        ("actor: 0-7\nenv: [", Resize("actor", -1), "the file has errors"),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_reason(components: str, operation: Operation, reason: str) -> None:
    assert reason in refused(file(components), operation).reason


def test_a_merged_component_gets_an_entry_of_its_own() -> None:
    text = "base: &base {actor: 0-7, env: 0}\n" + file("<<: *base\nrollout: 0")
    after = edited(text, Resize("actor", -1)).document.text
    assert after == text.replace("rollout: 0\n", "rollout: 0\n    actor: 0-6\n")


def test_all_stays_out_of_files_whose_topology_is_assumed() -> None:
    text = "cluster:\n  num_nodes: 1\n  component_placement: {actor: 0-6}\n"
    assert "{actor: 0-7}" in edited(text, Resize("actor", 1)).document.text
    assert "{actor: all}" in edited(text, Resize("actor", 1), PlanRequest(nodes=(Node(8),))).document.text


def test_commas_are_quoted_between_braces() -> None:
    text = "cluster: {num_nodes: 1, component_placement: {actor: 0-7, env: 0}}\n"
    assert 'actor: "0-2,4-7", env' in edited(text, Unassign("actor", gpu(0, 3))).document.text


def test_what_is_tried_out_hides_an_edit() -> None:
    document = Document(file("actor: 0-7"))
    request = PlanRequest(overrides=((("cluster", "component_placement", "actor"), "0"),))
    found = attempt(document, plan_document(document, request), Resize("actor", 1), request)
    assert isinstance(found, Refusal)
    assert "--set" in found.hint


def test_a_rule_that_refers_to_the_edited_one_must_not_follow() -> None:
    text = file("actor: 0-7\nrollout: ${cluster.component_placement.actor}")
    assert refused(text, Resize("actor", -1)).reason == "`rollout` would also move"


def test_a_section_goes_before_the_end_of_the_document() -> None:
    text = "---\ncluster:\n  num_nodes: 1\n  component_placement: {actor: 0-7}\n...\n"
    after = edited(text, SetShare("actor", 0.5)).document.text
    assert after == text.replace("...", "placetui:\n  shares: {actor: 0.5}\n...")


def test_lines_end_like_their_neighbours() -> None:
    text = "a: 1\r\ncluster:\n  num_nodes: 1\n  component_placement:\n    actor: 0-7\nb: 1\r\n"
    after = edited(text, Add("env", gpu(0, 0))).document.text
    assert after == text.replace("0-7\n", "0-7\n    env: 0\n")
    after = edited(text, SetMode("component")).document.text
    assert after == text + "\r\nplacetui:\r\n  mode: component\r\n"


def test_a_long_file_is_edited_in_one_section() -> None:
    more = "".join(f"s{number}:\n" + "  - {a: 1, b: 'x'} # c\n" * 100 for number in range(40))
    for text in (more + file("actor,env: 0-7"), file("actor,env: 0-7", more)):
        found = edited(text, Resize("env", -4))
        assert found.document.text == text.replace("actor,env: 0-7\n", "actor: 0-7\n    env: 0-3\n")
        shared = edited(found.document.text, SetShare("env", 0.5)).document
        assert shared.text == found.document.text.replace("node: 8}\n", "node: 8}\n  shares: {env: 0.5}\n")
        assert dict(shared.config) == dict(Document(shared.text).config)


MODEL_PARALLEL = """\
actor: {model: {tensor_model_parallel_size: 1}}
rollout: {tensor_parallel_size: 2}
runner: {task_type: reasoning}
"""


def test_model_parallel_components_stay_one_range() -> None:
    text = file("actor,reward: 0-3\nrollout: 4-15", MODEL_PARALLEL)
    assert "gaps" in refused(text, Unassign("rollout", gpu(0, 6))).reason
    assert "onto others of its own" in refused(text, Move("rollout", 1, "node", gpu(0, 4))).reason
    assert "rollout.tensor" in refused(text, Resize("rollout", -11)).hint
    assert "`rollout:`" in refused(text, Spread("rollout", devices_per_process=4)).reason
    assert "rollout: 4-13" in edited(text, Resize("rollout", -2)).document.text


def test_from_collocated_to_disaggregated_step_by_step() -> None:
    """On the way neither mode holds; that is shown, and the next step solves it."""
    halfway = edited(file("actor,rollout,reward: all", MODEL_PARALLEL), Unassign("rollout", gpu(0, *range(8))))
    assert [problem.rule for problem in halfway.problems] == ["mp_neither_mode"]
    nearly = edited(halfway.document.text, Resize("actor", -8))
    assert not nearly.problems
    assert nearly.plan.placement_mode == "disaggregated"
    assert components_of(nearly.document.text) == "reward: all\nactor: 0-7\nrollout: 8-15"


def test_shares_and_mode_go_into_a_section_of_our_own() -> None:
    text = "cluster:\n  num_nodes: 1\n  component_placement: {actor: 0-7}\n# the end"
    shared = edited(text, SetShare("actor", 0.5)).document.text
    assert shared == text + "\n\nplacetui:\n  shares: {actor: 0.5}"
    both = edited(shared, SetMode("component")).document.text
    assert both == shared + "\n  mode: component"
    without = edited(both, SetShare("actor", None)).document.text
    assert without == text + "\n\nplacetui:\n  mode: component"
    assert edited(without, SetMode(None)).document.text.rstrip() == text


@pytest.mark.parametrize(
    ("section", "old", "new", "after"),
    [
        ("", "actor", "learner", {"train": ["learner"]}),
        ("", "rollout", "critic", {"train": ["actor"]}),
        ("", "rollout", "engine", None),
        ("placetui: {train: [actor]}\n", "actor", "learner", {"train": ["learner"]}),
        ("placetui: {train: [rollout]}\n", "rollout", "critic", {"train": ["critic"]}),
        ("placetui: {train: 'critic, actor'}\n", "actor", "learner", {"train": "critic,learner"}),
    ],
)
def test_a_renamed_component_stays_training_or_not(
    section: str, old: str, new: str, after: dict[str, object] | None
) -> None:
    text = f"cluster: {{num_nodes: 1, component_placement: {{actor: 0-7, rollout: 0-7}}}}\n{section}"
    shares = {name: one.share for name, one in plan_document(Document(text)).components.items()}
    found = edited(text, Rename(old, new))
    assert found.document.config.get("placetui") == after
    assert {name: one.share for name, one in found.plan.components.items()} == {
        new if name == old else name: share for name, share in shares.items()
    }


def test_renaming_and_removing_reach_our_own_section() -> None:
    more = "placetui:\n  shares: {actor: 0.5, env: 0.2}\n  train: [actor]\n  memory:\n    actor: 0.9 # m\n"
    text = "cluster:\n  num_nodes: 1\n  component_placement:\n    actor: 0-7\n    env: 0-7\n" + more
    assert edited(text, Rename("actor", "trainer")).document.text == text.replace("actor", "trainer")
    removed = edited(text, Remove("actor")).document.text
    assert yaml.safe_load(removed)["placetui"] == {"shares": {"env": 0.2}, "train": ["actor"]}


@pytest.mark.parametrize(
    ("before", "name", "after"),
    [
        ("component_placement: {}", "env", "component_placement: {env: 0-1}"),
        ("component_placement:", "env", "component_placement:\n    env: 0-1"),
        ("component_placement: # none yet", "env", "component_placement: # none yet\n    env: 0-1"),
        ("component_placement: ~", "env", "component_placement: {env: 0-1}"),
        ("component_placement: {a: 0, }", "env", "component_placement: {a: 0, env: 0-1, }"),
        ("component_placement: {\n    a: 0 # c\n  }", "env", "component_placement: {\n    a: 0, env: 0-1 # c\n  }"),
        (
            "component_placement:\n     a: |-\n       0",
            "e:f",
            "component_placement:\n     a: |-\n       0\n     e:f: 0-1",
        ),
        ("component_placement: {a: 0}", "e,f", 'component_placement: {a: 0, "e,f": 0-1}'),
    ],
)
def test_new_entries_fit_in(before: str, name: str, after: str) -> None:
    for newline in ("\n", "\r\n"):
        for end in ("", "\nother: [1]\n"):
            text = f"cluster:\n  num_nodes: 1\n  {before}{end}".replace("\n", newline)
            draft = write(Document(text), [AddRule(name, "0-1", ("cluster",))])
            assert not isinstance(draft, Refusal), (draft, text)
            assert draft.document.text == f"cluster:\n  num_nodes: 1\n  {after}{end}".replace("\n", newline)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{a: 0, b: 1, c: 2}", "{a: 0, c: 2}"),
        ("{a: 0, b: 1}", "{a: 0}"),
        ("{b: 1}", "{}"),
        ("\n    b: 1 # c", " {}"),
        ("\n    # about b\n    b: 1 # c\n    c: 2", "\n    # about b\n    c: 2"),
        ("\n    c: 2\n    b:\n      placement: 1\n      # inside", "\n    c: 2\n      # inside"),
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\nother: 1\n"])
def test_removing_takes_the_entry_and_nothing_else(before: str, after: str, end: str) -> None:
    text = f"cluster:\n  component_placement: {before}{end}".replace(": \n", ":\n")
    draft = write(Document(text), [Remove("b")])
    assert not isinstance(draft, Refusal), draft
    expected = f"cluster:\n  component_placement: {after}{end}".replace(": \n", ":\n").replace(":  {}", ": {}")
    assert draft.document.text == expected


def test_an_empty_value_is_filled() -> None:
    for before, after in [("a:", "a: 0-1"), ("a: # c", "a: 0-1 # c"), ("a: &x", "a: &x 0-1"), ("a: ''", "a: '0-1'")]:
        text = f"cluster:\n  component_placement:\n    {before}\n    b: 1\n"
        draft = write(Document(text), [SetRule("a", "0-1")])
        assert not isinstance(draft, Refusal), (draft, before)
        assert draft.document.text == text.replace(before, after)


def test_who_refers_to_a_value_keeps_it_wherever_it_stands() -> None:
    for old, kept in [("0-7", "0-7"), ("", ""), ("0,2", '"0,2"'), ("!!str 3", "!!str 3"), ("7 # c", "7")]:
        text = f"cluster:\n  component_placement:\n    a: &x {old}\nother: {{b: *x, c: [*x]}}\n"
        draft = write(Document(text), [SetRule("a", "0-1")])
        assert not isinstance(draft, Refusal), draft
        assert yaml.safe_load(draft.document.text)["other"] == yaml.safe_load(text)["other"]
        assert f"other: {{b: &x {kept}".rstrip() in draft.document.text
        assert draft.document.config["cluster"]["component_placement"] == {"a": "0-1"}


def test_slime_is_edited_through_its_arguments() -> None:
    text = "slime:\n  actor-num-nodes: 2 # two\n  colocate: true\nplacetui: {topology: {nodes: 2}}\n"
    one = edited(text, Resize("actor", -8)).document.text
    assert one == text.replace("2 # two", "1 # two").replace("true\n", "true\n  rollout-num-gpus: 16\n")
    two = edited(one, Unassign("rollout", gpu(1, *range(8)))).document.text
    assert two == one.replace("gpus: 16", "gpus: 8")
    three = edited(two, Move("rollout", 1, "node"))
    assert three.document.text == two.replace("true", "false")
    assert {one.cluster_node_rank for one in three.plan.components["rollout"].placements} == {1}
    four = edited(three.document.text, Spread("rollout", devices_per_process=4)).document.text
    assert "rollout-num-gpus-per-engine: 4\n" in four
    assert "engines of 4" in refused(four, Resize("rollout", -2)).reason
    assert "begins at the first GPU" in refused(four, Move("rollout", -1)).reason
    assert "actor, critic and rollout" in refused(four, Add("env", gpu(0, 0))).reason
    assert "use-critic: true" in edited(four, Add("critic", gpu(0, 0))).document.text

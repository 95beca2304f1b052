"""From a text to a plan: problems in their places, overrides, descriptions of a cluster, and any text at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placetui.document import Document, DocumentError, PlanRequest, plan_document
from placetui.document.options import parse_override, read_cluster_option
from placetui.placement.plan import Plan
from placetui.placement.topology import Node

HEAD = "cluster:\n  num_nodes: 1\n  component_placement:\n"


def plan_of(text: str, *overrides: str, mode: str | None = None, nodes: tuple[Node, ...] | None = None) -> Plan:
    request = PlanRequest(nodes=nodes, mode=mode, overrides=tuple(map(parse_override, overrides)))
    return plan_document(Document(text, "conf.yaml"), request)


def places(plan: Plan) -> list[tuple[str, int | None, int | None]]:
    return [(problem.rule, problem.line, problem.column) for problem in plan.problems]


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("actor: 0-8", ("resource_out_of_range", 4, 12)),
        ("actor: 0-3, 9", ("resource_out_of_range", 4, 17)),
        ('actor: "0-3, 9"', ("resource_out_of_range", 4, 18)),
        ("actor: '0-3:0-7:1'", ("too_many_colons", 4, 13)),
        ("actor: 0-3:x", ("rank_format", 4, 16)),
        ("actor: {placement: 0-3,  9}", None),
        ("actor: {placement: '0-3,  9'}", ("resource_out_of_range", 4, 31)),
        ("actor:\n      placement: 4-5,0-1", ("resource_order", 5, 22)),
        ("actor:\n      node_group: x\n      placement: 0", ("node_group_not_found", 5, 19)),
        ("actor: {node_group: node}", ("placement_missing", 4, 12)),
        ("actor: 0\n    rollout,actor: 1", ("duplicate_component", 5, 5)),
        ("actor: >-\n      0-3,\n      9", ("resource_out_of_range", 6, 7)),
    ],
)
def test_a_problem_stands_at_the_part_that_is_meant(rule: str, found: tuple[str, int, int] | None) -> None:
    plan = plan_of(f"{HEAD}    {rule}\n")
    if found is None:
        assert plan.problems
    else:
        assert places(plan) == [found]
        assert {problem.file for problem in plan.problems} == {"conf.yaml"}


def test_problems_come_in_the_order_of_their_lines() -> None:
    text = f"{HEAD}    b: 0-99\n    a: 1:3\n    c: x\n    d: ${{e}}\nplacetui:\n  shares: 3\ndefaults: [x]\n"
    assert places(plan_of(text)) == [
        ("resource_out_of_range", 4, 8),
        ("resource_out_of_range", 5, 8),
        ("yaml_base60", 5, 8),
        ("rank_format", 6, 8),
        ("interpolation", 7, 8),
        ("not_a_mapping", 9, 11),
        ("hydra_defaults", 10, 1),
    ]


@pytest.mark.parametrize(
    ("text", "mentioned"),
    [
        ("cluster: {num_nodes: 1, component_placement: {actor: 0-7}}\n", False),
        ("cluster: {num_nodes: 1, component_placement: {actor: 0-99}}\n", False),
        ("cluster: {num_nodes: 1, component_placement: {actor: 0-7}}\nmodel: {size: '${other.file}'}\n", False),
        ("cluster: {num_nodes: '${nodes}', component_placement: {actor: 0-7}}\n", True),
        ("cluster: {component_placement: {actor: {node_group: a}}}\n", True),
        ("slime: {actor_num_nodes: 1}\n", True),
        ("model: {size: 3}\n", True),
    ],
)
def test_hydra_defaults_are_mentioned_when_a_key_is_missing(text: str, mentioned: bool) -> None:
    plan = plan_of(f"defaults:\n  - base\n{text}")
    found = [problem for problem in plan.problems if problem.rule == "hydra_defaults"]
    assert len(found) == mentioned
    for warning in found:
        assert (warning.severity, warning.line, warning.column, warning.at_key) == ("warning", 1, 1, True)
        assert "--cfg job" in warning.hint


def test_a_missing_section_is_placed_at_the_top() -> None:
    assert places(plan_of("model:\n  size: 3\n")) == [("no_layout", 1, 1)]
    assert places(plan_of("")) == [("empty_file", 1, 1)]


def test_a_text_that_is_no_yaml_has_that_problem_alone() -> None:
    plan = plan_of("cluster: [1\n")
    assert [problem.rule for problem in plan.problems] == ["yaml_syntax"]
    assert plan.components == {}
    assert plan.to_dict()["devices"] == []


def test_a_duplicate_key_is_reported_beside_the_others() -> None:
    plan = plan_of(f"{HEAD}    actor: 0-9\n    env: 0\n    env: 1\n")
    assert [problem.rule for problem in plan.problems] == ["resource_out_of_range", "duplicate_key"]


def test_overrides_change_what_is_read() -> None:
    text = f"{HEAD}    actor: 0-15\n"
    assert plan_of(text).problems
    plan = plan_of(text, "cluster.num_nodes=2", "cluster.component_placement.env=0-3", "placetui.mode=component")
    assert plan.problems == []
    assert {name: one.world_size for name, one in plan.components.items()} == {"actor": 16, "env": 4}
    assert plan.mode == "component"


def test_a_problem_of_an_override_has_a_place_nearby() -> None:
    plan = plan_of(f"{HEAD}    actor: 0-7\n", "cluster.component_placement.env=0-99")
    (problem,) = plan.problems
    assert (problem.rule, problem.line) == ("resource_out_of_range", 3)


def test_a_request_comes_before_what_the_file_says() -> None:
    text = f"{HEAD}    actor: 0-3\nplacetui:\n  mode: component\n  topology: {{nodes: 1, gpus_per_node: 4}}\n"
    assert plan_of(text).mode == "component"
    assert plan_of(text).topology_source == "file"
    plan = plan_of(text, mode="hybrid", nodes=(Node(16),))
    assert (plan.mode, plan.topology_source, plan.nodes[0].gpus) == ("hybrid", "flag", 16)


# --cluster


def described(tmp_path: Path, text: str) -> str:
    path = tmp_path / "cluster.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "text",
    [
        "{nodes: 2, gpus_per_node: 4}",
        "topology: {nodes: 2, gpus_per_node: 4}",
        "placetui:\n  topology:\n    nodes: [{gpus: 4}, {gpus: 4}]\ncluster: {num_nodes: 99}\n",
    ],
)
def test_a_file_describes_a_cluster(tmp_path: Path, text: str) -> None:
    assert read_cluster_option(described(tmp_path, text)) == [Node(4), Node(4)]


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("nodes: 0\n", "topology_invalid", 1),
        ("topology:\n  nodes:\n    - {gpus: x}\n", "topology_invalid", 3),
        ("[1]", "not_a_mapping", 1),
        ("a: [", "yaml_syntax", 1),
        ("nodes: 1\nnodes: 2\n", "duplicate_key", 2),
        ("placetui: {topology: 3}\n", "not_a_mapping", 1),
        ("", "empty_file", 1),
    ],
)
def test_a_file_that_describes_none(tmp_path: Path, text: str, rule: str, line: int) -> None:
    name = described(tmp_path, text)
    with pytest.raises(DocumentError) as caught:
        read_cluster_option(name)
    problem = caught.value.problems[0]
    assert (problem.rule, problem.file, problem.line) == (rule, name, line)


@pytest.mark.parametrize("text", ["nonsense", "2x", "0x8", "\0", "9" * 5000 + "x8", "missing/cluster.yaml"])
def test_neither_numbers_nor_a_file(text: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_cluster_option(text)
    assert caught.value.problems[0].rule == "bad_cluster"
    assert "2x8" in caught.value.problems[0].hint


def test_a_directory_describes_no_cluster(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        read_cluster_option(str(tmp_path))
    assert caught.value.problems[0].rule == "file_unreadable"


# Any text

TEXTS = [
    f"""{HEAD}    actor,rollout: 0-7   # both
    env: {{node_group: arms, placement: "0-1"}}
    agent: {{node_group: node, placement: 0:0-3}}
  node_groups:
    - label: arms
      node_ranks: [0]
      hardware:
        type: Franka
        configs: [{{node_rank: 0, robot_ip: 10.0.0.1}}, {{node_rank: 0, robot_ip: 10.0.0.2}}]
      env_configs:
        - node_ranks: all
          env_vars: [{{A: 1}}]
placetui:
  topology: {{nodes: [{{gpus: 8, name: head}}]}}
  shares: {{actor: 0.7}}
  train: [actor]
  launch: {{actor: {{isolate_accelerator: false}}}}
""",
    """cluster:
  num_nodes: ${nodes}
  component_placement:
    actor,rollout,reward: 0-${subtract:${multiply:${nodes},8},1}
nodes: 2
runner: {task_type: reasoning}
actor: {model: {tensor_model_parallel_size: 4}}
rollout: &r {tensor_parallel_size: 2, <<: {pipeline_parallel_size: 1}}
critic: *r
""",
    """slime:
  actor-num-nodes: 2
  actor_num_gpus_per_node: 8
  colocate: true
  rollout_num_gpus_per_engine: 16
  use_critic: yes
""",
]
SAMPLES = sorted((Path(__file__).parents[2] / "sample_configs").glob("*.yaml"))
TEXTS += [path.read_text(encoding="utf-8") for path in SAMPLES]

FRAGMENTS = st.one_of(
    st.text(" \t\n\r:-?&*!|>'\"{}[],#%@<~=09a\\$.\x00\ufeffé😀", min_size=1, max_size=4),
    st.sampled_from(
        [
            "all",
            "???",
            "${nodes}",
            "${..x}",
            "0-999999999999",
            "0:0-999999999999",
            "-1",
            "1:3",
            "010",
            "null",
            "[]",
            "{}",
            "true",
            "1e308",
            ".inf",
            ".nan",
            "0x" + "f" * 300,
            "\n  node_groups: 3\n",
            "\nplacetui: {mode: auto}\n",
            "\nslime: {colocate: true}\n",
            "*r",
            "&r",
        ]
    ),
)
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["delete", "insert", "replace", "duplicate"]),
        st.integers(0, 4000),
        st.integers(1, 15),
        FRAGMENTS,
    ),
    min_size=1,
    max_size=5,
)


def mutated(text: str, edits: list[tuple[str, int, int, str]]) -> str:
    for kind, position, length, fragment in edits:
        start = position % (len(text) + 1)
        end = min(len(text), start + length)
        inserted = {"delete": "", "insert": fragment + text[start:end], "replace": fragment}.get(
            kind, text[start:end] * 2
        )
        text = text[:start] + inserted + text[end:]
    return text


def check_any(text: str) -> None:
    """Nothing is raised, and every problem can be printed and found."""
    document = Document(text, "conf.yaml")
    plan = plan_document(document)
    lines = document.text.split("\n")
    for problem in plan.problems:
        assert problem.rule.isidentifier()
        assert problem.message
        assert problem.message.isprintable()
        assert problem.hint.isprintable()
        assert problem.file == "conf.yaml"
        assert problem.line is not None
        assert problem.column is not None
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
        assert problem.format().count("\n") == bool(problem.hint)
    told = plan.to_dict()
    assert len(told["problems"]) == len(plan.problems)


@given(st.text(max_size=60))
def test_any_text_is_a_plan_with_problems_in_it(text: str) -> None:
    check_any(text)


@given(st.sampled_from(TEXTS), EDITS)
@settings(max_examples=500)
def test_any_damage_to_a_file_is_a_problem_and_no_more(text: str, edits: list[tuple[str, int, int, str]]) -> None:
    check_any(mutated(text, edits))


SCALARS = st.sampled_from(
    [
        "0-7",
        "all",
        "x",
        "",
        "null",
        "[0, 1]",
        "{a: 1}",
        "3",
        "-1",
        "1.5",
        "true",
        "???",
        "${nodes}",
        "0:0-3",
        "'a, b'",
        "node",
    ]
)
KEYS = st.sampled_from(
    "cluster num_nodes component_placement node_groups label node_ranks hardware type configs node_rank env_configs "
    "env_vars placement node_group placetui topology nodes gpus_per_node mode shares train memory launch slime "
    "colocate actor rollout reward model tensor_parallel_size runner task_type auto_scheduler".split()
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.dictionaries(KEYS, inner, max_size=5).map(
            lambda entries: "{" + ", ".join(f"{k}: {v}" for k, v in entries.items()) + "}"
        ),
        st.lists(inner, max_size=3).map(lambda entries: "[" + ", ".join(entries) + "]"),
    ),
    max_leaves=20,
)


@given(TREES, TREES, TREES, SCALARS)
@settings(max_examples=300)
def test_known_keys_in_the_wrong_places(components: str, groups: str, section: str, number: str) -> None:
    check_any(
        f"cluster:\n  num_nodes: {number}\n  component_placement: {components}\n  node_groups: {groups}\n"
        f"placetui: {section}\n"
    )


@given(TREES)
@settings(max_examples=200)
def test_known_keys_anywhere(tree: str) -> None:
    check_any(tree)

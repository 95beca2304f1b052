"""`${…}`: resolved where placement reads, typed, within bounds, and nowhere else."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from placetui.frameworks.planner import make_plan
from placetui.placement.config.reader import MISSING, Reader, Unresolved, has_unresolved
from placetui.placement.problems import Problem, Problems

CONFIG: dict[Any, Any] = {
    "a": {"b": 3, "c": "x", "list": [10, {"deep": "0-3"}], "none": None, "flag": True, "self": "${a.b}"},
    "name": "b",
    7: "seven",
}


def read(value: Any, **more: Any) -> tuple[Any, list[Problem]]:
    problems = Problems()
    return Reader({**CONFIG, "here": {"value": value, "near": 5}, **more}, problems).get("here", "value"), problems


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("${a.b}", 3),
        ("${ a.b }", 3),
        ("${a.self}", 3),
        ("0-${a.b}", "0-3"),
        ("${a.b}-${a.b}", "3-3"),
        ("${a.c}", "x"),
        ("${a.none}", None),
        ("${a.flag}", True),
        ("${a.list[0]}", 10),
        ("${a.list.0}", 10),
        ("${a.list[1].deep}", "0-3"),
        ("${a[b]}", 3),
        ("${a.${name}}", 3),
        ("${7}", "seven"),
        ("${.near}", 5),
        ("${..name}", "b"),
        ("${..a.b}", 3),
        ("${multiply:2,3}", 6),
        ("${multiply:${a.b},${a.b}}", 9),
        ("${int_div:7,2}", 3),
        ("${int_div: ${multiply:${a.b},4} , 5}", 2),
        ("${subtract:${a.b},1}", 2),
        ("${multiply:0.5,4}", 2.0),
        ("${not:${a.flag}}", False),
        ("${not:false}", True),
        ("0-${subtract:${multiply:2,8},1}", "0-15"),
    ],
)
def test_a_text_becomes_its_value(text: str, value: Any) -> None:
    found, problems = read(text)
    assert problems == []
    assert found == value
    assert type(found) is type(value)


def test_a_section_may_come_from_elsewhere() -> None:
    found, problems = read("${a}")
    assert problems == []
    assert found["list"] == [10, {"deep": "0-3"}]
    assert found["self"] == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${nowhere}", "`${nowhere}` is not in this file"),
        ("${a.b.c}", "not in this file"),
        ("${a.list[5]}", "not in this file"),
        ("${oc.env:HOME}", "`oc.env`"),
        ("${eval:1+1}", "`eval`"),
        ("${torch.dtype:bf16}", "`torch.dtype`"),
        ("${multiply:2}", "takes 2 values"),
        ("${multiply:a,2}", "cannot be computed"),
        ("${multiply:a,99999999999}", "cannot be computed"),
        ("${int_div:1,0}", "cannot be computed"),
        ("${not:1,2}", "takes 1 value"),
        ("${a.b", "no closing brace"),
        ("${}", "names nothing"),
        ("${here.value}", "refers to itself"),
        ("${.value}", "refers to itself"),
        ("${....name}", "leads out of the file"),
    ],
)
def test_what_cannot_be_resolved_is_one_problem(text: str, said: str) -> None:
    found, problems = read(text)
    assert isinstance(found, Unresolved)
    (problem,) = problems
    assert problem.rule == "interpolation"
    assert said in problem.message
    assert "--set" in problem.hint
    assert problem.path == ("here", "value")


def test_circles_are_seen() -> None:
    _, problems = read("${x}", x="${y}", y="${z.w}", z={"w": "${x}"})
    assert [problem.rule for problem in problems] == ["interpolation"]
    assert "refers to itself" in problems[0].message


def test_a_value_that_must_be_filled_in() -> None:
    found, problems = read({"deep": ["???"]})
    assert has_unresolved(found)
    assert [(problem.rule, problem.path) for problem in problems] == [("missing_value", ("here", "value", "deep", 0))]


def test_what_is_not_there_is_not_a_problem() -> None:
    problems = Problems()
    reader = Reader(CONFIG, problems)
    assert reader.get("nothing", "here", default=5) == 5
    assert reader.get("nothing") is MISSING
    assert reader.keys("nothing") == []
    assert not reader.has("a", "none")
    assert not reader.has("a", "nothing")
    assert reader.has("a", "list", 1)
    assert problems == []


def test_keys_of_a_section_that_comes_from_elsewhere() -> None:
    assert Reader({"cluster": "${base}", "base": {"num_nodes": 1}}, Problems()).keys("cluster") == ["num_nodes"]


# Bounds

BOMBS: dict[str, dict[str, Any]] = {
    "doubling": {f"v{i}": f"${{v{i + 1}}}${{v{i + 1}}}" for i in range(50)} | {"v50": "x", "value": "${v0}"},
    "hidden doubling": {f"v{i}": f"${{not:${{v{i + 1}}}${{v{i + 1}}}}}" for i in range(50)}
    | {"v50": "x", "value": "${v0}"},
    "squaring": {f"v{i}": f"${{multiply:${{v{i + 1}}},${{v{i + 1}}}}}" for i in range(40)}
    | {"v40": 12345, "value": "${v0}"},
    "long chain": {f"v{i}": f"${{v{i + 1}}}" for i in range(5000)} | {"v5000": 1, "value": "${v0}"},
    "nested": {"value": "${" * 1000 + "}" * 1000},
    "nested arguments": {"value": "${not:" * 500 + "1" + "}" * 500},
    "open braces": {"value": "${" * 1_000_000},
    "many": {"value": "${v}" * 500_000, "v": 1},
    "long name": {"value": "${" + "v" * 1_000_000 + "}"},
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_few_lines_cannot_ask_for_billions(name: str) -> None:
    problems = Problems()
    before = time.process_time()
    Reader(BOMBS[name], problems).get("value")
    assert time.process_time() - before < 15
    assert [problem.rule for problem in problems] == ["interpolation"]
    assert len(problems[0].message) < 700


def test_values_that_contain_themselves_end() -> None:
    inside: dict[str, Any] = {}
    inside["one"] = inside["two"] = inside
    problems = Problems()
    Reader({"value": inside}, problems).get("value")
    assert [problem.rule for problem in problems] == ["too_many_values"]


def test_a_number_too_long_to_print() -> None:
    plan = make_plan({"cluster": {"num_nodes": 10**5000, "component_placement": {"actor": "0"}}})
    assert [problem.rule for problem in plan.problems] == ["yaml_value"]


# Where placement reads, and where not


def test_only_what_placement_reads_is_resolved() -> None:
    config = {
        "sizes": {"nodes": 2, "last": "${subtract:${multiply:${.nodes},8},1}"},
        "cluster": {
            "num_nodes": "${sizes.nodes}",
            "component_placement": {"actor": "0-${sizes.last}", "env": {"node_group": "${label}", "placement": "all"}},
            "node_groups": [{"label": "${label}", "node_ranks": "${ranks}"}],
            "profiling": "${oc.env:PROFILE}",
        },
        "label": "a800",
        "ranks": [0, 1],
        "model": {"path": "${oc.env:HOME}", "size": "???"},
        "trainer": "${nowhere}",
    }
    plan = make_plan(config)
    assert plan.problems == []
    assert {name: one.world_size for name, one in plan.components.items()} == {"actor": 16, "env": 16}


def test_what_cannot_be_resolved_has_no_consequences() -> None:
    config = {
        "cluster": {
            "num_nodes": "${nowhere}",
            "component_placement": {
                "actor": "0-99",
                "env": {"node_group": "a", "placement": "0-99"},
                "other": {"node_group": "${nobody}", "placement": "???"},
            },
            "node_groups": [{"label": "a", "node_ranks": "${nothing}"}],
        }
    }
    rules = sorted(problem.rule for problem in make_plan(config).problems)
    assert rules == ["interpolation", "interpolation", "interpolation", "missing_value"]


class Stubborn(Mapping[str, Any]):
    """Resolves on access, and fails there: as OmegaConf's mappings do."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values_of = values

    def __getitem__(self, key: str) -> Any:
        if self.values_of[key] == "broken":
            raise RuntimeError(f"cannot interpolate {key}")
        return self.values_of[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_of)

    def __len__(self) -> int:
        return len(self.values_of)


@pytest.mark.parametrize(
    "section",
    [
        {"num_nodes": "broken", "component_placement": {"actor": "0"}},
        {"num_nodes": 1, "component_placement": "broken"},
        {"num_nodes": 1, "component_placement": Stubborn({"actor": "broken"})},
        {"num_nodes": 1, "component_placement": {"actor": Stubborn({"placement": "broken"})}},
        {"num_nodes": 1, "component_placement": {"actor": 0}, "node_groups": "broken"},
    ],
)
def test_a_mapping_that_fails_on_access_is_a_problem(section: dict[str, Any]) -> None:
    plan = make_plan({"cluster": Stubborn(section)})
    assert [problem.rule for problem in plan.problems] == ["interpolation"]
    assert "cannot interpolate" in plan.problems[0].message

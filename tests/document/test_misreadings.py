"""Warnings where YAML 1.1 reads a placement otherwise than a person would."""

from __future__ import annotations

import pytest

from placetui.document import Document
from placetui.document.reading.misreadings import misreadings as misread_values
from placetui.frameworks.registry import framework
from placetui.placement.problems import Problem


def misreadings(document: Document) -> list[Problem]:
    return misread_values(document, framework("rlinf").texts)


def found(text: str) -> list[tuple[str, int | None, int | None]]:
    document = Document(text, "conf.yaml")
    warnings = list(misreadings(document))
    assert all(warning.severity == "warning" and warning.hint and warning.file for warning in warnings)
    return [(warning.rule, warning.line, warning.column) for warning in warnings]


def placement(rule: str) -> str:
    return f"cluster:\n  component_placement:\n    a: {rule}\n"


@pytest.mark.parametrize(
    ("written", "rule", "becomes"),
    [
        ("1:3", "yaml_base60", "63"),
        ("10:5", "yaml_base60", "605"),
        ("010", "yaml_octal", "8"),
        ("0x3", "yaml_number", "3"),
        ("0b11", "yaml_number", "3"),
        ("1_0", "yaml_number", "10"),
        ("1e1", "yaml_number", "10.0"),
        ("on", "yaml_bool", "True"),
        ("no", "yaml_bool", "False"),
        ("~", "yaml_null", "None"),
        ("", "yaml_null", "None"),
    ],
)
def test_values(written: str, rule: str, becomes: str) -> None:
    (warning,) = misreadings(Document(placement(written), "conf.yaml"))
    assert warning.rule == rule
    assert becomes in warning.message
    assert warning.path == ("cluster", "component_placement", "a")
    assert (warning.line, warning.column) == (3, 8 if written else 7)
    if rule != "yaml_null":
        assert f"`{written}`" in warning.message
        assert f'"{written}"' in warning.hint


@pytest.mark.parametrize("written", ["0-7", "3", "+3", "08", "0:3", '"1:3"', "'on'", "!!str 010", "True", "3.5", "all"])
def test_what_is_read_as_written_is_no_surprise(written: str) -> None:
    assert found(placement(written)) == []


def test_every_field_that_placement_reads() -> None:
    text = (
        "cluster:\n"
        "  component_placement:\n"
        "    on: 0-7\n"
        "    b: {placement: 1:3, node_group: [010, x, 1e3]}\n"
        "  node_groups:\n"
        "    - {label: 1:30, node_ranks: 0b1}\n"
        "    - {label: a, node_ranks: [0, 1:1]}\n"
        "  other: 1:3\n"
    )
    assert found(text) == [
        ("yaml_bool", 3, 5),
        ("yaml_base60", 4, 20),
        ("yaml_octal", 4, 38),
        ("yaml_number", 4, 46),
        ("yaml_base60", 6, 15),
        ("yaml_number", 6, 33),
        ("yaml_base60", 7, 34),
    ]


def test_a_missing_space_in_braces() -> None:
    (warning,) = misreadings(Document("cluster: {component_placement: {actor:0-7}}\n"))
    assert warning.rule == "yaml_null"
    assert "`actor: 0-7`" in warning.hint


@pytest.mark.parametrize(
    "text", ["", "cluster: 1\n", "cluster: {component_placement: [1:3]}\n", "cluster: {node_groups: {a: 1}}\n"]
)
def test_odd_shapes_are_left_to_others(text: str) -> None:
    assert found(text) == []

"""`--set key.path=value`."""

from __future__ import annotations

from typing import Any

import pytest

from placetui.document import Document, DocumentError
from placetui.document.options import parse_override, with_overrides
from placetui.placement.problems import Path


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("cluster.num_nodes=2", ("cluster", "num_nodes"), 2),
        ("a.b=0-7", ("a", "b"), "0-7"),
        ("a[0].b[12]=x", ("a", 0, "b", 12), "x"),
        ("a[0][1]=x", ("a", 0, 1), "x"),
        ("cluster.component_placement.actor,rollout=all", ("cluster", "component_placement", "actor,rollout"), "all"),
        ("a={b: [1, 0-7]}", ("a",), {"b": [1, "0-7"]}),
        ('a="1:3"', ("a",), "1:3"),
        ("a=1:3", ("a",), 63),
        ("a=1e3", ("a",), 1000.0),
        ("a=", ("a",), None),
        ("a=b=c", ("a",), "b=c"),
        ("a=${x.y}", ("a",), "${x.y}"),
    ],
)
def test_path_and_value(text: str, path: Path, value: Any) -> None:
    assert parse_override(text) == (path, value)


@pytest.mark.parametrize(
    "text",
    ["", "a", "=1", "a.=1", ".a=1", "a..b=1", "[0]=1", "a[x]=1", "a[0]b=1", "a.[0]=1", "a=[1", "a=@x", "a=1\nb: 2"],
)
def test_bad_syntax(text: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_override(text)
    (problem,) = caught.value.problems
    assert problem.rule == "bad_override"
    assert problem.hint


def test_only_what_is_named_changes() -> None:
    config = {"a": {"b": [{"c": 1}, {"c": 2}], "d": 3}, "e": 4}
    changed = with_overrides(config, [(("a", "b", 1, "c"), 9), (("a", "b", "0", "c"), 8), (("f", "g"), 5)])
    assert dict(changed) == {"a": {"b": [{"c": 8}, {"c": 9}], "d": 3}, "e": 4, "f": {"g": 5}}
    assert config == {"a": {"b": [{"c": 1}, {"c": 2}], "d": 3}, "e": 4}
    assert list(changed) == ["a", "e", "f"]
    assert len(changed) == 3
    assert "f" in changed
    assert "g" not in changed


def test_nothing_to_override() -> None:
    config = {"a": 1}
    assert with_overrides(config, []) is config


def test_other_sections_stay_unread() -> None:
    document = Document("cluster: {num_nodes: 1}\nbroken: {a: 1, a: 2}\n")
    changed = with_overrides(document.config, [parse_override("cluster.num_nodes=2")])
    assert changed["cluster"] == {"num_nodes": 2}
    assert changed["broken"] == {"a": 2}
    assert not document.problems


@pytest.mark.parametrize("path", [("a", "b", "c"), ("l", 2), ("l", "x"), ("m", 0)])
def test_paths_that_lead_nowhere(path: Path) -> None:
    with pytest.raises(DocumentError, match="bad_override"):
        with_overrides({"a": {"b": "0-7"}, "l": [1, 2], "m": {}}, [(path, 1)])

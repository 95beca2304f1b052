"""Scalars are typed as RLinf's loader types them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from placetui.placement.yaml_text import kind_of, plain, stays_plain, written


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0-7", "0-7"),
        ("0-1:0-3", "0-1:0-3"),
        ("0:3", "0:3"),
        ("1:60", "1:60"),
        ("1:3", 63),
        ("1:0", 60),
        ("2:59", 179),
        ("-1:30", -90),
        ("1:30.5", 90.5),
        ("010", 8),
        ("08", "08"),
        ("0o10", "0o10"),
        ("0x3", 3),
        ("0b11", 3),
        ("1_0", 10),
        ("+3", 3),
        ("0", 0),
        ("1e3", 1000.0),
        ("1e-3", 0.001),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("3.", 3.0),
        ("-.5", "-.5"),
        ("1e", "1e"),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("on", True),
        ("No", False),
        ("y", "y"),
        ("oN", "oN"),
        ("~", None),
        ("", None),
        ("NULL", None),
        ("2001-01-01", "2001-01-01"),
        ("???", "???"),
    ],
)
def test_plain_scalars(text: str, value: Any) -> None:
    typed = plain(text)
    assert typed == value
    assert type(typed) is type(value)


def test_not_a_number_is_a_float() -> None:
    assert math.isnan(float(str(plain(".nan"))))


@pytest.mark.parametrize("text", ["0b_", "._", "9" * 5000, "0x" + "f" * 5000, "=", "<<"])
def test_scalars_without_a_value(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        plain(text)


@given(st.text("0123456789-+_.:eExXbBnNulytrasof~", max_size=8))
def test_agrees_with_pyyaml_but_for_floats_and_dates(text: str) -> None:
    resolver: Any = yaml.SafeLoader("")
    tag = resolver.resolve(yaml.ScalarNode, text, (True, False)).rpartition(":")[2]
    kind = kind_of(text)
    assert kind == tag or (kind, tag) in {("float", "str"), ("str", "timestamp")}
    try:
        expected = yaml.safe_load(f"[{text}]")[0]
        value = plain(text)
    except (ValueError, yaml.YAMLError, IndexError):
        return
    if kind == tag and isinstance(expected, str | int | float | None):
        assert value == expected or value != value


AWKWARD = st.text("ab0 1-:?,[]{}#&*!|>'\"%@`.~=<\\é😀\t\n\u2028", max_size=8)
ANY_TEXT = AWKWARD | st.text(max_size=12) | st.sampled_from(["---", "... x", "0-3:0-1", "${a.b}", "a b", "on", "1:3"])


@given(ANY_TEXT, st.sampled_from(["", "'", '"']))
def test_what_is_written_is_read_back_by_both_parsers(text: str, style: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        return
    value, in_flow = written(text, style=style), written(text, style=style, flow=True)
    key, flow_key = written(text, key=True), written(text, key=True, flow=True)
    block = f"a: {value} # c\n{key}: {{x: {in_flow}, {flow_key}: 1, y: [{in_flow}, 2]}}\nz: 1\n"
    for loader in (yaml.CSafeLoader, yaml.SafeLoader):
        scalars = [event.value for event in yaml.parse(block, Loader=loader) if isinstance(event, yaml.ScalarEvent)]
        assert scalars == ["a", text, text, "x", text, text, "1", "y", text, "2", "z", "1"]
    if stays_plain(text):
        assert str(plain(text)).lstrip("+") == text.lstrip("+")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (None, "null"),
        (3, "3"),
        (0.5, "0.5"),
        (0.33333, "0.3333"),
        ("0-3:0-1", "0-3:0-1"),
        ("1:3", '"1:3"'),
        ("on", '"on"'),
        ("a, b", "a, b"),
        (["a, b", 1], '["a, b", 1]'),
        ({"node_group": "x", "a,b": {"c": True}}, '{node_group: x, "a,b": {c: true}}'),
    ],
)
def test_values_as_yaml(value: Any, text: str) -> None:
    assert written(value) == text

"""Scalars are typed as RLinf's loader types them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from placetui.document.scalars import kind_of, plain


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

"""Reading one section again gives what reading all of the text gives, wherever it is done."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from placetui.document import Document, document
from placetui.document.splice import Splice, apply
from placetui.placement.problems import Path

TEXTS = [
    "# head\na: 1\ncluster:\n  num_nodes: 2 # n\n  component_placement: {actor: 0-7, env: '1:3'}\n\n# between\n"
    "b:\n- x\n- y: |\n    block\n\nplacetui:\n  mode: hybrid\nlast: [1,\n2]\n",
    "a: {x: 1,\ny: 2}\ncluster:\n  component_placement:\n    actor: 0-7\n? odd\n: value\n"
    "b: 'quoted\n\n  text'\nc:\nd: 1",
    "cluster:\r\n  num_nodes: 1\r\n  component_placement:\r\n    actor: all\r\nb: >\r\n  folded\r\n  text\r\nc: ~\r\n",
    "base: &base {x: 1}\ncluster:\n  component_placement:\n    actor: 0\nb:\n  <<: *base\nc: *base\n",
    "%YAML 1.1\n---\na: 1\ncluster: {component_placement: {actor: 0}}\nb: 2\n...\n",
]
PIECES = (
    st.text("0123-,ab ", max_size=4)
    | st.text(" \n:-#'\"{}[],|>&*!?%\t\r0ab.é\x85\u2028", max_size=5)
    | st.sampled_from(
        ["\nx: 1\n", "\n  y: 2", "\n---\n", "\n...\n", "<<: {z: 1}\n", "\n- q", "'", "{", "|\n", "? k\n: v\n"]
    )
)


@pytest.fixture(autouse=True)
def everything_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "LONG_TEXT", 0)
    monkeypatch.setattr(document, "SMALL_TEXT", 0)


def paths(value: Any, path: Path = ()) -> list[Path]:
    found = [path] if path else []
    if isinstance(value, dict):
        return found + [one for key, item in value.items() for one in paths(item, (*path, key))]
    if isinstance(value, list):
        return found + [one for index, item in enumerate(value) for one in paths(item, (*path, index))]
    return found


def same(one: Document, other: Document) -> None:
    assert one.text == other.text
    assert one.problems == other.problems
    assert dict(one.config) == dict(other.config)
    assert list(one.config) == list(other.config)
    assert one.problems == other.problems
    assert list(one.surprises()) == list(other.surprises())
    for path in paths(dict(one.config)):
        assert one.span(path) == other.span(path)
        assert one.span(path, at_key=True) == other.span(path, at_key=True)
        assert one.locate(path) == other.locate(path)


@settings(max_examples=600, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(TEXTS),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 6), PIECES, st.booleans()), min_size=1, max_size=4),
)
def test_any_change_of_any_text(text: str, edits: list[tuple[int, int, str, bool]]) -> None:
    now = Document(text)
    for position, length, piece, look in edits:
        start = position % (len(now.text) + 1)
        splice = Splice(start, min(len(now.text), start + length), piece)
        before = now.text
        if look:  # what was composed before is treated otherwise than what was not
            dict(now.config)
        partly = now._reread(splice)
        event("one section" if partly else "all")
        now = now.change([splice])
        assert now.text == apply(before, splice)
        same(now, Document(now.text))


def test_an_anchor_that_goes_is_missed_elsewhere() -> None:
    at = TEXTS[3].index("&base ")
    now = Document(TEXTS[3]).change([Splice(at, at + len("&base "), "")])
    assert {problem.rule for problem in now.problems} == {"undefined_alias"}
    same(now, Document(now.text))


def test_typing_in_a_section_reads_only_that_section() -> None:
    now = Document(TEXTS[0])
    other = now.config["b"]
    at = TEXTS[0].index("2 # n")
    for splice in (Splice(at, at + 1, "3"), Splice(at + 1, at + 1, "1")):
        changed = now._reread(splice)
        assert changed is not None
        now = changed
    assert now.config["cluster"]["num_nodes"] == 31
    assert now.config["b"] is other
    same(now, Document(now.text))


def test_several_splices_with_a_broken_text_between_them() -> None:
    text = TEXTS[0]
    at = text.index("{actor")
    now = Document(text).change([Splice(at, at + 1, ""), Splice(at, at, "{x: 1, ")])
    assert now.text == text.replace("{actor", "{x: 1, actor")
    same(now, Document(now.text))


def test_the_limits_of_a_text_hold_over_many_changes() -> None:
    now = Document(TEXTS[0])
    dict(now.config)
    nodes = now._nodes
    at = TEXTS[0].index("2 # n")
    for turn in range(100):
        now = now.change([Splice(at, at + 1, str(turn % 9 + 1))])
        now.span(("b", 1))
        now.span(("placetui", "mode"))
    assert 0 < nodes - now._nodes < 5

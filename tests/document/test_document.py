"""Positions: where a value, a key or a character of a value stands."""

from __future__ import annotations

import pytest

from placetui.document import Document
from placetui.document.splice import Splice
from placetui.placement.problems import Path, Problem

TEXT = """\
# a comment
cluster:
  num_nodes: 2   # two
  component_placement:
    actor,reward: 0-7
    rollout: {placement: "0-3:0-1", node_group: 'a''b'}
    env: &env 8-9
    agent: *env
  node_groups:
    - label: a800
      node_ranks: !!str 0-1
    -
      label: |
        4090
empty:
text: "a\\tb\\u00e9-c"
folded: >
    one two
    three
"""


@pytest.fixture
def document() -> Document:
    return Document(TEXT, "conf.yaml")


RULE: Path = ("cluster", "component_placement", "rollout", "placement")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), (2, 1)),
        (("cluster", "num_nodes"), (3, 14)),
        (("cluster", "component_placement", "actor,reward"), (5, 19)),
        (RULE, (6, 26)),
        (("cluster", "component_placement", "env"), (7, 15)),
        (("cluster", "component_placement", "agent"), (8, 12)),
        (("cluster", "node_groups", 0), (10, 7)),
        (("cluster", "node_groups", 0, "node_ranks"), (11, 25)),
        (("cluster", "node_groups", 1, "label"), (13, 14)),
        (("empty",), (15, 7)),
    ],
)
def test_values(document: Document, path: Path, place: tuple[int, int]) -> None:
    assert document.locate(path) == place


def test_keys(document: Document) -> None:
    assert document.locate(RULE, at_key=True) == (6, 15)
    assert document.locate(("cluster",), at_key=True) == (2, 1)
    assert document.locate(("cluster", "node_groups", 1), at_key=True) == (13, 7)


def test_what_does_not_exist_is_located_at_its_nearest_ancestor(document: Document) -> None:
    assert document.locate(("cluster", "missing", 3)) == (2, 1)
    assert document.locate((*RULE[:-1], "missing")) == (6, 5)
    assert document.locate(("cluster", "node_groups", 7, "label")) == (9, 3)
    assert document.locate(("missing",)) == (2, 1)
    assert Document("").locate(("a",)) is None


@pytest.mark.parametrize(
    ("path", "index", "place"),
    [
        (RULE, 4, (6, 31)),
        ((*RULE[:-1], "node_group"), 2, (6, 53)),
        (("cluster", "component_placement", "env"), 2, (7, 17)),
        (("cluster", "component_placement", "env"), 99, (7, 17)),
        (("cluster", "node_groups", 1, "label"), 2, (14, 11)),
        (("text",), 2, (16, 11)),
        (("text",), 4, (16, 18)),
        (("folded",), 8, (19, 5)),
        (("folded",), 5, (18, 10)),
    ],
)
def test_characters_inside_a_value(document: Document, path: Path, index: int, place: tuple[int, int]) -> None:
    assert document.locate(path, span=(index, index + 1)) == place


def test_characters_of_what_is_not_shown_as_written() -> None:
    document = Document("a: 10:30\nb: 0-${x},5\n")
    assert document.locate(("a",), span=(2, 3)) == (1, 4)
    assert document.locate(("b",), span=(1, 2)) == (2, 5)
    assert document.locate(("b",), span=(5, 6)) == (2, 6)


def test_spans_and_raw_text(document: Document) -> None:
    assert document.raw(RULE) == '"0-3:0-1"'
    assert document.raw(("cluster", "component_placement", "env")) == "8-9"
    assert document.raw(("cluster", "component_placement", "agent")) == "*env"
    assert document.raw(("cluster", "node_groups", 0, "node_ranks")) == "0-1"
    assert document.raw(("empty",)) == ""
    assert document.raw(("cluster", "node_groups")) == TEXT[TEXT.index("- label") : TEXT.index("empty:")]
    assert document.raw(("missing",)) is None
    assert document.span(RULE, at_key=True) == (TEXT.index("placement: "), TEXT.index('placement: "') + 9)


def test_anchored_collections_begin_behind_their_anchor() -> None:
    document = Document("a: &x # why\n  b: 1\n  # end\nc: !!seq\n- 1\n- &y {d: 2}\n")
    assert document.raw(("a",)) == "b: 1"
    assert document.raw(("c",)) == "- 1\n- &y {d: 2}"
    assert document.raw(("c", 1)) == "{d: 2}"


def test_positions_ignore_the_bom_and_count_astral_characters() -> None:
    document = Document('\ufeffa: "😀", \r\n'.replace(",", "") + "b: {😀: 0-7}\r\n")
    assert document.bom
    assert document.raw(("b", "😀")) == "0-7"
    assert document.locate(("b", "😀")) == (2, 8)


def test_values_through_aliases_and_merges_are_found_where_they_stand() -> None:
    document = Document("base: &b {x: 0-7}\none: *b\ntwo: {<<: *b, y: 1}\n")
    assert document.locate(("one", "x")) == (1, 14)
    assert document.locate(("two", "x")) == (1, 14)
    assert document.locate(("one",)) == (2, 6)


def test_place_fills_in_what_is_missing(document: Document) -> None:
    placed = document.place(Problem("rank_format", "Bad.", path=RULE, span=(4, 7)))
    assert (placed.file, placed.line, placed.column) == ("conf.yaml", 6, 31)
    elsewhere = Problem("x", "Bad.", file="other.yaml", line=3, column=4)
    assert document.place(elsewhere) == elsewhere


def test_config_is_a_read_only_mapping_of_plain_values(document: Document) -> None:
    assert list(document.config) == ["cluster", "empty", "text", "folded"]
    assert document.config["cluster"]["component_placement"] == {
        "actor,reward": "0-7",
        "rollout": {"placement": "0-3:0-1", "node_group": "a'b"},
        "env": "8-9",
        "agent": "8-9",
    }
    assert document.config["cluster"]["node_groups"][1] == {"label": "4090\n"}
    assert document.config["empty"] is None
    assert document.config.get("missing") is None
    with pytest.raises(KeyError):
        document.config["missing"]


def test_anchors_reach_from_one_section_into_another() -> None:
    filler = "".join(f"s{i}:\n  a: [{i}, {{b: &anchor{i} {i}}}]\n" for i in range(5000))
    document = Document(f"cluster: {{num_nodes: 1}}\n{filler}last: {{c: *anchor17, d: 0-7}}\non: {{e: 1}}\n")
    assert document.config["cluster"] == {"num_nodes": 1}
    assert document.config["last"] == {"c": 17, "d": "0-7"}
    assert document.raw(("last", "d")) == "0-7"
    assert document.config["True"] == {"e": 1}
    assert document.config["s4999"] == {"a": [4999, {"b": 4999}]}
    assert document.raw(("s4999", "a", 1)) == "{b: &anchor4999 4999}"
    assert not document.problems_in(document.config)


def test_a_file_of_too_many_values_is_refused() -> None:
    document = Document("cluster: {num_nodes: 1}\ndata: [" + "1," * 300_000 + "]\n")
    (problem,) = document.problems
    assert (problem.rule, problem.line) == ("too_many_values", 2)
    assert not document.config


def test_a_change_gives_another_document(document: Document) -> None:
    at = TEXT.index("2   # two")
    changed = document.change([Splice(at, at + 1, "3"), Splice(at + 1, at + 1, "1")])
    assert changed.config["cluster"]["num_nodes"] == 31
    assert (document.config["cluster"]["num_nodes"], document.text) == (2, TEXT)
    assert changed.change([Splice(at, at + 2, "2")]).text == TEXT
    assert changed.source == document.source


def test_an_anchor_that_goes_is_missed_elsewhere(document: Document) -> None:
    at = TEXT.index("&env ")
    changed = document.change([Splice(at, at + len("&env "), "")])
    assert [problem.rule for problem in changed.problems] == ["undefined_alias"]

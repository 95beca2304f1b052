"""Whatever the text: nothing raises, and every place lies inside it."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from placetui.document import Document, DocumentError
from placetui.document.options import parse_override
from placetui.document.reading.misreadings import misreadings as misread_values
from placetui.frameworks.registry import framework
from placetui.placement.problems import Path, Problem

SAMPLE = """\
# collocated
defaults: [base]
cluster:
  num_nodes: 2
  component_placement:
    actor,reward: 0-7   # training
    rollout: {placement: "0-3:0-1", node_group: 'a800'}
    env: &env 1:3
    agent: *env
    <<: {critic: all}
  node_groups:
    - label: a800
      node_ranks: [0, 1]
    - {label: |-
        4090
      , node_ranks: !!str 0-1}
runner:
  task_type: "rea\\u0073oning"
? placetui
: mode: hybrid
"""

SAMPLE_WITHOUT_ODDITIES = SAMPLE.replace("{label: |-\n        4090\n      , node_ranks", "{label: 4090, node_ranks")

EDITS = st.lists(
    st.tuples(
        st.sampled_from(["delete", "insert", "duplicate"]),
        st.integers(0, 400),
        st.integers(1, 12),
        st.text(" \t\n\r:-?&*!|>'\"{}[],#%@<~=0a\\\x00\ufeff\ud800é😀", min_size=1, max_size=4),
    ),
    max_size=4,
)


def misreadings(document: Document) -> list[Problem]:
    return misread_values(document, framework("rlinf").texts)


def mutated(text: str, edits: list[tuple[str, int, int, str]]) -> str:
    for kind, position, length, inserted in edits:
        start = position % (len(text) + 1)
        end = start + length
        if kind == "delete":
            text = text[:start] + text[end:]
        elif kind == "insert":
            text = text[:start] + inserted + text[start:]
        else:
            text = text[:end] + text[start:]
    return text


def exercise(text: str) -> None:
    document = Document(text, "conf.yaml")
    for name in document.config:
        document.config[name]
    lines = document.text.split("\n")
    for problem in [*document.problems_in(document.config), *misreadings(document)]:
        assert problem.message
        assert not problem.message.endswith(".")
        assert problem.file == "conf.yaml"
        assert problem.line is not None
        assert problem.column is not None
        assert 1 <= problem.line <= len(lines)
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
    for path in paths(dict(document.config)):
        place = document.locate(path, span=(1, 2))
        assert place is not None
        assert document.span(path) is not None


def paths(value: Any, path: Path = ()) -> list[Path]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += paths(item, (*path, index))
    return found


def test_the_sample_is_mostly_fine() -> None:
    document = Document(SAMPLE_WITHOUT_ODDITIES)
    assert not document.problems_in(document.config)
    assert document.config["placetui"] == {"mode": "hybrid"}
    assert document.config["cluster"]["component_placement"]["critic"] == "all"


@given(st.text())
def test_arbitrary_text(text: str) -> None:
    exercise(text)


@given(st.text("ab01:- \n\t\r{}[],&*!?<'\"|>#%~=", max_size=60))
def test_text_that_looks_like_yaml(text: str) -> None:
    exercise(text)


@settings(max_examples=200)
@given(st.sampled_from([SAMPLE, SAMPLE_WITHOUT_ODDITIES, SAMPLE_WITHOUT_ODDITIES.replace("\n", "\r\n")]), EDITS)
def test_mutated_samples(text: str, edits: list[tuple[str, int, int, str]]) -> None:
    exercise(mutated(text, edits))


@given(st.text())
def test_overrides_of_any_text(text: str) -> None:
    with contextlib.suppress(DocumentError):
        path, _ = parse_override(f"a.b={text}")
        assert path == ("a", "b")


SCALARS = st.one_of(
    st.integers(-(10**6), 10**6),
    st.booleans(),
    st.none(),
    st.sampled_from(["0-7", "0-3:0-1", "all", "1:3", "010", "on", "", "a: b", "x #y", "'", '"', "\\", "- a", "1e3"]),
    st.text("ab 0-9:,'\"\\#é漢😀\t", max_size=10),
)
KEYS = st.sampled_from(["actor", "actor,reward", "on", "7", "with space", "é", "😀", "a:b", "quote'd", "x#y"])
TREES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))


class Writer:
    """Writes values as YAML in styles chosen by hypothesis."""

    def __init__(self, choose: st.DataObject) -> None:
        self._choose = choose

    def pick(self, *options: str) -> str:
        return self._choose.draw(st.sampled_from(options))

    def scalar(self, value: Any) -> str:
        if not isinstance(value, str):
            return {None: "null", True: "true", False: "false"}.get(value, str(value)) if value is not None else "~"
        if "\t" in value or self.pick("double", "single") == "double":
            text = value.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
            return f'"{text}"'
        return "'" + value.replace("'", "''") + "'"

    def flow(self, value: Any) -> str:
        gap = self.pick("", " ")
        if isinstance(value, dict):
            inside = f",{gap} ".join(f"{self.scalar(key)}: {self.flow(item)}" for key, item in value.items())
            return f"{{{gap}{inside}{gap}}}"
        if isinstance(value, list):
            return f"[{gap}{', '.join(self.flow(item) for item in value)}{gap}]"
        return self.scalar(value)

    def block(self, value: Any, indent: int) -> str:
        """The value with what stands before it: a blank, or a new line and indentation."""
        if not isinstance(value, dict | list) or not value or self.pick("flow", "block") == "flow":
            return " " + self.flow(value) + self.pick("", "  # comment") + "\n"
        margin = " " * indent
        text = self.pick("", " # comment") + "\n" + self.pick("", "\n", f"{margin}# comment\n")
        for entry in value.items() if isinstance(value, dict) else enumerate(value):
            head = f"{self.scalar(entry[0])}:" if isinstance(value, dict) else "-"
            text += f"{margin}{head}{self.block(entry[1], indent + 2)}"
        return text


def at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


@settings(max_examples=150)
@given(st.dictionaries(KEYS, TREES, min_size=1, max_size=4), st.booleans(), st.booleans(), st.data())
def test_the_span_of_every_value_parses_back(tree: dict[str, Any], bom: bool, crlf: bool, data: st.DataObject) -> None:
    writer = Writer(data)
    text = "".join(f"{writer.scalar(key)}:{writer.block(value, 2)}" for key, value in tree.items())
    text = ("\ufeff" if bom else "") + (text.replace("\n", "\r\n") if crlf else text)
    document = Document(text)
    assert dict(document.config) == tree
    assert not document.problems_in(document.config)
    for path in paths(tree):
        span = document.span(path)
        assert span is not None
        start, end = span
        margin = " " * (start - document.text.rfind("\n", 0, start) - 1)
        alone = "value:\n " + margin + document.text[start:end].replace("\n", "\n ") + "\n"
        assert Document(alone).config["value"] == at(tree, path)

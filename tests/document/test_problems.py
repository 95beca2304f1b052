"""What is wrong in a text is said once, at its place, with a hint."""

from __future__ import annotations

import time

import pytest

from placetui.document import Document
from placetui.document.reading import parsing
from placetui.placement.problems import Problem


def problems(text: str) -> list[Problem]:
    document = Document(text, "conf.yaml")
    return document.problems_in(document.config)


def only(text: str) -> Problem:
    (problem,) = problems(text)
    assert problem.file == "conf.yaml"
    assert problem.message
    assert not problem.message.endswith(".")
    return problem


@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        ("", "empty_file", (1, 1)),
        ("---\n", "empty_file", (1, 1)),
        ("# nothing\n", "empty_file", (1, 1)),
        ("hello", "not_a_mapping", (1, 1)),
        ("\n- 1\n", "not_a_mapping", (2, 1)),
        ("a: 1\n---\nb: 2\n", "multiple_documents", (2, 1)),
        ("a: *x\n", "undefined_alias", (1, 4)),
        ("a: &x 1\nb: &x 2\n", "duplicate_anchor", (2, 4)),
        ("a: &a [*a]\n", "recursive_alias", (1, 8)),
        ("a: &a {b: {<<: *a}}\n", "recursive_alias", (1, 16)),
        ("a: {<<: 1}\n", "merge_not_mapping", (1, 9)),
        ("a: {[b]: 1}\n", "key_not_scalar", (1, 5)),
        ("? {b: 1}\n: 2\n", "key_not_scalar", (1, 3)),
        ("a: {~: 1}\n", "key_not_scalar", (1, 5)),
        ("a: !!python/object/apply:os.system [x]\n", "yaml_tag", (1, 4)),
        ("a: {b: !mine x}\n", "yaml_tag", (1, 8)),
        ("a: !!int x\n", "yaml_value", (1, 4)),
        ("a: {b: 0b_}\n", "yaml_value", (1, 8)),
        (f"a: {'9' * 5000}\n", "yaml_value", (1, 4)),
        ("a: b\x07\n", "yaml_character", (1, 5)),
        ("a: 😀\n\ud800\n", "yaml_character", (2, 1)),
        ("\ufeff\ufeffa: 1\n", "yaml_character", (1, 1)),
        ("a: " + "[" * 100_000, "yaml_too_deep", (1, 203)),
        ("a:\n" + "- " * 100_000, "yaml_too_deep", (2, 399)),
        ("? " * 100_000, "yaml_too_deep", (1, 401)),
        ("".join("  " * level + "a:\n" for level in range(500)), "yaml_too_deep", (201, 401)),
    ],
)
def test_rules_and_places(text: str, rule: str, place: tuple[int, int]) -> None:
    problem = only(text)
    assert (problem.rule, (problem.line, problem.column)) == (rule, place)


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("a: 0-3: 0-1\n", (1, 7), '"0-3:0-1"'),
        ('a: "0-3":"0-7"\n', (1, 9), '"0-3:0-7"'),
        ('a: "0-3":0-7\n', (1, 9), '"0-3:0-7"'),
        ("a: {p: '0-3':'0-7', n: 1}\n", (1, 13), "'0-3:0-7'"),
        ("a: 'it's'\n", (1, 8), '"it\'s"'),
        ("cluster:\n\tnum_nodes: 1\n", (2, 1), "spaces"),
        ("c:\n  num_nodes:1\n  b: 2\n", (2, 13), "`num_nodes: 1`"),
        ("a: 'x\n", (1, 4), "`'`"),
        ("a: [1\nb: 2\n", (2, 2), "`]`"),
        ("a: @x\n", (1, 4), '"@x"'),
        ("a:\n  b: 1\n c: 2\n", (3, 2), "indent"),
        ("a:\n - 1\n b: 2\n", (3, 2), "`- `"),
        ("a: - b\n", (1, 4), "next line"),
        ("a: 1\nb\n", (2, 1), "colon"),
        ('a: "\\q"\n', (1, 5), "single quotes"),
        (" a: 1\nb: 2\n", (2, 1), "alike"),
        ("a: }\n", (1, 4), "quotes"),
        ("key: a b\n  c: 1\n", (2, 4), "indentation"),
    ],
)
def test_syntax_errors_say_what_to_write(text: str, place: tuple[int, int], hint: str) -> None:
    problem = only(text)
    assert problem.rule == "yaml_syntax"
    assert (problem.line, problem.column) == place
    assert hint in problem.hint


@pytest.mark.parametrize(
    "text", ["a: *\n", "a: & b\n", "a: !<x b\n", "a: |x\n", "%YAML 2.0\n---\na: 1\n", "!e!x a", "a: !!str *x\n"]
)
def test_rare_syntax_errors_still_have_a_sentence(text: str) -> None:
    assert only(text).rule == "yaml_syntax"


@pytest.mark.parametrize("text", ["a: 1\t# why\n", "a: [0, 1\t]\n"])
def test_tabs_that_only_the_c_parser_takes(text: str) -> None:
    problem = only(text)
    assert problem.rule == "yaml_syntax"
    assert "tab" in problem.message
    assert only(text.replace("\t", "\t\t")).column == problem.column
    assert not problems("a: 1 #\twhy\nb: 'x\ty'\n")


def test_duplicate_keys_name_both_places() -> None:
    top = only("a: 1\nb: 2\na: 3\n")
    assert (top.rule, top.line, top.path, top.at_key) == ("duplicate_key", 3, ("a",), True)
    assert "line 3, column 1" in top.message
    assert "line 1, column 1" in top.message
    inner = only('cluster:\n  x: {7: 1, "7": 2}\n')
    assert (inner.line, inner.column, inner.path) == (2, 13, ("cluster", "x", "7"))


def test_all_duplicates_are_reported_but_not_thousands() -> None:
    assert len(problems("cluster:\n" + "  a: 1\n" * 4)) == 3
    assert len(problems("cluster:\n" + "  a: 1\n" * 50_000)) == 100


def test_merge_keys() -> None:
    text = "base: &b {x: 1, y: 2}\none: {<<: *b, y: 3}\ntwo: {<<: [{x: 9}, *b], z: 1}\n<<: {top: 4}\n"
    document = Document(text)
    assert document.config["one"] == {"x": 1, "y": 3}
    assert document.config["two"] == {"x": 9, "y": 2, "z": 1}
    assert document.config["top"] == 4
    assert "<<" not in document.config
    assert not document.problems_in(document.config)


def test_keys_are_text() -> None:
    document = Document("on: 1\n7: 2\n1e3: 3\n&k key: 4\n*k : 5\n'on': 6\n")
    assert dict(document.config) == {"True": 1, "7": 2, "1000.0": 3, "key": 5, "on": 6}
    assert [problem.rule for problem in document.problems] == ["duplicate_key"]


def alias_bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, levels)]
    return "\n".join([*lines, f"cluster: *a{levels - 1}\n"])


def merge_bomb() -> str:
    keys = ", ".join(f"k{i}: 1" for i in range(1000))
    return f"a: &a {{{keys}}}\ncluster:\n" + "".join(f"  c{i}: {{<<: *a}}\n" for i in range(5000))


@pytest.mark.parametrize("text", [alias_bomb(12), merge_bomb()])
def test_bombs_stop_early(text: str) -> None:
    start = time.process_time()
    document = Document(text, "conf.yaml")
    (problem,) = document.problems_in(["cluster"])
    assert problem.rule == "too_many_values"
    assert problem.path == ("cluster",)
    assert document.config["cluster"] is None
    assert time.process_time() - start < 20


def test_a_bomb_that_nobody_reads_is_harmless() -> None:
    document = Document(alias_bomb(12).replace("cluster:", "other:") + "cluster: {num_nodes: 1}\n")
    assert document.config["cluster"] == {"num_nodes": 1}
    assert not document.problems_in(["cluster"])


def test_all_sections_together_stay_within_bounds() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 5)]
    document = Document("\n".join([*lines, *(f"s{i}: *a4" for i in range(1000))]) + "\n")
    start = time.process_time()
    values = list(document.config.values())
    assert sum(value is not None for value in values) < 20
    assert time.process_time() - start < 20
    assert {problem.rule for problem in document.problems_in(document.config)} == {"too_many_values"}


@pytest.mark.parametrize("link", ["[*a{}]", "{{<<: *a{}}}", "{{b: *a{}}}"])
def test_long_chains_of_aliases_do_not_recurse(link: str) -> None:
    chain = "a0: &a0 {k: 1}\n" + "".join(f"a{i}: &a{i} {link.format(i - 1)}\n" for i in range(1, 3000))
    document = Document(chain + "cluster: *a2999\n")
    assert [problem.rule for problem in document.problems_in(["cluster"])] == ["yaml_too_deep"]
    document.locate(("cluster", *["b"] * 3000))


def test_sections_that_nobody_reads_are_left_alone() -> None:
    document = Document("cluster: {num_nodes: 1}\nother: {a: 1, a: 2, b: !mine x}\n")
    assert not document.problems_in(["cluster"])
    assert document.config["other"] == {"a": 2, "b": "x"}
    assert [problem.rule for problem in document.problems_in(["other"])] == ["duplicate_key", "yaml_tag"]
    assert not document.problems


@pytest.mark.parametrize(
    "text",
    [
        "cluster: [" + "1," * 2_000_000 + "]",
        "data: [" + "[]," * 1_300_000 + "]",
        "x: [" + "&a 1," * 600_000 + "]",
        "\n" * 4_000_000 + "a: {",
        "cluster: {a: " + "0" * 4_000_000 + "}",
        "#" * 5_000_000,
    ],
)
def test_large_texts_end_in_a_problem_soon(text: str) -> None:
    start = time.process_time()
    document = Document(text)
    assert any(problem.blocking for problem in document.problems_in(document.config))
    assert time.process_time() - start < 30  # without a limit it would be minutes


def test_the_python_parser_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a: 0-3: 0-1\n", 'a: "0-3":"0-7"\n', "a: [1\nb: 2\n", "a:\n\tb: 1\n", "a:\n - 1\n b: 2\n", "a: - b\n"]
    with_c = [only(text) for text in texts]
    monkeypatch.setattr(parsing, "C_LOADER", None)
    assert [only(text) for text in texts] == with_c
    assert Document("a: {b: [1, 0-7]}\n").config["a"] == {"b": [1, "0-7"]}
    assert only("#" * 300_000).rule == "file_too_large"
